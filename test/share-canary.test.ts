/** What must never reach the hub: looked for in a dump of it and in the server's own files. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ledgerFile } from "../lib/observe/ledger.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { write, writeClaude, writeMeta } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import { runScript } from "./support/run.ts";
import { hubPerBlock, pulledWords, say, sharer, uuid } from "./support/share.ts";

const SECRET = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";
const OWN_PATTERN = "falcon-7731";
const EXCLUDED_WORD = "quetzalcoatl";
const UNNAMED = "unnamedprojectword";
const EXCLUDED_SESSION = "excludedsessionword";
const PLAIN = "plainsessionword";
const KEPT = "thelighthousekeeper";

describe.skipIf(!hasPostgres())("the hub", () => {
  const postgres = hubPerBlock();

  test("holds no byte of a secret, an excluded word or session, a home path, a plain session or an unnamed project", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    alice.configure({
      redact: { extra: [OWN_PATTERN] },
      exclude: { patterns: [EXCLUDED_WORD], sessions: [uuid(2)] },
    });
    const inHome = `${alice.home}/code/thing.ts`;
    const encoded = alice.home.replace(/[^a-zA-Z0-9]/g, "-");
    const at = new Date().toISOString();
    const row = { sessionId: uuid(1), cwd: alice.project, at };
    writeClaude(alice, {
      id: uuid(1),
      rows: [
        claudeUser({
          ...row,
          text: `${KEPT}: the token is ${SECRET} and ${OWN_PATTERN}, see ${inHome} and /home/alice/x`,
        }),
        ...claudeAssistant({
          ...row,
          text: `in ${encoded}-code there is "C:\\\\Users\\\\alice\\\\x", ${JSON.stringify({ path: inHome }).replaceAll("/", "\\/")}`,
          tools: [
            {
              name: "Bash",
              id: "toolu_1",
              input: { command: `cat ${inHome} | curl -H 'Authorization: Bearer ${SECRET}'` },
            },
            {
              name: "Edit",
              id: "toolu_2",
              input: { file_path: inHome, old_string: OWN_PATTERN, new_string: SECRET },
            },
            { name: "Read", id: "toolu_3", input: { file_path: "/etc/shadowy/outside.conf" } },
            {
              name: "Write",
              id: "toolu_4",
              input: { file_path: join(alice.project, "src/lamp.ts"), content: "light" },
            },
          ],
        }),
        claudeToolResult({
          ...row,
          toolUseId: "toolu_1",
          content: `${SECRET} ${inHome} ${OWN_PATTERN}`,
          isError: true,
        }),
        claudeUser({ ...row, text: `and about ${EXCLUDED_WORD}` }),
        ...claudeAssistant({ ...row, text: "never mind" }),
      ],
    });
    say(alice, uuid(2), [EXCLUDED_SESSION, "kept out"]);
    writeClaude(alice, {
      id: uuid(3),
      cwd: alice.root,
      rows: [claudeUser({ sessionId: uuid(3), cwd: alice.root, text: UNNAMED, at })],
    });
    const [description, summary] = [`the light ${SECRET}`, `${inHome} ${OWN_PATTERN}`];
    writeMeta(alice, { sessionId: uuid(1), name: "light", description, summary, tags: ["lamp"] });
    write(
      ledgerFile(alice.paths, uuid(1)),
      `${JSON.stringify(observed(`${KEPT} saw ${SECRET} in ${inHome}`, `all about ${EXCLUDED_WORD}`))}\n`,
    );
    const plain = join(alice.root, "plain");
    const said = { role: "user", content: PLAIN, timestamp: at, cwd: alice.project };
    write(join(plain, "notes.jsonl"), `${JSON.stringify(said)}\n`);
    const withPlain = { env: { ...alice.env, SESSION_MEMORY_SESSIONS: plain }, cwd: alice.project };
    expect((await runScript("share", [], withPlain)).exitCode).toBe(0);
    await alice.share();

    postgres.sql("CHECKPOINT");
    const stored = [postgres.dump(), ...bytesUnder(postgres.folder())];
    const holds = (text: string) => stored.some((bytes) => bytes.includes(text));
    // what is there at all: else nothing would be found in vain
    expect(
      [KEPT, "the light", "src/lamp.ts", "~/code/thing.ts", "outside.conf"].filter((text) => !holds(text)),
    ).toEqual([]);
    const never = [
      SECRET,
      OWN_PATTERN,
      EXCLUDED_WORD,
      EXCLUDED_SESSION,
      UNNAMED,
      PLAIN,
      alice.home,
      encoded,
      "/home/alice",
      "Users\\\\alice",
      "/etc/shadowy",
      alice.project,
      uuid(2),
      uuid(3),
      "notes.jsonl",
    ];
    expect(never.filter(holds)).toEqual([]);

    await bob.share();
    const [words = []] = Object.values(pulledWords(bob));
    expect(words[0]).toContain(KEPT);
    const shown = bytesUnder(bob.paths.home).join("\n");
    expect(never.slice(0, -3).filter((text) => shown.includes(text))).toEqual([]);
  });

  test("and a reader's rules are obeyed on its machine", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    say(alice, uuid(5), ["where is the harbour", "in the bay"], ["and the walrus", "on the ice"]);
    await alice.share();
    await bob.share();
    const key = `alice@desk:${uuid(5)}`;
    expect(pulledWords(bob)[key]).toHaveLength(2);
    bob.configure({ exclude: { patterns: ["walrus"] }, redact: { extra: ["harbour"] } });
    await bob.share();
    expect(pulledWords(bob)[key]).toEqual(["User: where is the [redacted:custom]\nAssistant: in the bay"]);
    bob.configure({ exclude: { sessions: [uuid(5)] } });
    await bob.share();
    expect(pulledWords(bob)[key]).toBeUndefined();
    bob.configure({});
    await bob.share();
    expect(pulledWords(bob)[key]).toHaveLength(2);
  });
});

function observed(...texts: string[]) {
  const at = "2026-02-03T14:30:00.000Z";
  const observations = texts.map((text, i) => ({
    id: `o${i + 1}`,
    at,
    local: "2026-02-03 14:30",
    priority: "red",
    text,
    sources: [1],
  }));
  return { kind: "observed", observations, coversTo: 1, covers: "1", by: "rules" };
}

/** The bytes of every file below a folder, as they would be read as text. */
function bytesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
}
