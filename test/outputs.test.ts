/** Outputs that Claude Code keeps in files beside a transcript, since they are too long for a row, are read from there. */

import { describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, type TemporaryHome, write, writeClaude } from "./support/home.ts";
import { seeded } from "./support/random.ts";
import { type Row, uuidFrom } from "./support/rows.ts";
import { secretsOf } from "./support/secrets.ts";

const home = homePerTest();

const ID = uuidFrom("kept outputs");
const SECRET = secretsOf("github-token", seeded(3))[0]?.text ?? "";
const LINES = Array.from({ length: 20_000 }, (_, i) => `line ${i + 1}`);
const FAILURE = "ConnectionError: connect ECONNREFUSED 10.1.2.3:5432";
/** What a command printed, with an error far from both ends. */
const OUTPUT = `${LINES.with(9000, FAILURE).with(19_998, `token ${SECRET}`).join("\n")}\n`;

function folderOf(transcript: string): string {
  return join(transcript.replace(/\.jsonl$/, ""), "tool-results");
}

/** Writes a session with a command whose output is in a file of this name, as the host's row says. */
function session(home: TemporaryHome, path = "b1.txt", { id = ID, text = OUTPUT } = {}): string {
  const at = "2026-02-03T14:30:00.000Z";
  const file = join(home.paths.claude, "projects", "p", `${id}.jsonl`);
  const named = path.includes("/") ? path : join(folderOf(file), path);
  const content = `<persisted-output>\nOutput too large (${text.length}B). Full output saved to: ${named}\n\nPreview (first 2KB):\n${text.slice(0, 2000)}\n...\n</persisted-output>`;
  const result: Row = {
    ...claudeUser({ at, text: "" }),
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content, is_error: false }],
    },
    toolUseResult: {
      ...{ stdout: text.slice(0, 30_000), stderr: "", interrupted: false },
      ...{ persistedOutputPath: named, persistedOutputSize: text.length },
    },
  };
  const call = { id: "toolu_1", name: "Bash", input: { command: "make report" } };
  return writeClaude(home, {
    id,
    rows: [claudeUser({ at, text: "Make the report" }), ...claudeAssistant({ at, tools: [call] }), result],
  });
}

/** Writes a session with its output beside it. */
function whole(home: TemporaryHome, text = OUTPUT): string {
  const file = session(home, "b1.txt", { text });
  write(join(folderOf(file), "b1.txt"), text);
  return file;
}

async function shown(home: TemporaryHome): Promise<string> {
  const { entries } = await home.json("session-reader", ID, "--tools");
  return entries.map(({ tool }: { tool?: { result: string } }) => tool?.result ?? "").join("");
}

describe("an output in a file", () => {
  test("is shown whole by --tools, redacted", async () => {
    whole(home);
    expect(await shown(home)).toBe(OUTPUT.replace(SECRET, "[redacted:github-token]").trim());
  });

  test("is found by --error, by a line that its row does not hold", async () => {
    whole(home);
    expect(await home.ok("search", "--error", FAILURE)).toContain("make report");
  });

  test("is left out where it holds what is excluded", async () => {
    whole(home);
    home.configure({ exclude: { patterns: ["line 15000"] } });
    expect(await shown(home)).not.toContain("line 1");
  });

  test("is shown as far as its row has it when the host has deleted the file", async () => {
    const file = whole(home);
    rmSync(folderOf(file), { recursive: true });
    const text = await shown(home);
    expect([text.startsWith("line 1\nline 2\n"), text.length > 29_000, text.endsWith("…")]).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("of any length is shown with both ends", async () => {
    whole(home, `${"the start\n".repeat(100_000)}${"the end\n".repeat(100_000)}`);
    const text = await shown(home);
    const [first, mark, last] = text.split(/(\n…\n)/);
    expect([first, mark, last]).toEqual([
      expect.stringMatching(/^(?:the start\n)+the start$/),
      "\n…\n",
      expect.stringMatching(/^(?:the end\n)+the end$/),
    ]);
    expect(text.length).toBeLessThan(1024 * 1024);
  });

  test("of a subagent is read from its session's folder", async () => {
    const file = whole(home);
    const agent = join(file.replace(/\.jsonl$/, ""), "subagents", "agent-a1.jsonl");
    const rows = await Bun.file(file).text();
    write(agent, rows.replaceAll('"isSidechain":false', '"isSidechain":true,"agentId":"a1"'));
    const { entries } = await home.json("session-reader", "agent-a1", "--tools");
    expect(JSON.stringify(entries)).toContain("line 15000");
  });

  test("is read from the archive when the transcript is gone", async () => {
    const file = whole(home);
    const old = new Date(Date.now() - 2 * 86_400_000);
    utimesSync(file, old, old);
    await home.ok("hooks/background.ts", "--begin", "--cwd", home.project);
    rmSync(dirname(file), { recursive: true });
    expect(await shown(home)).toBe(OUTPUT.replace(SECRET, "[redacted:github-token]").trim());
  });
});

describe("a path in a row", () => {
  const TREASURE = "the treasure is under the elm";

  test.each([
    ["another folder", (home: TemporaryHome) => join(home.home, "treasure.txt")],
    [
      "another session's folder",
      (home: TemporaryHome) => join(home.paths.claude, "projects", "p", "x", "tool-results", "treasure.txt"),
    ],
  ])("that leads to %s is not followed", async (_, placeOf) => {
    const place = placeOf(home);
    write(place, TREASURE);
    session(home, place);
    expect(await shown(home)).not.toContain(TREASURE);
  });

  test("names a file of the session's own folder by its name alone", async () => {
    const file = session(home, "/elsewhere/tool-results/b1.txt");
    write(join(folderOf(file), "b1.txt"), TREASURE);
    expect(await shown(home)).toContain(TREASURE);
  });

  test("to a link, a folder that is one, or a file of another kind is not followed", async () => {
    const file = session(home);
    const place = write(join(home.home, "treasure.txt"), TREASURE);
    mkdirSync(folderOf(file), { recursive: true });
    symlinkSync(place, join(folderOf(file), "b1.txt"));
    expect(await shown(home)).not.toContain(TREASURE);
    rmSync(folderOf(file), { recursive: true });
    mkdirSync(join(home.home, "chest"));
    linkSync(place, join(home.home, "chest", "b1.txt"));
    symlinkSync(join(home.home, "chest"), folderOf(file));
    expect(await shown(home)).not.toContain(TREASURE);
    rmSync(folderOf(file));
    mkdirSync(folderOf(file));
    const other = session(home, "b1.env");
    writeFileSync(join(folderOf(other), "b1.env"), TREASURE);
    expect(await shown(home)).not.toContain(TREASURE);
  });
});
