import { expect, test } from "bun:test";
import { putVector, useEmbedder, vectorBytes, vectorSource } from "../lib/index/chunk-vectors.ts";
import { isStrong } from "../lib/search/hit.ts";
import { findHits } from "../lib/search/hits.ts";
import { nearestChunks, readMeaning } from "../lib/search/nearest.ts";
import type { Store } from "../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { HITS, indexHome, openHomeStore } from "./support/index.ts";
import { fuzzSeed, type Random, SOAK, seeded } from "./support/random.ts";

const EMBEDDING = { apiKeyEnv: "NO_KEY", model: "test", dimensions: 64 };

function idOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

/** Sessions of one exchange each, indexed, with the vectors given. */
async function indexTexts(
  home: TemporaryHome,
  texts: string[],
  vectors: Float32Array[],
  isOdd = (i: number) => i % 2 === 1,
): Promise<Store> {
  for (const [i, text] of texts.entries()) {
    const common = {
      sessionId: idOf(i),
      at: "2026-02-03T10:00:00.000Z",
      cwd: isOdd(i) ? "/home/dev/odd" : "/home/dev/even",
    };
    writeClaude(home, {
      id: idOf(i),
      cwd: common.cwd,
      rows: [claudeUser({ text, ...common }), claudeAssistant({ text: "Noted.", ...common })],
    });
  }
  const store = openHomeStore(home);
  await indexHome(home, store);
  const embedder = useEmbedder(store, EMBEDDING);
  for (const row of store.prepare("SELECT id, session_id, content_hash FROM session_chunks").all()) {
    const vector = vectors[Number(String(row.session_id).slice(-12))];
    if (!vector || !(row.content_hash instanceof Uint8Array)) continue;
    putVector(
      store,
      { id: Number(row.id), hash: row.content_hash, session: String(row.session_id) },
      { embedder, embedding: vectorBytes(vector) },
    );
  }
  return store;
}

function randomVector(random: Random): Float32Array {
  return Float32Array.from({ length: EMBEDDING.dimensions }, () => random.next() - 0.5);
}

function similarity(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

const sessionsOf = (store: Store, ids: number[]) =>
  ids.map((id) =>
    Number(
      String(store.prepare("SELECT session_id FROM session_chunks WHERE id = ?").get(id)?.session_id).slice(
        -12,
      ),
    ),
  );

test("nearestChunks() gives what a look at every vector gives, by bits and by scan, with filters inside", async () => {
  using home = temporaryHome();
  const random = seeded(fuzzSeed("nearest chunks"));
  const texts = Array.from({ length: 120 }, (_, i) => `text number ${i}`);
  const vectors = texts.map(() => randomVector(random));
  const store = await indexTexts(home, texts, vectors);
  const source = vectorSource(store, EMBEDDING);
  if (source.mode === "off") throw new Error(source.why);
  for (let round = 0; round < 5 * SOAK; round++) {
    const query = randomVector(random);
    const project = random.pick(["even", "odd", undefined]);
    const wanted = vectors
      .map((vector, i) => ({ i, near: similarity(vector, query) }))
      .filter(({ i }) => project === undefined || (i % 2 === 0) === (project === "even"))
      .sort((a, b) => b.near - a.near)
      .slice(0, 5)
      .map(({ i }) => i);
    for (const mode of ["vec0", "scan"] as const) {
      if (mode === "vec0" && store.vectors.mode !== "vec0") continue;
      const asked = {
        source: { mode, embedder: source.embedder },
        filter: { projects: project === undefined ? undefined : [`/home/dev/${project}`] },
        limit: 5,
      };
      const found = nearestChunks(store, query, asked).map(({ id }) => id);
      expect({ mode, project, found: sessionsOf(store, found) }).toEqual({ mode, project, found: wanted });
    }
  }
  store.close();
});

test("a project that is small is found though all nearest vectors are another's", async () => {
  using home = temporaryHome();
  const random = seeded(11);
  const query = randomVector(random);
  const texts = Array.from({ length: 230 }, (_, i) => `text number ${i}`);
  const near = () => query.map((value) => value + 0.01 * random.next());
  const vectors = texts.map((_, i) => (i === 229 ? randomVector(random) : near()));
  const store = await indexTexts(home, texts, vectors, (i) => i === 229);
  const source = vectorSource(store, EMBEDDING);
  const found = nearestChunks(store, query, {
    source,
    filter: { projects: ["/home/dev/odd"] },
    limit: 1,
  }).map(({ id }) => id);
  expect(sessionsOf(store, found)).toEqual([229]);
  store.close();
});

test("meaning finds what shares no word, and noise from a weak embedder does not push words aside", async () => {
  using home = temporaryHome();
  const random = seeded(3);
  const texts = [
    "the sextant is in the chart room",
    "we sold the boat",
    ...Array.from({ length: 40 }, (_, i) => `unrelated remark ${i}`),
  ];
  const vectors = texts.map(() => randomVector(random));
  const store = await indexTexts(home, texts, vectors);
  const source = vectorSource(store, EMBEDDING);
  const ask = (text: string, vector: Float32Array) => {
    const nearest = [nearestChunks(store, vector, { source, filter: {}, limit: 20 })];
    return findHits(store, [text], { ...HITS, meaning: readMeaning(store, nearest) }).hits.map((hit) => ({
      session_id: hit.session.id,
      isStrong: isStrong(hit),
    }));
  };
  const boat = ask("vessel disposal", vectors[1] ?? randomVector(random));
  expect(boat[0]).toEqual({ session_id: idOf(1), isStrong: true });
  for (let round = 0; round < 10 * SOAK; round++) {
    const noisy = ask("where is the sextant", randomVector(random));
    expect(noisy[0]).toEqual({ session_id: idOf(0), isStrong: true });
  }
  store.close();
});
