/** Questions on the committed transcripts, and filters against a look at every chunk. What words find: golden/search-words.txt. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChunkFilter } from "../lib/search/candidates.ts";
import { hitJson, isStrong } from "../lib/search/hit.ts";
import { findHits } from "../lib/search/hits.ts";
import { retrieve } from "../lib/search/retrieval.ts";
import type { Store } from "../lib/store/store.ts";
import { OWN_QUESTIONS } from "./bench/search/own-questions.ts";
import { layFixtures, type TemporaryHome, temporaryHome } from "./support/home.ts";
import { HITS, indexHome, openHomeStore, writeTalk } from "./support/index.ts";
import { fuzzSeed, type Random, SOAK, seeded } from "./support/random.ts";
import { uuidFrom } from "./support/rows.ts";

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
      const found = findHits(store, phrasings, { ...HITS, filter: { subagents: true } }).hits;
      const strong = found.filter(isStrong).map((hit) => hitJson(hit, HITS.style));
      if (!holds) return expect(strong.map(({ content }) => content)).toEqual([]);
      const isRight = ({ session_id, also_in, content }: (typeof strong)[number]) =>
        [session_id, ...also_in].includes(session) && content.includes(holds);
      expect(strong.slice(0, 3).some(isRight) || strong).toBe(true);
    });
  }
});

test("filters give what a look at every chunk gives", async () => {
  const random = seeded(fuzzSeed("search filters"));
  using home = temporaryHome();
  const words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"];
  const sentence = () => Array.from({ length: random.integer(1, 6) }, () => random.pick(words)).join(" ");
  const phrases = ["We decided it.", "TODO later.", "The test fails.", "Commit the branch.", ""];
  for (let i = 0; i < 25; i++) {
    const turns = Array.from({ length: random.integer(1, 4) }, (): [string, string] => [
      `${sentence()} ${random.pick(phrases)}`,
      `${sentence()} ${random.pick(phrases)}`,
    ]);
    const day = String(random.integer(1, 28)).padStart(2, "0");
    writeTalk(home, uuidFrom(i), turns, {
      at: `2026-01-${day}T10:00:00.000Z`,
      cwd: `/home/dev/${random.pick(["one", "two"])}`,
    });
  }
  const store = openHomeStore(home);
  await indexHome(home, store);
  const all = everyChunk(store);
  for (let round = 0; round < 20 * SOAK; round++) {
    const filter = randomFilter(random, all);
    const word = random.pick(words);
    const wanted = all.filter(
      (chunk) => passes(chunk, filter) && saidBy(chunk, filter.speaker).includes(word),
    );
    const found = retrieve(store, [word], { ...HITS, filter, limit: 100 }).ranked.map(
      ({ chunk: row }) => row.id,
    );
    const missing = wanted.filter(({ id }) => !found.includes(id)).map(({ id }) => id);
    const wrong = found.filter((id) => !all.some((chunk) => chunk.id === id && passes(chunk, filter)));
    expect({ filter, word, missing, wrong }).toEqual({ filter, word, missing: [], wrong: [] });
  }
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
