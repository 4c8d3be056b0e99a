import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChunkFilter } from "../lib/search/candidates.ts";
import { type Hit, hitJson, isStrong } from "../lib/search/hit.ts";
import { findHits } from "../lib/search/hits.ts";
import { type Retrieved, retrieve } from "../lib/search/retrieval.ts";
import type { Store } from "../lib/store/store.ts";
import { OWN_QUESTIONS } from "./bench/search/own-questions.ts";
import { layFixtures, type TemporaryHome, temporaryHome } from "./support/home.ts";
import { HITS, indexHome, openHomeStore, type Talk, writeTalk } from "./support/index.ts";
import { fuzzSeed, type Random, SOAK, seeded } from "./support/random.ts";

function find(store: Store, query: string | string[], filter: ChunkFilter = {}): Retrieved {
  return retrieve([store], [query].flat(), { ...HITS, filter, limit: 100 });
}

function hits(
  store: Store,
  query: string | string[],
  { filter = {}, limit = 5 }: { filter?: ChunkFilter; limit?: number } = {},
): Hit[] {
  return findHits([store], [query].flat(), { ...HITS, filter, limit }).hits;
}

describe("on the committed transcripts", () => {
  let home: TemporaryHome;
  let store: Store;
  beforeAll(async () => {
    home = temporaryHome();
    const { plain } = layFixtures(home);
    store = openHomeStore(home);
    const transcripts = [home.paths.claude, home.paths.pi, home.paths.codex, plain];
    await indexHome({ ...home, paths: { ...home.paths, transcripts } }, store);
  });
  afterAll(() => {
    store.close();
    home.remove();
  });

  for (const { phrasings, session = "", holds } of OWN_QUESTIONS) {
    test(`${phrasings[0]}: ${holds ? `"${holds}"` : "nothing"}`, () => {
      const found = hits(store, phrasings, { filter: { subagents: true } });
      const strong = found.filter(isStrong).map((hit) => hitJson(hit, HITS.style));
      if (!holds) return expect(strong.map(({ content }) => content)).toEqual([]);
      const isRight = ({ session_id, also_in, content }: (typeof strong)[number]) =>
        [session_id, ...also_in].includes(session) && content.includes(holds);
      expect(strong.slice(0, 3).some(isRight) || strong).toBe(true);
    });
  }
});

describe("on made-up sessions", () => {
  let home: TemporaryHome;
  let store: Store | undefined;
  let sessions = 0;

  function startHome() {
    home?.remove();
    home = temporaryHome();
    sessions = 0;
  }

  function say(turns: Talk, options: Parameters<typeof writeTalk>[3] = {}): string {
    return writeTalk(home, `00000000-0000-4000-8000-${String(++sessions).padStart(12, "0")}`, turns, options);
  }

  async function index(): Promise<Store> {
    store?.close();
    store = openHomeStore(home);
    await indexHome(home, store);
    return store;
  }

  beforeAll(startHome);
  afterAll(() => {
    store?.close();
    home.remove();
  });

  test("a natural question finds what shares only one of its words", async () => {
    startHome();
    say([["the chlorophyll assay drifts", "Recalibrated the photometer."]]);
    say([["what shall we cook", "Soup."]]);
    const found = hits(await index(), "why did our chlorophyll measurement go wrong yesterday evening?");
    expect(found[0]?.passage?.content).toContain("chlorophyll");
  });

  test("Chinese, Japanese and accented words are found", async () => {
    startHome();
    const chinese = say([["我们怎么迁移数据库？", "用预写日志。"]]);
    const japanese = say([["テストが失敗した原因は？", "設定ファイルです。"]]);
    const german = say([["Die Übersetzung läuft über", "Größe geändert."]]);
    const indexed = await index();
    const first = (query: string) => find(indexed, query).ranked[0]?.session.id;
    expect(["数据库", "設定ファイル", "ubersetzung", "ÜBERSETZUNG", "geandert"].map(first)).toEqual([
      chinese,
      japanese,
      german,
      german,
      german,
    ]);
  });

  test("identifiers, paths and error texts are found whole and in parts", async () => {
    startHome();
    const target = say([
      ["Cannot open file 'src/agent-session.ts': ENOENT", "parseHTMLFile reads my_config.max_size now."],
    ]);
    for (let i = 0; i < 12; i++) say([[`file ${i} session`, "parse the agent config and open it"]]);
    const indexed = await index();
    for (const query of [
      "parseHTMLFile",
      "my_config.max_size",
      "src/agent-session.ts",
      "ENOENT",
      '"Cannot open file"',
      "parse html file",
    ]) {
      expect({ query, session: find(indexed, query).ranked[0]?.session.id }).toEqual({
        query,
        session: target,
      });
    }
  });

  test("syntax of the full-text engine in a question is only words", async () => {
    startHome();
    const id = say([["why AND not OR", "NEAR(x, y) is a function"]]);
    const indexed = await index();
    for (const query of [
      '"unclosed',
      "NEAR(x",
      "a AND (b",
      "content:why",
      "function*",
      "-- ; DROP TABLE sessions",
      "^near",
    ]) {
      const { ranked: chunks } = find(indexed, query);
      expect({ query, other: chunks.filter(({ session }) => session.id !== id).length }).toEqual({
        query,
        other: 0,
      });
    }
    expect(find(indexed, "NEAR function").ranked[0]?.session.id).toBe(id);
  });

  test("a small project is found among many with the same words", async () => {
    startHome();
    for (let i = 0; i < 60; i++)
      say([["deploy deploy deploy the server", "deploy done, deploy log, server up"]], {
        cwd: "/home/dev/big",
      });
    const small = say(
      [
        [
          "how do we deploy",
          "by hand, with many other words that make this text longer than the rest of them",
        ],
      ],
      { cwd: "/home/dev/tiny" },
    );
    const indexed = await index();
    const { ranked: chunks } = find(indexed, "deploy server", { projects: ["/home/dev/tiny"] });
    expect(chunks.map(({ session }) => session.id)).toEqual([small]);
  });

  test("newer is not better: the right old session stays before a new one", async () => {
    startHome();
    const old = say([["the retry budget of the payment gateway", "Three retries, then the breaker opens."]], {
      at: "2024-01-01T00:00:00.000Z",
    });
    say([["the gateway", "It is up."]], { at: "2026-02-09T00:00:00.000Z" });
    expect(find(await index(), "retry budget of the payment gateway").ranked[0]?.session.id).toBe(old);
  });

  test("the times a question names are preferred, not required", async () => {
    startHome();
    const december = say([["tune the renderer", "Done, frames are steady."]], {
      at: "2025-12-24T12:10:00.000Z",
    });
    const january = say([["tune the renderer", "Done, frames are steady."]], {
      at: "2026-01-08T12:00:00.000Z",
    });
    const indexed = await index();
    const first = (query: string) => find(indexed, query).ranked[0]?.session.id;
    expect(first("renderer work on 24 December")).toBe(december);
    expect(first("renderer work in January")).toBe(january);
    expect(first("renderer work in the summer of 2019")).toBeDefined();
    expect(first("what did we do on 24 December 2025?")).toBe(december);
    expect(hits(indexed, "what did we do on 24 December 2025?").slice(0, 1).some(isStrong)).toBe(true);
  });

  test("an empty index finds nothing, without an error", async () => {
    startHome();
    expect(hits(await index(), "anything at all")).toEqual([]);
  });

  test("filters give what a look at every chunk gives", async () => {
    const random = seeded(fuzzSeed("search filters"));
    startHome();
    const words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"];
    const sentence = () => Array.from({ length: random.integer(1, 6) }, () => random.pick(words)).join(" ");
    const phrases = ["We decided it.", "TODO later.", "The test fails.", "Commit the branch.", ""];
    for (let i = 0; i < 25; i++) {
      const turns = Array.from({ length: random.integer(1, 4) }, (): [string, string] => [
        `${sentence()} ${random.pick(phrases)}`,
        `${sentence()} ${random.pick(phrases)}`,
      ]);
      const day = String(random.integer(1, 28)).padStart(2, "0");
      say(turns, { at: `2026-01-${day}T10:00:00.000Z`, cwd: `/home/dev/${random.pick(["one", "two"])}` });
    }
    const indexed = await index();
    const all = everyChunk(indexed);
    for (let round = 0; round < 20 * SOAK; round++) {
      const filter = randomFilter(random, all);
      const word = random.pick(words);
      const wanted = all.filter(
        (chunk) => passes(chunk, filter) && saidBy(chunk, filter.speaker).includes(word),
      );
      const found = find(indexed, word, filter).ranked.map(({ chunk: row }) => row.id);
      const missing = wanted.filter(({ id }) => !found.includes(id)).map(({ id }) => id);
      const wrong = found.filter((id) => !all.some((chunk) => chunk.id === id && passes(chunk, filter)));
      expect({ filter, word, missing, wrong }).toEqual({ filter, word, missing: [], wrong: [] });
    }
  });
});

interface Plain {
  id: number;
  session: string;
  project: string;
  timestamp: string;
  speakers: string[];
  topics: string[];
  decision: boolean;
  action: boolean;
  content: string;
}

function everyChunk(store: Store): Plain[] {
  return store.db
    .prepare("SELECT c.*, s.cwd FROM session_chunks c JOIN sessions s ON s.id = c.session_id ORDER BY c.id")
    .all()
    .map((row) => ({
      id: Number(row.id),
      session: String(row.session_id),
      project: String(row.cwd),
      timestamp: String(row.timestamp),
      speakers: JSON.parse(String(row.speakers)) as string[],
      topics: JSON.parse(String(row.topic_tags)) as string[],
      decision: row.has_decision === 1,
      action: row.has_action === 1,
      content: String(row.content),
    }));
}

function randomFilter(random: Random, all: readonly Plain[]): ChunkFilter {
  const some = random.pick(all);
  const maybe = <T>(value: T) => (random.chance(0.25) ? value : undefined);
  return {
    after: maybe(random.pick(all).timestamp),
    before: maybe(random.pick(all).timestamp),
    speaker: maybe(random.pick(["user", "assistant"] as const)),
    topics: maybe([random.pick([...some.topics, "no topic"]).toUpperCase()]),
    hasDecision: maybe(random.chance(0.5)),
    hasAction: maybe(random.chance(0.5)),
    session: maybe(some.session),
    projects: maybe([some.project]),
  };
}

function passes(chunk: Plain, filter: ChunkFilter): boolean {
  return (
    (filter.after === undefined || chunk.timestamp >= filter.after) &&
    (filter.before === undefined || chunk.timestamp <= filter.before) &&
    (filter.speaker === undefined || chunk.speakers.includes(filter.speaker)) &&
    (filter.topics === undefined ||
      chunk.topics.some((topic) => filter.topics?.includes(topic.toUpperCase()))) &&
    (filter.hasDecision === undefined || chunk.decision === filter.hasDecision) &&
    (filter.hasAction === undefined || chunk.action === filter.hasAction) &&
    (filter.session === undefined || chunk.session === filter.session) &&
    (filter.projects === undefined || filter.projects.includes(chunk.project))
  );
}

function saidBy(chunk: Plain, speaker: ChunkFilter["speaker"]): string[] {
  const label = speaker === "user" ? "User: " : "Assistant: ";
  const lines = chunk.content.split("\n").filter((line) => speaker === undefined || line.startsWith(label));
  return lines.join(" ").toLowerCase().split(/\W+/);
}
