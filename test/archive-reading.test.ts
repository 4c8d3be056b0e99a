/** Whatever reads a session reads its copy alike when the transcript is gone: each command is asked before and after. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { archivePlace } from "../lib/sessions/places.ts";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { type Row, uuidFrom } from "./support/rows.ts";

setDefaultTimeout(120_000);

const ID = uuidFrom("ostrich");
const KEY = "ghp_Zx9Kq2Lm8Wp4Tn6Rv1Yb3Hc5Jd7Fg0Sa2Qe4";
const server = serverPerFile();
const home = homePerTest({ KEY: "sk-test" });

/** A session with all that a row can hold: colours, a diff, a secret, a long output, a damaged line, an image, a reply taken back. */
function rows(): string {
  const base = { sessionId: ID, cwd: home.project };
  const at = (minute: number) => ({ ...base, at: `2026-02-03T14:${minute}:00.000Z` });
  const ran = (minute: number, command: string, content: string) => [
    ...claudeAssistant({ ...at(minute), tools: [{ id: `t${minute}`, name: "Bash", input: { command } }] }),
    {
      ...claudeToolResult({ ...at(minute), toolUseId: `t${minute}`, content }),
      toolUseResult: { stdout: content, stderr: "" },
    },
  ];
  const path = join(home.project, "src", "feathers.ts");
  const edit = { file_path: path, old_string: "load()", new_string: "await load()" };
  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "iVBORw0K".repeat(90) },
  };
  const patch = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["-load()", "+await load()"] };
  const all: Row[] = chain(
    [
      claudeUser({
        ...at(10),
        text: "Why does the ostrich test fail? We decided to keep the retry at three.",
      }),
      claudeAssistant({ ...at(11), thinking: "I wonder.", text: "I will look at its feathers first." }),
      ran(
        12,
        `make KEY=${KEY}`,
        `\u001b[31merror: no feathers left\u001b[0m \n${KEY}\n${"line of output\n".repeat(300)}`,
      ),
      ran(13, "printenv MODE", "\u001b[37m[DBG]: \u001b[0m"),
      claudeAssistant({ ...at(14), tools: [{ id: "e1", name: "Edit", input: edit }] }),
      {
        ...claudeToolResult({ ...at(14), toolUseId: "e1", content: "updated" }),
        toolUseResult: { filePath: path, originalFile: "load()\n".repeat(99), structuredPatch: [patch] },
      },
      claudeToolResult({ ...at(15), toolUseId: "t9", content: [{ type: "text", text: "seen" }, image] }),
      ran(16, 'git commit -m "fix: load feathers"', "[main 1a2b3c4] fix: load feathers"),
      claudeAssistant({ ...at(17), text: "Its feathers were never loaded; they are now. 🪶" }),
      claudeUser({ ...at(18), text: "Never load them twice, please." }),
      claudeAssistant({ ...at(19), text: "Once, then." }),
    ].flat(),
  );
  const lines = all.map((row) => JSON.stringify(row));
  return `${lines.slice(0, 6).join("\n")}\n{"type":"user","mess\n\n${lines.slice(6).join("\n")}\n`;
}

test("every command says of a copy what it said of the transcript", async () => {
  const { baseUrl } = server;
  const llm = { baseUrl, apiKeyEnv: "KEY", model: "tiny", prices: { tiny: { input: 1, output: 1 } } };
  const file = writeClaude(home, { id: ID, rows: rows() });
  const old = new Date(Date.now() - 3 * 86_400_000);
  utimesSync(file, old, old);
  await home.ok("embed");
  const page = join(home.root, "page.html");
  const commands: [string, ...string[]][] = [
    ...[
      [],
      ["--tools"],
      ["--full"],
      ["--no-tools"],
      ["--lines", "3"],
      ["--utc", "--json"],
      ["--json", "--tools"],
    ].map((flags): [string, ...string[]] => ["session-reader", ID, ...flags]),
    ["session-reader", ID, "--outline"],
    ["session-reader", `${ID}:3-6`, "--full"],
    ["session-reader", ID, "--line", "9", "--around", "2"],
    ["session-reader", ID, "--grep", "feathers", "--tools"],
    ["session-reader", ID, "--speaker", "user"],
    ["session-reader", "last"],
    ["search", "ostrich feathers"],
    ["search", "ostrich feathers", "--full"],
    ["search", "ostrich feathers", "--brief"],
    ["search", "--error", "no feathers left"],
    ["search", "--file", "src/feathers.ts"],
    ["search", "--command", "make"],
    ["search", "what did we decide about the retry", "--session", ID, "--context", "1"],
    ["session-reference", `@@${ID.slice(0, 8)}`],
    ["handoff", ID],
    ["observe-compact", ID, "--observe", "--render"],
    ["index-meta", ID, "--force"],
    ["report", ID, "--out", page],
    ["restore", ID, "--dry-run", "--json"],
  ];
  const outputs = async () => {
    const found: [string, string][] = [];
    for (const [name, ...args] of commands)
      found.push([[name, ...args].join(" "), await home.ok(name, ...args)]);
    home.configure({ llm });
    const answer = {
      answer: "Never loaded.",
      confidence: "high",
      citations: [{ line: 1, excerpt: "ostrich test fail" }],
    };
    server.script({ kind: "chat", content: JSON.stringify(answer) });
    found.push(["query-session", await home.ok("query-session", ID, "why does it fail?", "--json")]);
    home.configure({});
    found.push(["what the model read", String(server.chats().at(-1)?.body.messages[1].content)]);
    found.push(["page", readFileSync(page, "utf8")]);
    const note = (await home.ok("save-session", ID)).trim();
    found.push(["note", readFileSync(note, "utf8")]);
    rmSync(note);
    return found.map(([what, text]): [string, string] => [what, plain(text, file)]);
  };
  await outputs(); // what is made once, such as names, is there then
  const before = await outputs();
  const bytes = readFileSync(file, "utf8");
  rmSync(dirname(file), { recursive: true });
  const after = await outputs();
  expect(existsSync(file)).toBe(false);
  for (const [i, [what, text]] of before.entries()) expect([what, after[i]?.[1]]).toEqual([what, text]);
  expect(before.find(([what]) => what === `session-reader ${ID} --full`)?.[1]).toContain("line of output");
  expect([bytes.includes(KEY), JSON.stringify(before).includes(KEY)]).toEqual([true, false]);
});

/** Takes out what says where a session is read from, and ids that are made anew each time. */
function plain(text: string, file: string): string {
  return text
    .replaceAll(file, "<file>")
    .replaceAll(archivePlace(home.paths, { agent: "claude", id: ID }), "<file>")
    .replaceAll("<file>.gz", "<file>")
    .replace(/(?<=\/|--resume |"id": ")[\da-f-]{36}/g, (id) => (id === ID ? id : "<new id>"))
    .replace("<dt>Kept</dt><dd>only in the archive: its transcript is gone</dd>\n", "")
    .replace(/ · archive$/gm, "")
    .replace('"archived": true', '"archived": false');
}
