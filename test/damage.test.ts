/** Damage in one row or one file is that row's or that file's alone. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonOf } from "../lib/base/json.ts";
import { openSpendLedger, readSpendToday } from "../lib/model/spend.ts";
import { eraseFreedState, recordWritten, writtenFiles } from "../lib/store/state.ts";
import { isoTime } from "../lib/transcripts/format.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { readActiveBranch, readEntries, readLastEntries } from "./support/entries.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { openHomeStore } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";
import { type Finished, runScript, startScript } from "./support/run.ts";

const [HARMED, WHOLE] = [uuidFrom("harmed"), uuidFrom("whole")];

/** Runs a script in a process of its own, which leaves no part of a database in its log. */
function start(home: TemporaryHome, name: string, ...args: string[]): Promise<Finished> {
  return startScript(name, args, { env: home.env, cwd: home.project });
}

/** A session that is whole beside one with these lines in it. */
function homeWith(lines: readonly string[]): TemporaryHome {
  const home = temporaryHome();
  const said = (id: string, words: string) =>
    [
      claudeUser({ text: `where is the sextant ${words}`, cwd: home.project, sessionId: id }),
      ...claudeAssistant({ text: `In the ${words} room.`, cwd: home.project, sessionId: id }),
    ].map((row) => JSON.stringify(row));
  writeClaude(home, { id: WHOLE, cwd: home.project, rows: `${said(WHOLE, "chart").join("\n")}\n` });
  const harmed = [...said(HARMED, "early"), ...lines, ...said(HARMED, "late")];
  writeClaude(home, { id: HARMED, cwd: home.project, rows: `${harmed.join("\n")}\n` });
  return home;
}

const DEEP = 25_000;
const nested = `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`;
const toolRow = (input: string) =>
  JSON.stringify(
    claudeAssistant({ text: "", tools: [{ name: "Write", input: { file_path: "x.ts", content: "@@" } }] }).at(
      -1,
    ),
  ).replace('"@@"', input);

const ROWS: [what: string, line: string][] = [
  ["a tool input nested 25,000 levels deep", toolRow(nested)],
  ["an array nested 25,000 levels deep", toolRow(`${"[".repeat(DEEP)}${"]".repeat(DEEP)}`)],
  ["a row that is nothing but levels", nested],
  [
    "a time that is none",
    JSON.stringify(claudeUser({ text: "a time that is none", at: "2026-13-45T99:99:99.999Z" })),
  ],
  [
    "a time in the year 275760",
    JSON.stringify(claudeUser({ text: "far off", at: "+275760-09-13T00:00:00.000Z" })),
  ],
  ["a time that is a number", JSON.stringify({ ...claudeUser({ text: "a number" }), timestamp: 1e300 })],
];

describe.each(ROWS)("%s in one session", (_, line) => {
  test("harms no command, and hides no other row", async () => {
    using home = homeWith([line]);
    const commands: [string, ...string[]][] = [
      ["embed"],
      ["embed", "--all"],
      ["search", "where is the sextant", "--json"],
      ["session-reader", HARMED],
      ["session-reader", "--list"],
      ["observe-compact", HARMED, "--observe", "--render"],
      ["index-meta", HARMED, "--force"],
      ["save-session", HARMED],
      ["activity-summary", "--scope", "all", "--since", "2020-01-01", "--current", WHOLE],
      ["session-reference", `see @@${HARMED}`],
      ["health"],
    ];
    for (const [name, ...args] of commands) {
      const { stdout, stderr, exitCode } = await home.run(name, ...args);
      expect([name, args, exitCode, /\n {4}at |RangeError|Invalid/.exec(stderr + stdout)?.[0]]).toEqual([
        name,
        args,
        0,
        undefined,
      ]);
      if (name === "session-reader" && args[0] === HARMED) expect(stdout).toContain("In the late room.");
      if (name === "search") {
        const ids = JSON.parse(stdout).results.map(({ session_id }: { session_id: string }) => session_id);
        expect([...new Set(ids)].sort()).toEqual([HARMED, WHOLE].sort());
      }
    }
  }, 60_000);
});

describe("a damaged index", () => {
  const PAGE = 8192;

  /** Two sessions of many turns in a checkpointed index; the transcript of one is gone since. */
  async function indexed(): Promise<{ home: TemporaryHome; bytes: Buffer }> {
    const home = temporaryHome();
    const rows = (id: string) =>
      Array.from({ length: 60 }, (_, i) => [
        claudeUser({ text: `where is sextant number ${i} ${"of the ship ".repeat(20)}`, sessionId: id }),
        ...claudeAssistant({ text: `In room ${i}. ${"It is there. ".repeat(20)}`, sessionId: id }),
      ]).flat();
    writeClaude(home, { id: WHOLE, rows: rows(WHOLE) });
    const file = writeClaude(home, {
      id: HARMED,
      rows: rows(HARMED).map((row) => ({ ...row, uuid: `${row.uuid}x` })),
    });
    await home.run("embed");
    rmSync(file);
    await home.run("embed");
    const store = openHomeStore(home);
    store.db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    store.close();
    return { home, bytes: readFileSync(home.paths.database) };
  }

  test("is one error with the remedy, then set aside, and what can be read is carried over", async () => {
    const { home, bytes } = await indexed();
    using _ = home;
    const pages = bytes.length / PAGE;
    const positions: [string, Buffer][] = [
      ["no database at all", Buffer.from("nothing of a database ".repeat(500))],
      ["half of it", bytes.subarray(0, Math.floor(pages / 2) * PAGE)],
      ["the schema", Buffer.from(bytes).fill(0xa5, 100, PAGE)],
    ];
    for (let page = 1; page < pages; page += Math.ceil(pages / 12)) {
      positions.push([`page ${page}`, Buffer.from(bytes).fill(0xa5, page * PAGE, (page + 1) * PAGE)]);
    }
    let carried = 0;
    let setAside = 0;
    for (const [what, damaged] of positions) {
      for (const name of readdirSync(home.paths.home)) {
        if (name.startsWith("memory.db")) rmSync(join(home.paths.home, name));
      }
      writeFileSync(home.paths.database, damaged);
      const commands = [
        ["search", "where is sextant number 7"],
        ["embed", "--all"],
        ["forget", "nobody knows it", "--yes"],
        ["health"],
        ["search", "where is sextant number 7"],
        ["embed", "--all"],
      ] as const;
      const seen: string[] = [];
      for (const [name, ...args] of commands) {
        const { stdout, stderr, exitCode } = await home.run(name, ...args);
        expect([what, name, /\n {4}at |SQLiteError|TypeError/.exec(stderr + stdout)?.[0]]).toEqual([
          what,
          name,
          undefined,
        ]);
        seen.push(`${name} ${exitCode} ${exitCode === 0 ? "" : stderr}`.trim());
      }
      expect([what, ...seen.slice(-2)]).toEqual([what, "search 0", "embed 0"]);
      const aside = readdirSync(home.paths.home).filter((name) =>
        /^memory\.db\.damaged-\d{8}T\d{6}Z$/.test(name),
      );
      if (what.startsWith("page") && aside.length === 0) continue; // nobody met this damage
      expect([what, aside.length]).toEqual([what, 1]);
      setAside++;
      const store = openHomeStore(home);
      expect([what, store.db.prepare("PRAGMA integrity_check").get()]).toEqual([
        what,
        { integrity_check: "ok" },
      ]);
      const count = store.db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?");
      expect([what, Number(count.get(WHOLE)?.n)]).toEqual([what, 60]);
      carried += Number(count.get(HARMED)?.n);
      store.close();
    }
    // Of the first three nothing is left; of the others nearly all.
    expect(setAside).toBeGreaterThan(6);
    expect(carried / 60).toBeGreaterThan((setAside - 3) * 0.8);
  }, 280_000);

  test.each(["embed", "search"])(
    "is searched again as a whole once %s has set it aside",
    async (command) => {
      const { home, bytes } = await indexed();
      using _ = home;
      // A page of the full text: no transcript has changed, so nothing else asks for it to be made anew.
      const pages = Array.from({ length: bytes.length / PAGE - 1 }, (_, page) => page + 1);
      let setAside = 0;
      for (const page of pages) {
        writeFileSync(home.paths.database, Buffer.from(bytes).fill(0xa5, page * PAGE, (page + 1) * PAGE));
        const first = await home.run("search", "where is sextant number 7", "--no-index");
        if (first.exitCode === 0) continue;
        await home.run(command, ...(command === "search" ? ["where is sextant number 7"] : []));
        const { results } = JSON.parse(
          (await home.run("search", "where is sextant number 7", "--json")).stdout,
        );
        expect([page, results.map((hit: { session_id: string }) => hit.session_id)]).toEqual([
          page,
          expect.arrayContaining([WHOLE]),
        ]);
        if (++setAside === 3) break;
      }
      expect(setAside).toBe(3);
    },
    60_000,
  );
});

test("rows of which damage left garbage are found without their lines", async () => {
  using home = homeWith([]);
  await home.run("embed");
  const store = openHomeStore(home);
  store.db.exec("UPDATE session_chunks SET row_lines = char(165, 165, 165)");
  store.close();
  const { stdout, stderr, exitCode } = await home.run(
    "search",
    "where is the sextant chart",
    "--no-index",
    "--json",
  );
  expect([exitCode, /\n {4}at /.exec(stderr)]).toEqual([0, null]);
  expect(JSON.parse(stdout).results[0]).toMatchObject({ session_id: WHOLE, first_line: 1, last_line: 2 });
});

test("a damaged state.db is set aside, and what it knew of spend and written files is carried over", async () => {
  using home = temporaryHome();
  const { paths } = home;
  const spend = openSpendLedger(paths.home, { timezone: "UTC" });
  for (let i = 0; i < 300; i++) {
    const call = await spend.reserve({
      kind: "chat",
      feature: "meta",
      model: "gpt-4o-mini",
      tokens: { input: 1000, output: 0 },
    });
    call.settle({ input: 1000, output: 0 });
    recordWritten(paths, { path: join(home.root, `note-${i}.md`), content: "x", sessionId: WHOLE });
  }
  eraseFreedState(paths);
  const whole = readFileSync(paths.state);
  const damaged = Buffer.from(whole).fill(
    0xa5,
    Math.floor(whole.length / 2),
    Math.floor(whole.length / 2) + 8192,
  );
  for (const part of ["-wal", "-shm"]) rmSync(paths.state + part, { force: true });
  writeFileSync(paths.state, damaged);
  const fails: string[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const { stderr, exitCode } = await start(home, "forget", "--pattern", "nothing of it", "--yes");
    if (exitCode !== 0) fails.push(stderr);
    else await start(home, "health");
  }
  expect(fails.length).toBeLessThanOrEqual(2);
  for (const said of fails) {
    expect(said).toStartWith(`error: STORAGE_ERROR: Cannot read "${paths.state}": it is damaged (`);
    expect(said).toContain("\nhint: run the same command again: the file is set aside and ");
  }
  const aside = readdirSync(paths.home).filter((name) => name.startsWith("state.db.damaged-"));
  expect(aside).toHaveLength(1);
  const kept = readSpendToday(paths.home, "UTC").calls + writtenFiles(paths).length;
  expect(kept).toBeGreaterThan(300);
  const forgotten = await start(home, "forget", "--pattern", "nothing of it", "--yes");
  expect(forgotten.stdout).toContain(
    `\ndamaged files that were set aside may still contain it; delete them with rm:\n- ${join(paths.home, aside[0] ?? "")}\n`,
  );
  const report = JSON.parse((await start(home, "health", "--json")).stdout);
  expect(report.findings.map(({ what }: { what: string }) => what)).toContain(
    `${aside[0]} was damaged; what could be read of it was carried over`,
  );
}, 60_000);

test("a value that is no JSON, and a statement that is none, are no damage", () => {
  using home = temporaryHome();
  const store = openHomeStore(home);
  expect(() => store.db.prepare("SELECT value FROM json_each(?)").all("{broken")).toThrow("malformed JSON");
  expect(() => store.db.prepare("SELECT corrupt FROM nowhere")).toThrow("no such table");
  store.close();
  expect(readdirSync(home.paths.home).filter((name) => name.includes("damaged"))).toEqual([]);
});

test("a time outside the years 1970 to 9999 is none", () => {
  for (const time of [
    "-271821-04-20T00:00:00.000Z",
    "+275760-09-13T00:00:00.000Z",
    -1e12,
    8.64e15,
    Number.NaN,
    1e300,
  ]) {
    expect([time, isoTime(time)]).toEqual([time, undefined]);
  }
  expect(isoTime("2026-02-03T10:00:00+02:00")).toBe("2026-02-03T08:00:00.000Z");
  expect(isoTime(1_770_000_000)).toBe("2026-02-02T02:40:00.000Z");
});

const LEVELS = 200_000;
const deepObject = `${'{"a":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`;
const deepList = `${"[".repeat(LEVELS)}1${"]".repeat(LEVELS)}`;

const claude = (content: string, kind = "assistant") =>
  `{"type":"${kind}","sessionId":"s","uuid":"u","timestamp":"2026-02-03T10:00:00.000Z","cwd":"/tmp","message":{"role":"${kind}","content":${content}}}`;
const call = (input: string, name = "mcp") =>
  claude(`[{"type":"tool_use","id":"t","name":"${name}","input":${input}}]`);

/** Files whose second row is nested beyond what a stack holds. */
const FILES: Record<string, string[]> = {
  "a tool's input": [call(deepObject)],
  "an argument of a known tool": [
    call(`{"command":${deepList}}`, "Bash"),
    call(`{"questions":${deepObject}}`, "AskUserQuestion"),
  ],
  "a tool's result": [
    claude(`[{"type":"tool_result","tool_use_id":"t","content":${deepList}}]`, "user"),
    `{"type":"user","sessionId":"s","uuid":"v","toolUseResult":${deepObject},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}`,
  ],
  "a message's content": [claude(deepList, "user"), claude(deepObject, "user")],
};
const CODEX = [
  '{"timestamp":"2026-02-03T10:00:00.000Z","type":"session_meta","payload":{"id":"c","cwd":"/tmp"}}',
  `{"timestamp":"2026-02-03T10:00:00.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":${JSON.stringify(`{"command":${deepList}}`)}}}`,
  `{"timestamp":"2026-02-03T10:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":${deepObject}}}`,
  '{"timestamp":"2026-02-03T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"last words"}]}}',
];

describe("a row nested 200,000 levels deep", () => {
  test.each(Object.entries(FILES))("in %s costs no other row", (_, rows) => {
    using home = temporaryHome();
    const lines = [claude('"first words"', "user"), ...rows, claude('"last words"', "user")];
    const file = write(join(home.root, "a.jsonl"), `${lines.join("\n")}\n`);
    expectEnds(file);
  });

  test("in Codex's calls and results costs no other row", () => {
    using home = temporaryHome();
    const file = write(join(home.root, "c.jsonl"), `${CODEX.join("\n")}\n`);
    expect([...readEntries(file, { results: true })].at(-1)?.text).toBe("last words");
    expect(readLastEntries(file, { count: 9, results: true }).entries.at(-1)?.text).toBe("last words");
  });

  test("ends no search", async () => {
    using home = temporaryHome();
    writeClaude(home, { rows: `${[claude('"the gateway"', "user"), call(deepObject)].join("\n")}\n` });
    const { stdout, stderr, exitCode } = await runScript("search", ["gateway"], { env: home.env });
    expect({
      exitCode,
      found: stdout.includes("the gateway"),
      stderr: stderr.includes("RangeError"),
    }).toEqual({
      exitCode: 0,
      found: true,
      stderr: false,
    });
  });
});

function expectEnds(file: string): void {
  for (const entries of [
    [...readEntries(file, { results: true })],
    readLastEntries(file, { count: 20, results: true }).entries,
    readActiveBranch(file, { results: true }).entries,
  ]) {
    const texts = entries.map(({ text }) => text);
    expect([texts[0], texts.at(-1)]).toEqual(["first words", "last words"]);
    for (const text of texts) expect(text.length).toBeLessThan(1000);
  }
}

test("jsonOf() writes what is deeper than 64 levels as a mark", () => {
  expect(jsonOf({ a: [1, "b", null, { c: true }] })).toBe('{"a":[1,"b",null,{"c":true}]}');
  expect(jsonOf(JSON.parse(deepList))).toBe(`${"[".repeat(64)}"…"${"]".repeat(64)}`);
  expect(jsonOf(undefined)).toBe("");
});
