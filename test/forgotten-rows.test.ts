/** What is forgotten stays so row by row: forks, copies and restored sessions hand out nothing of it, and keep what they say themselves. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { shortHash } from "../lib/base/text.ts";
import { claudeAssistant, claudeState, claudeToolResult, claudeUser } from "./support/claude.ts";
import { holding, MARK } from "./support/forget.ts";
import { type TemporaryHome, temporaryHome, writeClaude, writePi } from "./support/home.ts";
import { AGENTS, hostId, layHost } from "./support/hosts.ts";
import { killPoints, runKilled } from "./support/kill.ts";
import { piAssistant, piEntry, piHeader, piLinked, piUser } from "./support/pi.ts";
import { SOAK } from "./support/random.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const KILLS = 3;
setDefaultTimeout(60_000 + KILLS * SOAK * 10_000);

interface Sessions {
  agent: string;
  victim: string;
  fork: string;
  other: string;
}

/** Makes all that is made of sessions. */
async function holdAll(
  home: TemporaryHome,
  { victim, fork }: Pick<Sessions, "victim" | "fork">,
): Promise<void> {
  for (const id of [victim, fork]) await home.ok("observe-compact", id, "--observe");
  await home.ok("index-meta", victim, fork);
  await home.ok("save-session", fork, "--dir", home.paths.notes);
  await home.ok("report", fork);
}

/** Returns the words with the mark that commands print. */
async function told(
  home: TemporaryHome,
  { agent = "", fork, other }: Partial<Pick<Sessions, "agent">> & Pick<Sessions, "fork" | "other">,
  only?: readonly string[],
): Promise<string[]> {
  const of = agent === "" ? [] : ["--agent", agent];
  const asked = [`${MARK}asked`, `${MARK}answered`, ...of];
  const runs = [
    ["search", ...asked, "--json"],
    ["search", ...asked, "--full", "--json"],
    ["search", "--error", `error: the ${MARK}printed is gone`, ...of, "--json"],
    ["search", "--command", `${MARK}run`, ...of, "--json"],
    ["search", "--file", `src/${MARK}file.ts`, ...of, "--json"],
    ["search", "penguins", "--context", "3", "--full", ...of],
    ["session-reader", fork],
    ["session-reader", fork, "--tools", "--lines", "3"],
    ["session-reader", `${fork}:1-9`],
    ["session-reader", fork, "--outline"],
    ["session-reader", "--list"],
    ["handoff", fork],
    ["observe-compact", fork, "--render"],
    ["activity-summary", "--since", "2026-01-01", "--scope", "all", "--current", other],
    ["rules"],
    ["query-session", fork, "what of it?"],
    ["session-reference", `@@${fork}`],
  ];
  const outputs: string[] = [];
  for (const [script = "", ...args] of runs)
    if (!only || only.includes(script)) outputs.push((await home.run(script, ...args)).stdout);
  if (!only) outputs.push(await home.prompt(`what of @@${fork}?`));
  if (only) return marked(outputs);
  const note = (await home.ok("save-session", fork, "--dir", "kept")).trim();
  outputs.push(readFileSync(note, "utf8"));
  rmSync(note);
  return marked(outputs);
}

function marked(outputs: readonly string[]): string[] {
  return [...new Set(outputs.join("\n").match(new RegExp(`${MARK}\\w+`, "g")))].sort();
}

async function found(home: TemporaryHome, query: string, ...flags: string[]): Promise<string[]> {
  const { results, index } = await home.json("search", query, ...flags);
  expect(index.behind.sessions).toBe(0);
  return [...new Set<string>(results.map((hit: { session_id: string }) => hit.session_id))].sort();
}

/** Forgets as it said it would; returns the sessions that it names as forks. */
async function forget(home: TemporaryHome, ...args: string[]): Promise<string[]> {
  const would = await home.json("forget", ...args, "--dry-run", "--quiet");
  const forgot = await home.json("forget", ...args, "--yes", "--quiet");
  expect(forgot).toEqual({ ...would, dryRun: false });
  return forgot.forks.sort();
}

async function behind(home: TemporaryHome): Promise<number> {
  return (await home.json("health")).metrics.behind.sessions;
}

/** The scripts that read what is stored by its session, not what was made of it. */
const READERS = ["search", "session-reader", "handoff"];
const KNOWN = [`${MARK}answered`, `${MARK}asked`, `${MARK}run`];

/** The conversation of each host in other words. */
const WORDS = {
  "Raise the zebra limit to 20, please": `where does the ${MARK}asked sleep`,
  "The zebra limit is 20 now.": `The ${MARK}answered sleeps in the tree`,
  "make check-limits": `${MARK}run --once`,
};

test("copies with ids of their own for every row hand out nothing of what was forgotten, in any host", async () => {
  const at = "2026-02-04T14:30:00.123Z";
  using home = temporaryHome();
  const all = AGENTS.map((agent) => {
    const [victim, fork, other] = ["victim", "fork", "other"].map((seed) => hostId(agent, `${seed}${agent}`));
    for (const id of [victim, fork])
      layHost(home, agent, "zebra", { id, at, cwd: home.project, words: WORDS });
    layHost(home, agent, "zebra", { id: other, at: "2026-02-03T16:30:00.000Z", cwd: home.project });
    return { agent, victim, fork, other } as Sessions;
  });
  /** Which of the forks do not print all of it. */
  const unknown = async () => {
    const read = all.map(async (each) => ({
      ...each,
      words: marked([await home.ok("session-reader", each.fork)]),
    }));
    return (await Promise.all(read)).filter(({ words }) => KNOWN.some((word) => !words.includes(word)));
  };
  await home.ok("embed");
  expect(await unknown()).toEqual([]);
  const forks = await forget(home, ...all.map(({ victim }) => victim));
  expect(forks).toEqual(all.map(({ fork }) => fork).sort());
  expect([await behind(home), holding(home, MARK)]).toEqual([0, []]);
  await home.ok("embed", "--all");
  const [first, ...others] = all as [Sessions, ...Sessions[]];
  expect(await told(home, first, READERS)).toEqual([]);
  for (const { agent, fork } of others) {
    const { stdout, stderr } = await home.run("session-reader", fork, "--tools");
    expect([agent, marked([stdout, stderr])]).toEqual([agent, []]);
  }
  const unlike = all.map(({ other }) => other).sort();
  expect(await found(home, "zebra limit", "--limit", `${all.length}`)).toEqual(unlike);
  expect(holding(home, MARK)).toEqual([]);
  for (const { victim } of all) await home.ok("forget", "--undo", victim);
  await home.ok("embed");
  expect(await unknown()).toEqual([]);
}, 180_000);

const [VICTIM = "", FORK = ""] = ["victim", "fork"].map((seed) => uuidFrom(seed));
const AT = "2026-02-03T14:30:00.1";
const LATER_AT = "2026-02-03T15:00:00.000Z";

/** What a session says that is forgotten, and what its fork says after it, as a host writes them. */
interface Said {
  rows: Row[];
  own: Row[];
  /** Puts them where the host does, as said a while ago, so that they are archived. */
  write(id: string, rows: readonly Row[]): string;
}

const SAID: Record<"claude" | "pi", (home: TemporaryHome) => Said> = {
  claude(home) {
    const [cwd, toolUseId] = [home.project, "toolu_1"];
    const tools = [{ id: toolUseId, name: "Bash", input: { command: `${MARK}run --once` } }];
    return {
      rows: [
        claudeUser({ cwd, at: `${AT}00Z`, text: `where does the ${MARK}asked sleep` }),
        claudeState("last-prompt", { lastPrompt: `where does the ${MARK}asked sleep` }, VICTIM),
        ...claudeAssistant({ cwd, at: `${AT}01Z`, text: `The ${MARK}answered sleeps in the tree` }),
        ...claudeAssistant({ cwd, at: `${AT}02Z`, tools }),
        claudeToolResult({
          cwd,
          at: `${AT}03Z`,
          toolUseId,
          content: `error: no ${MARK}printed`,
          isError: true,
        }),
      ],
      own: [
        claudeUser({ cwd, at: LATER_AT, text: "and how do penguins walk" }),
        ...claudeAssistant({ cwd, at: LATER_AT, text: "penguins waddle" }),
      ],
      write: (id, rows) =>
        idle(writeClaude(home, { id, rows: rows.map((row) => ({ ...row, sessionId: id })) })),
    };
  },
  pi(home) {
    const cwd = home.project;
    const observation = {
      id: "aaaa",
      at: null,
      priority: "red",
      text: `the ${MARK}answered sleeps`,
      sources: [3],
    };
    const data = { kind: "observed", observations: [observation], coversTo: 3, covers: "2-3", by: "rules" };
    const tools = [{ id: "call_1", name: "bash", arguments: { command: `${MARK}run --once` } }];
    const rows = piLinked([
      piHeader({ cwd }),
      piUser({ at: `${AT}00Z`, text: `where does the ${MARK}asked sleep` }),
      piAssistant({ at: `${AT}01Z`, text: `The ${MARK}answered sleeps in the tree` }),
      piAssistant({ at: `${AT}02Z`, tools }),
      piEntry("custom", { customType: "session-memory:observations", data }, { at: `${AT}03Z` }),
      piUser({ at: LATER_AT, text: "and how do penguins walk" }),
      piAssistant({ at: LATER_AT, text: "penguins waddle" }),
    ]);
    return {
      ...{ rows: rows.slice(1, 5), own: rows.slice(5) },
      write: (id, rows) => idle(writePi(home, { id, rows: [piHeader({ id, cwd }), ...rows] })),
    };
  },
};

function idle(file: string): string {
  utimesSync(file, new Date("2026-02-04"), new Date("2026-02-04"));
  return file;
}

/** Whose transcripts are gone, each possibility once. */
const LEFT = { claude: [[FORK], [VICTIM, FORK]], pi: [[VICTIM]] };

describe("what was forgotten stays so", () => {
  for (const agent of ["claude", "pi"] as const)
    test(`in a fork of ${agent} with the same ids, in its copy and in that of the session, whatever of them is left`, async () => {
      for (const gone of LEFT[agent]) {
        using home = temporaryHome();
        const { rows, own, write } = SAID[agent](home);
        const files = new Map([
          [VICTIM, write(VICTIM, rows)],
          [FORK, write(FORK, [...rows, ...own])],
        ]);
        await home.ok("embed");
        await holdAll(home, { victim: VICTIM, fork: FORK });
        for (const id of gone) rmSync(files.get(id) ?? "");
        expect(holding(home, MARK).filter((file) => file.includes("/copies/"))).toHaveLength(2);
        const sessions = { agent, fork: FORK, other: VICTIM };
        expect(await told(home, sessions)).toEqual(expect.arrayContaining(KNOWN));

        expect(await forget(home, VICTIM)).toEqual([FORK]);
        expect([gone, holding(home, MARK), await behind(home)]).toEqual([gone, [], 0]);
        await home.ok("embed");
        expect([gone, await told(home, sessions), holding(home, MARK)]).toEqual([gone, [], []]);
        expect(await found(home, "penguins waddle")).toEqual([FORK]);
        expect(await home.ok("session-reader", FORK)).toContain("penguins waddle");
      }
    }, 120_000);

  test("in what `restore` made of it, which is not listed until more is said in it", async () => {
    using home = temporaryHome();
    const { rows, own, write } = SAID.claude(home);
    write(VICTIM, rows);
    const { session } = await home.json("restore", VICTIM, "--quiet");
    await home.ok("embed");
    expect(await forget(home, VICTIM)).toEqual([session.id]);
    expect([holding(home, MARK), await home.ok("session-reader", "--list")]).toEqual([[], ""]);
    expect(await found(home, `${MARK}answered`)).toEqual([]);
    appendFileSync(session.file, jsonl(...own.map((row) => ({ ...row, sessionId: session.id }))));
    expect(await found(home, "penguins waddle")).toEqual([session.id]);
    expect(await told(home, { agent: "claude", fork: session.id, other: VICTIM })).toEqual([]);
  });

  test("though redaction has changed since, and though a copy is redacted where another is not", async () => {
    using home = temporaryHome();
    const asked = `deploy the ${MARK}asked with ghp_Zx9Kq2Lm8Wp4Tn6Rv1Yb3Hc5Jd7Fg0Sa2Qe4`;
    const words = { ...WORDS, "Raise the zebra limit to 20, please": asked };
    const lay = (id: string) => layHost(home, "cursor", "zebra", { id, cwd: home.project, words });
    const files = lay(VICTIM);
    await home.ok("embed");
    for (const file of files) rmSync(file);
    home.configure({ redact: { extra: ["deploy the"] } });
    await home.ok("forget", VICTIM, "--yes");
    const [file = ""] = lay(FORK).filter((each) => each.endsWith(".jsonl"));
    const { exclude } = JSON.parse(readFileSync(home.paths.config, "utf8"));
    for (const extra of [["deploy the"], [], ["asked", MARK]]) {
      home.configure({ redact: { extra }, exclude });
      await home.ok("embed");
      expect([extra, (await home.run("session-reader", file)).stdout]).toEqual([extra, ""]);
    }
  });

  test("in a fork that is read for the first time after it, of a project that was forgotten with its subagents", async () => {
    using home = temporaryHome();
    const { rows, own, write } = SAID.claude(home);
    write(VICTIM, rows);
    const child = claudeUser({ cwd: home.project, text: `the ${MARK}child`, at: `${AT}09Z` });
    writeClaude(home, { id: "agent-a1", parentId: VICTIM, rows: [child] });
    await home.ok("embed");
    await home.ok("forget", "--project", home.project, "--yes");
    const cwd = join(home.root, "elsewhere");
    mkdirSync(cwd);
    const moved = [...rows, child, ...own].map((row) => ({ ...row, cwd, sessionId: FORK }));
    writeClaude(home, { id: FORK, cwd, rows: moved });
    expect(await found(home, "penguins waddle")).toEqual([FORK]);
    expect(await told(home, { agent: "claude", fork: FORK, other: VICTIM })).toEqual([]);
    await home.ok("forget", "--undo", home.project);
    expect(await home.ok("session-reader", FORK)).toContain(`${MARK}child`);
  });

  test("by keys that an earlier version kept, until that is undone", async () => {
    using home = temporaryHome();
    const { rows, own, write } = SAID.claude(home);
    write(VICTIM, rows);
    write(FORK, [...rows, ...own]);
    home.configure({ exclude: { sessions: [VICTIM] } });
    const keys = rows.map(({ uuid }) => shortHash(String(uuid)).toString(36));
    const earlier = join(home.paths.home, "forgotten.ndjson");
    writeFileSync(earlier, `${JSON.stringify({ entry: VICTIM, rows: keys })}\n`);
    expect(await found(home, "penguins waddle")).toEqual([FORK]);
    expect(await told(home, { agent: "claude", fork: FORK, other: VICTIM })).toEqual([]);
    await home.ok("forget", "--undo", VICTIM);
    expect(await found(home, `${MARK}answered`)).toHaveLength(1);
    expect(await home.ok("session-reader", FORK)).toContain(`${MARK}answered`);
  });

  test("for its own rows alone: rows without a time are kept out with their session, and others of its time stay", async () => {
    using home = temporaryHome();
    const at = `${AT}00Z`;
    const undated = { ...claudeUser({ cwd: home.project, text: "an undated heron" }), timestamp: undefined };
    const { rows, write } = SAID.claude(home);
    write(VICTIM, [...rows, undated]);
    const same = ["user", "assistant"].map((who) => `${who} of the same moment`);
    const others = [
      claudeUser({ cwd: home.project, at: `${AT}04Z`, text: same[0] ?? "" }),
      ...claudeAssistant({ cwd: home.project, at, text: same[1] ?? "" }),
    ];
    write(FORK, [undated, ...others]);
    await home.ok("embed");
    await home.ok("forget", VICTIM, "--yes");
    const read = await home.ok("session-reader", FORK);
    for (const text of ["an undated heron", ...same]) expect(read).toContain(text);
  });
});

test("kill -9 at any moment: commands print all of it or nothing, and the next run completes it", async () => {
  using home = temporaryHome();
  const { rows, own, write } = SAID.claude(home);
  write(VICTIM, rows);
  write(FORK, [...rows, ...own]);
  await home.ok("embed");
  await holdAll(home, { victim: VICTIM, fork: FORK });
  using before = temporaryHome();
  const copy = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true, preserveTimestamps: true });
  };
  copy(home.paths.home, before.paths.home);
  const forgetting = ["forget", VICTIM, "--yes"];
  const { ms } = await runKilled(forgetting, { env: home.env });
  let killed = 0;
  for (const point of killPoints(KILLS)) {
    copy(before.paths.home, home.paths.home);
    if ((await runKilled(forgetting, { env: home.env }, point * ms)).isKilled) killed++;
    const isForgotten = existsSync(home.paths.config);
    const expected = isForgotten ? [] : expect.arrayContaining(KNOWN);
    expect([isForgotten, await told(home, { agent: "claude", fork: FORK, other: VICTIM }, READERS)]).toEqual([
      isForgotten,
      expected,
    ]);
    await home.ok("forget", VICTIM, "--yes");
    expect(holding(home, MARK)).toEqual([]);
  }
  expect(killed).toBeGreaterThan(0);
});
