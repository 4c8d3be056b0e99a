import { describe, expect, test } from "bun:test";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Entry } from "../lib/hosts/session.ts";
import { extractSessionText, listSessionFiles, parseSessionFile } from "../lib/sessions/listing.ts";
import { readHead, validateSessionFile } from "../lib/transcripts/head.ts";
import { claudeUser } from "./support/claude.ts";
import { codexCall, codexItem, codexMessage, codexMeta, codexPatch } from "./support/codex.ts";
import { readActiveBranch, readEntries } from "./support/entries.ts";
import { allFixtures } from "./support/fixtures.ts";
import { temporaryHome } from "./support/home.ts";
import { piHeader, piUser } from "./support/pi.ts";

const { root } = temporaryHome();
let files = 0;

/** A file with these lines; objects become JSON. The last line ends with a newline unless told otherwise. */
function file(lines: readonly (string | object)[], end = "\n"): string {
  const path = join(root, `${++files}.jsonl`);
  writeFileSync(
    path,
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n") + end,
  );
  return path;
}

function said(entries: Iterable<Entry>): string[] {
  return [...entries].map((entry) => `${entry.line} ${entry.kind} ${entry.text}`);
}

const user = (content: unknown, extra: object = {}) => ({
  type: "user",
  message: { role: "user", content },
  ...extra,
});
const assistant = (content: unknown, extra: object = {}) => ({
  type: "assistant",
  message: { role: "assistant", content },
  ...extra,
});

describe("readHead()", () => {
  const shot = () => ({ type: "image", source: { type: "base64", data: "iVBOR".repeat(280_000) } });
  const cwd = "/secret/place";
  const withShot = () => {
    const row = claudeUser({ text: "what is this", cwd });
    row.message = { role: "user", content: [shot(), { type: "text", text: "what is this" }] };
    return row;
  };
  const noCwd = () => {
    const { cwd: _, ...row } = claudeUser({ text: "x".repeat(700_000) });
    return row;
  };
  test.each<[string, () => object[]]>([
    ["behind a queue row, in a first prompt with a picture", () => [{ type: "queue-operation" }, withShot()]],
    ["in a first line of 1.4 MB", () => [withShot()]],
    ["behind two long rows without it", () => [noCwd(), noCwd(), claudeUser({ text: "now", cwd })]],
  ])("finds the directory %s", (_, rows) => {
    const path = file(rows());
    expect(statSync(path).size).toBeGreaterThan(1_300_000);
    expect(readHead(path)).toMatchObject({ agent: "claude", cwd });
    expect(validateSessionFile(path).valid).toBe(true);
  });

  test("gives nothing for a file that is no transcript", () => {
    expect(readHead(file(["hello", "{}", "[1,2]"]))).toBeUndefined();
    expect(readHead(file([], ""))).toBeUndefined();
  });
});

describe("readEntries()", () => {
  test("recovers fused lines, skips malformed ones and counts them", () => {
    const path = file([
      user("one"),
      JSON.stringify(user('two }{"type":"user" in text')) + JSON.stringify(user("three")),
      "not json",
      `{"type":"assistant","message":{"role":"assis${JSON.stringify(user("after a torn one"))}`,
      "",
      user("four"),
    ]);
    const progress = { offset: 0, line: 0, skipped: 0 };
    expect(said(readEntries(path, { progress }))).toEqual([
      "1 user one",
      '2 user two }{"type":"user" in text',
      "2 user three",
      "4 user after a torn one",
      "6 user four",
    ]);
    expect(progress.skipped).toBe(2);
  });

  test("strips a pi skill's page from the prompt that called it", () => {
    const text = '<skill name="search" location="/s/SKILL.md">\npage\n</skill>\n\nfind the deploy';
    expect(said(readEntries(file([piHeader(), piUser({ text })])))).toEqual([
      "2 user /skill:search find the deploy",
    ]);
  });

  test("takes typed prompts of Codex from their events, and from the items where a version has none", () => {
    const item = (text: string, role: "user" | "developer" = "user") => codexMessage({ role, text });
    const event = codexItem("event_msg", { type: "user_message", message: "typed" });
    const injected = [codexMeta(), item("<environment_context>cwd</environment_context>")];
    const typed = (...rows: object[]) => said(readEntries(file([...injected, ...rows])));
    expect(typed(item("other"), item("typed"), event)).toEqual(["5 user typed"]);
    expect(typed(item("typed"), item("rules", "developer"))).toEqual(["3 user typed"]);
  });

  test("names the files of a patch and the command behind a shell", () => {
    const patch = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: b c.ts\n*** End Patch";
    const shell = (command: string[]) => codexCall({ name: "shell", arguments: { command } });
    const path = file([
      codexMeta(),
      codexPatch({ patch }),
      shell(["bash", "-lc", "npm test"]),
      codexItem("response_item", { type: "function_call", name: "shell", arguments: "not json" }),
      shell(["apply_patch", patch]),
      codexCall({ name: "exec_command", arguments: { cmd: `apply_patch <<'E'\n${patch}\nE` } }),
    ]);
    const edit = {
      name: "apply_patch",
      target: "src/a.ts b c.ts",
      kind: "edit",
      paths: ["src/a.ts", "b c.ts"],
    };
    const run = { name: "shell", kind: "command", paths: [] };
    expect([...readEntries(path)].map(({ tool }) => tool as object)).toEqual([
      edit,
      { ...run, target: "npm test" },
      { ...run, target: "not json" },
      edit,
      edit,
    ]);
  });
});

describe("readActiveBranch()", () => {
  test("leaves out only what hangs off an edited prompt of Claude Code, also when parents are missing", () => {
    const row = (uuid: string, parentUuid: string | null, text: string, role: "user" | "assistant") =>
      role === "user" ? user(text, { uuid, parentUuid }) : assistant(text, { uuid, parentUuid });
    const path = file([
      row("a", null, "first", "user"),
      row("b", "a", "answer", "assistant"),
      row("c", "b", "old wording", "user"),
      row("d", "c", "answer to it", "assistant"),
      row("e", "b", "new wording", "user"),
      row("f", "e", "better answer", "assistant"),
      row("g", "gone", "hangs nowhere", "assistant"),
      row("h", "f", "end", "assistant"),
    ]);
    expect(said(readActiveBranch(path))).toEqual([
      "1 user first",
      "2 assistant answer",
      "5 user new wording",
      "6 assistant better answer",
      "7 assistant hangs nowhere",
      "8 assistant end",
    ]);
  });

  test("falls back to file order when pi's chain is broken, and ends on a cycle", () => {
    const entry = (id: string, parentId: string | null, text: string) => piUser({ id, parentId, text });
    const broken = file([piHeader(), entry("a", null, "one"), entry("b", "lost", "two")]);
    expect(said(readActiveBranch(broken))).toEqual(["2 user one", "3 user two"]);
    const cycle = file([piHeader(), entry("a", "b", "one"), entry("b", "a", "two")]);
    expect(said(readActiveBranch(cycle))).toEqual(["2 user one", "3 user two"]);
  });
});

describe("validateSessionFile()", () => {
  test("accepts every fixture with conversation", () => {
    for (const { file } of allFixtures()) {
      const { valid, errors } = validateSessionFile(file);
      expect({ file, valid, errors }).toEqual({ file, valid: true, errors: [] });
    }
  });

  test("says what makes a file useless", () => {
    const errors = (path: string) => validateSessionFile(path).errors;
    mkdirSync(join(root, "folder.jsonl"));
    expect(errors(join(root, "folder.jsonl"))).toEqual(["Not a file"]);
    expect(errors(join(root, "missing.jsonl"))[0]).toStartWith("Cannot read it: ENOENT");
    expect(errors(file([], ""))).toEqual(["It is empty"]);
    expect(errors(file(["hello", "world"]))).toEqual(["2 of 2 lines are not JSON"]);
    const binary = join(root, "binary.jsonl");
    writeFileSync(binary, Buffer.from([0xff, 0xfe, 0x00, 0x80, 10, 0xff, 0xd8, 10]));
    expect(errors(binary)).toEqual(["Not a UTF-8 text file"]);
    expect(errors(file([{ type: "summary", summary: "x", leafUuid: "y" }]))).toEqual([
      "It holds no message of a user or an assistant",
    ]);
  });

  test("warns of lines that are skipped or odd, and of a last line that is not finished", () => {
    const path = file(
      [
        { role: "user", content: "Привет, 世界", timestamp: "2026-02-12T10:30:05Z" },
        { role: "assistant", content: "no time" },
        { role: "user", content: "bad time", timestamp: "soon" },
        { content: "no role" },
        "garbage",
        '{"role":"user"',
      ],
      "",
    );
    expect(validateSessionFile(path)).toEqual({
      valid: true,
      errors: [],
      warnings: [
        "line 2: no timestamp",
        "line 3: timestamp is not a date",
        "line 4: no role and content",
        "line 5: not a JSON object",
        "line 6: unfinished, no newline yet",
      ],
    });
  });
});

describe("parseSessionFile()", () => {
  test("gives one line per message and where it came from, also without a last newline", async () => {
    const content = ["Hi", "!"].map((text) => ({ type: "text", text }));
    const rows = [
      { type: "message", message: { role: "user", content: "Hello\n\n  there" } },
      { type: "tool_use", tool: "file_read", args: {} },
      { type: "message", message: { role: "assistant", content } },
    ];
    const path = file(rows, "");
    const parsed = await parseSessionFile(path);
    expect(parsed).toMatchObject({
      absPath: path,
      content: "User: Hello there\nAssistant: Hi !",
      lineMap: [1, 3],
    });
    expect(parsed?.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await parseSessionFile(join(root, "missing.jsonl"))).toBeNull();
  });

  test("extractSessionText() joins text blocks by a space and gives null for none", () => {
    const blocks = ["Hello", "World"].map((text) => ({ type: "text", text }));
    expect(extractSessionText(blocks)).toBe("Hello World");
    expect(extractSessionText("Simple string")).toBe("Simple string");
    expect(extractSessionText([{ type: "image" }])).toBeNull();
    expect(extractSessionText(" \n ")).toBeNull();
    expect(extractSessionText(undefined)).toBeNull();
  });

  test("listSessionFiles() lists regular .jsonl files and nothing of a missing folder", async () => {
    const folder = join(root, "listing");
    mkdirSync(join(folder, "sub.jsonl"), { recursive: true });
    writeFileSync(join(folder, "a.jsonl"), "");
    writeFileSync(join(folder, "b.txt"), "");
    expect(await listSessionFiles(folder)).toEqual([join(folder, "a.jsonl")]);
    expect(await listSessionFiles(join(root, "nowhere"))).toEqual([]);
  });
});
