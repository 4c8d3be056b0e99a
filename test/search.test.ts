import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "../lib/base/locks.ts";
import { type Config, defaultSettings, type Settings } from "../lib/config/config.ts";
import { openStore } from "../lib/store/store.ts";
import { type SearchAnswer, sessionSearch } from "../scripts/search.ts";
import { claudeAssistant, claudeCompaction, claudeUser } from "./support/claude.ts";
import { FIXTURES } from "./support/fixtures.ts";
import { homePerTest, layFixtures, type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { writeTalk } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const home = homePerTest();

const ID = "11111111-0000-4000-8000-000000000001";
const OTHER = "22222222-0000-4000-8000-000000000002";

function configOf(home: TemporaryHome, settings: Partial<Settings> = {}, currentSession?: string): Config {
  const { paths, env } = home;
  return {
    paths,
    env,
    settings: { ...defaultSettings(), timezone: "UTC", ...settings },
    currentSession,
    ignored: [],
    cwd: home.project,
  };
}

const ids = ({ results }: SearchAnswer) => results.map(({ session_id }) => session_id);

describe("on the committed transcripts", () => {
  let home: TemporaryHome;
  beforeAll(async () => {
    home = temporaryHome();
    layFixtures(home);
    await home.ok("embed"); // a search has a second for it, which a busy machine may not keep
  });
  afterAll(() => home.remove());

  test("sessionSearch() answers in the promised shape", async () => {
    const query = ["why was the staging container unhealthy", "health check port"];
    const answer = await sessionSearch({ query, limit: 1 }, { config: configOf(home) });
    const [hit] = answer.results;
    expect(answer).toEqual({
      results: [
        {
          session_id: FIXTURES.claude.deploy.id,
          name: null,
          agent: "claude",
          project: "shop",
          timestamp: "2026-02-01T09:12:07.000Z",
          topics: expect.arrayContaining(["deployment", "build"]),
          speakers: ["user", "assistant"],
          has_decision: false,
          has_action: expect.any(Boolean),
          relevance_score: expect.any(Number),
          strength: "strong",
          lines: expect.any(Array),
          also: [],
          content: expect.stringContaining(
            "User: how do I deploy this? staging still runs last week's build\nAssistant: Two steps",
          ),
          context: "User asks: how do I deploy this? staging still runs last week's build",
          before: [],
          after: [],
          also_in: [],
          file: expect.stringContaining(`${FIXTURES.claude.deploy.id}.jsonl`),
          first_line: 6,
          last_line: expect.any(Number),
          source_gone: false,
        },
      ],
      index: {
        sessions: expect.any(Number),
        chunks: expect.any(Number),
        vectors: 0,
        behind: { sessions: 0, bytes: 0 },
        semantic: "off: no embedding in config.json",
      },
    });
    expect(hit?.lines).toContainEqual({
      line: 14,
      who: "assistant",
      text: "The container is unhealthy: the health check asks port 8080, but the server listens on 8081 since the last release.",
    });
    const score = answer.results[0]?.relevance_score ?? 0;
    expect(score > 0 && score <= 1).toBe(true);
    expect(answer.index.chunks).toBeGreaterThan(20);
  });

  test("the index is named on stderr where the search changed it or it is behind, and nowhere else", async () => {
    using own = temporaryHome();
    layFixtures(own);
    const search = async (...args: string[]) => (await own.run("search", ...args, "posting")).stderr;
    expect(await search()).toMatch(
      /^index: \d+ sessions, \d+ chunks, up to date; semantic off: no embedding in config\.json\n$/,
    );
    expect(await search()).toBe("");
    writeClaude(own, {
      id: uuidFrom("new"),
      rows: [claudeUser({ text: "posting again", cwd: own.project })],
    });
    expect(await search("--no-index")).toMatch(/, behind by 1 session \(/);
    expect(await search()).toContain(", up to date");
  });

  test("search.ts --json prints one document, remarks go to stderr, exit 0 also when nothing is found", async () => {
    const found = await runScript("search", ["--json", "--limit", "2", "posting frequency"], {
      env: home.env,
    });
    expect(found.exitCode).toBe(0);
    const { results, index } = JSON.parse(found.stdout) as SearchAnswer;
    expect(results[0]?.content).toContain("posting frequency");
    expect([found.stderr, index.behind.sessions]).toEqual(["", 0]);
    const nothing = await runScript("search", ["--json", "kubernetes ingress annotations"], {
      env: home.env,
    });
    expect({ ...nothing, results: (JSON.parse(nothing.stdout) as SearchAnswer).results }).toMatchObject({
      exitCode: 0,
      results: [],
    });
    expect(nothing.stderr).toStartWith("nothing relevant found\n");
    using fresh = temporaryHome();
    await fresh.ok("embed", "--quiet");
    layFixtures(fresh);
    const early = await runScript("search", ["--no-index", "kubernetes ingress"], { env: fresh.env });
    expect(early.stderr).toStartWith("nothing relevant found in what is indexed so far\nindex: 0 sessions, ");
    for (const asked of ["kubernetes ingress annotations", "???", "…"])
      for (const form of ["--quiet", "--brief", "--by-session", "--full"]) {
        const { stderr, ...rest } = await runScript("search", [form, "--", asked], { env: home.env });
        const said = form === "--quiet" ? "" : "nothing relevant found";
        expect([form, rest, stderr.split("\n")[0]]).toEqual([form, { stdout: "", exitCode: 0 }, said]);
      }
  });

  test("search.ts prints a head with place, time and strength, then rows with their lines", async () => {
    const { stdout } = await runScript(
      "search",
      ["--limit", "1", "--context", "1", "--explain", "migration 0042"],
      { env: home.env },
    );
    const [first = "", ...rest] = stdout.trimEnd().split("\n");
    expect(first).toMatch(/^1\. \w{8}:\d+-\d+ · .*shop · 2026-02-01 09:13 · strong$/);
    expect(rest.some((line) => /^ {3}L\d+ Assistant: .*Migration 0042 has not run yet/.test(line))).toBe(
      true,
    );
    for (const beside of ["before", "after"])
      expect(rest.filter((line) => line.startsWith(`   ${beside}: `))).toEqual([
        expect.stringMatching(/^ {3}\w+: 2026-02-01 09:\d\d (?:User|Assistant): /),
      ]);
    expect(rest.slice(-4)).toEqual([
      "   close together: migration, 0042",
      expect.stringMatching(/^ {3}chosen: L22 \d+\.\d+ migration, 0042; L\d+ \d+\.\d+ migration;/),
      "   why: phrasing 1 #1, holds 1 of it",
      "no other strong hit",
    ]);
  });

  test("wrong usage names the flag and the way out, and prints nothing on stdout", async () => {
    const cases: [args: string[], error: string][] = [
      [[], "Expected a phrasing"],
      [["x", "--limit", "0"], "Cannot use --limit"],
      [["x", "--after", "someday"], "Cannot use --after"],
      [["x", "--speaker", "bob"], "Cannot use --speaker"],
      [["x", "--min-score", "2"], "Cannot use --min-score"],
      [["x", "--nonsense"], "--nonsense"],
    ];
    for (const [args, error] of cases) {
      const run = await runScript("search", args, { env: home.env });
      expect({ args, ...run }).toMatchObject({ args, exitCode: 2, stdout: "" });
      expect(run.stderr).toMatch(/^error: .+\nhint: .+\n$/);
      expect(run.stderr).toContain(error);
    }
    const unknown = await runScript("search", ["x", "--session", "no-such-session"], { env: home.env });
    expect({ ...unknown, stderr: unknown.stderr.split("\n")[0]?.slice(0, 17) }).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: "error: NOT_FOUND:",
    });
  });

  test("a session's name, project and agent limit the search", async () => {
    const config = configOf(home);
    const ask = async (filters: object) =>
      new Set(
        ids(await sessionSearch({ query: "login test", filters, limit: 50, subagents: true }, { config })),
      );
    expect(await ask({ agent: "codex" })).toEqual(new Set([FIXTURES.codex.login.id]));
    expect(await ask({ session: FIXTURES.pi.login.id.slice(0, 8) })).toEqual(new Set([FIXTURES.pi.login.id]));
    expect(await ask({ project: "nowhere" })).toEqual(new Set());
    expect((await ask({ project: home.project })).size).toBeGreaterThan(2);
  });
});

test("what the index did not know is found by the search that finds it new", async () => {
  const config = configOf(home);
  writeTalk(home, ID, [["where is the sextant", "In the chart room."]]);
  expect(ids(await sessionSearch({ query: "sextant" }, { config }))).toEqual([ID]);
  writeTalk(home, OTHER, [["where is the astrolabe", "In the museum."]]);
  const stale = await sessionSearch({ query: "astrolabe" }, { config, index: false });
  expect({ results: stale.results, behind: stale.index.behind.sessions }).toEqual({ results: [], behind: 1 });
  expect(ids(await sessionSearch({ query: "astrolabe" }, { config }))).toEqual([OTHER]);
});

test("what another run is indexing just now is waited for, and found", async () => {
  const config = configOf(home);
  writeTalk(home, ID, [["where is the sextant", "In the chart room."]]);
  const release = tryLock(join(home.paths.home, "index.lock"));
  setTimeout(() => release?.(), 100);
  const { results, index } = await sessionSearch({ query: "sextant" }, { config });
  expect([results.length, index.behind.sessions]).toEqual([1, 0]);
});

test("--no-index without an index says what to run", async () => {
  const run = await runScript("search", ["--no-index", "anything"], { env: home.env });
  expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(run.stderr).toContain("hint: run bun scripts/embed.ts");
  expect(existsSync(home.paths.database)).toBe(false);
});

test("the calling session's rows are left out up to its last compaction, unless it is named", async () => {
  const row = (text: string, minute: number) => [
    claudeUser({ text, sessionId: ID, at: `2026-02-03T10:${minute}:00.000Z` }),
    claudeAssistant({ text: "Noted.", sessionId: ID, at: `2026-02-03T10:${minute}:30.000Z` }),
  ];
  const compaction = claudeCompaction({
    summary: "They spoke of the harbour.",
    sessionId: ID,
    at: "2026-02-03T10:20:00.000Z",
  });
  writeClaude(home, {
    id: ID,
    rows: [row("the old sextant story", 10), compaction, row("the new sextant story", 30)].flat(2),
  });
  writeTalk(home, OTHER, [["another sextant story", "Indeed."]]);
  const config = configOf(home, {}, ID);
  const contents = async (filters: object) =>
    (await sessionSearch({ query: "sextant story", filters, limit: 9 }, { config })).results
      .flatMap(({ content }) => content.split("\n").filter((line) => line.startsWith("User: ")))
      .sort();
  expect(await contents({})).toEqual(["User: another sextant story", "User: the old sextant story"]);
  expect(await contents({ session: ID })).toEqual([
    "User: the new sextant story",
    "User: the old sextant story",
  ]);
});

test("a fork's copied rows are one result, the other session is named beside it", async () => {
  layFixtures(home);
  const { results } = await sessionSearch(
    { query: "Jason posting frequency never more than three", limit: 20 },
    { config: configOf(home) },
  );
  const holding = results.filter(({ content }) => content.includes("never more than three"));
  expect(holding.length).toBe(1);
  const both = [holding[0]?.session_id ?? "", ...(holding[0]?.also_in ?? [])];
  expect(new Set(both).isSupersetOf(new Set([FIXTURES.claude.posting.id, FIXTURES.claude.fork.id]))).toBe(
    true,
  );
});

test("a fork's own search finds what it copied, and not what the other session said after that", async () => {
  const rows = (sessionId: string, texts: string[]) =>
    texts.map((text, i) =>
      claudeUser({ text, sessionId, uuid: uuidFrom(text), at: `2026-02-0${i + 3}T10:00:00.000Z` }),
    );
  const shared = ["the sextant is in the chart room", "the compass is at sea"];
  writeClaude(home, { id: ID, rows: rows(ID, [...shared, "an astrolabe later"]) });
  writeClaude(home, { id: OTHER, rows: rows(OTHER, [...shared, "own words of the fork"]) });
  const found = async (word: string) => {
    const { results } = await sessionSearch(
      { query: word, filters: { session: OTHER } },
      { config: configOf(home) },
    );
    return results.map(({ content }) => content);
  };
  expect(await found("sextant")).toEqual(["User: the sextant is in the chart room"]);
  expect(await found("fork")).toEqual(["User: own words of the fork"]);
  expect(await found("astrolabe")).toEqual([]);
});

test("--min-score lets an exact match pass", async () => {
  writeTalk(home, ID, [["what is ERR_QUADRANT_7731", "A bad reading."]]);
  for (let i = 0; i < 5; i++)
    writeTalk(home, `33333333-0000-4000-8000-00000000000${i}`, [[`reading ${i}`, "A good reading."]]);
  const config = configOf(home);
  const [hit] = (await sessionSearch({ query: "ERR_QUADRANT_7731", minScore: 0.9 }, { config })).results;
  expect(hit?.session_id).toBe(ID);
  expect(
    ids(
      await sessionSearch(
        { query: "what is a reading, and of which kind of instrument was it", minScore: 1 },
        { config },
      ),
    ),
  ).toEqual([]);
});

test("an embedder that does not answer leaves the search to words, and says so", async () => {
  writeTalk(home, ID, [["where is the sextant", "In the chart room."]]);
  const embedding = { baseUrl: "http://127.0.0.1:9", apiKeyEnv: "NONE", model: "m", dimensions: 8 };
  const config = configOf(home, { embedding });
  await sessionSearch({ query: "sextant" }, { config });
  const store = openStore(home.paths.database);
  store.db.exec(`INSERT INTO embedders (model, dimensions) VALUES ('m', 8);
    UPDATE chunks SET embedder = 1, embedding = zeroblob(32)`);
  store.close();
  const answer = await sessionSearch({ query: "sextant" }, { config });
  expect(ids(answer)).toEqual([ID]);
  expect(answer.index.semantic).toStartWith("off: Cannot embed");
});

describe("what was done", () => {
  let home: TemporaryHome;
  beforeAll(() => {
    home = temporaryHome();
    const call = (name: string, input: object, minute: number, text: string) =>
      claudeAssistant({
        text,
        sessionId: ID,
        at: `2026-02-03T10:${minute}:00.000Z`,
        tools: [{ name, input: input as never }],
      });
    writeClaude(home, {
      id: ID,
      rows: [
        claudeUser({
          text: "calibrate the sextant for flaky tests",
          sessionId: ID,
          at: "2026-02-03T10:10:00.000Z",
        }),
        ...call("Bash", { command: "sextant --calibrate" }, 11, "I calibrate it."),
        ...call(
          "Edit",
          { file_path: "/home/dev/shop/src/sextant.ts", old_string: "drift = 1", new_string: "drift = 0" },
          12,
          "The drift goes.",
        ),
      ],
    });
    writeTalk(home, OTHER, [["another sextant story, with a commit and a test", "Indeed."]]);
  });
  afterAll(() => home.remove());

  test("--topics lists topics of two passages or more, and --topic compares without case, - and _", async () => {
    const { stdout } = await runScript("search", ["--topics", "--json"], { env: home.env });
    expect(JSON.parse(stdout)).toEqual({ topics: [{ topic: "testing", chunks: 2, sessions: 2 }] });
    const { results } = await sessionSearch(
      { query: "sextant", filters: { topics: ["TEST_ing"] } },
      { config: configOf(home) },
    );
    expect(results.map(({ session_id }) => session_id).sort()).toEqual([ID, OTHER].sort());
  });
});
