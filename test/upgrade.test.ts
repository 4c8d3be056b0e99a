/** An index of the version before rows were stored: nothing that only it has is lost, and nothing is paid for again. */

import { expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../lib/store/sqlite.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { type TemporaryHome, temporaryHome, write } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

const server = serverPerFile({ dimensions: 8 });
const FIXTURE = join(import.meta.dir, "fixtures/index-2");
const [GONE, THERE] = [uuidFrom("its transcript is gone"), uuidFrom("its transcript is there")];

/** A home with an index of version 2 of two sessions, the transcript of one of which is gone. */
function oldHome(): TemporaryHome {
  const home = temporaryHome();
  const models = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY" };
  const embedding = { ...models, model: "fake", dimensions: 8 };
  home.configure({ timezone: "UTC", embedding, llm: { ...models, model: "m" } });
  const projects = join(home.root, "home/.claude/projects/-home-dev-shop");
  mkdirSync(projects, { recursive: true });
  write(join(projects, `${THERE}.jsonl`), readFileSync(join(FIXTURE, "there.transcript"), "utf8"));
  const db = openDatabase(home.paths.database);
  db.exec(readFileSync(join(FIXTURE, "index.sql"), "utf8").replaceAll("FOLDER", home.root));
  db.close();
  return home;
}

test("an upgrade pays for no vector and no topic again", async () => {
  using home = oldHome();
  const { gone, vectors, topics } = JSON.parse(await home.ok("embed", "--topics", "--json", "--quiet"));
  expect([gone, vectors.embedded, vectors.reused, topics.refined]).toEqual([1, 7, 7, 0]);
  expect(server.requests).toEqual([]);
  const db = openDatabase(home.paths.database);
  const chunks = db.prepare(
    `SELECT session_id, count(*) AS chunks, count(embedding) AS vectors, min(topic_tags) AS topics FROM session_chunks
     GROUP BY session_id ORDER BY session_id`,
  );
  expect(chunks.all()).toEqual(
    [GONE, THERE].map((session_id) => ({ session_id, chunks: 7, vectors: 7, topics: '["old instruments"]' })),
  );
  db.close();
});

test("an upgrade keeps all that was said and done in a session whose transcript is gone", async () => {
  using home = oldHome();
  const read = await home.ok("session-reader", GONE, "--tools");
  expect(read.replace(/Drawer 1 of [\s\S]*? (?=Drawer 59)/, "… ").trimEnd()).toBe(
    [
      `# ${GONE} · claude · ${GONE} · /home/dev/shop`,
      "L1 [2026-02-03 14:00:00] User: where does the brass sextant lie?",
      "L2 [2026-02-03 14:00:00] Assistant: I look for it.",
      "L3 [2026-02-03 14:00:05] [Bash grep -r sextant rooms] failed",
      "  $ grep -r sextant rooms",
      "  grep: rooms: No such file or directory",
      "L5 [2026-02-03 14:00:10] [Edit rooms.md] +1 -1",
      "  -room 1",
      "  +room 2: brass sextant 📐",
      "L7 [2026-02-03 14:00:20] Assistant: In room 2 📐.",
      "  ",
      "  Drawer 0 of the brass cabinet holds the rulers of voyage 0. … Drawer 59 of the brass cabinet holds the lenses of voyage 413.",
      "L8 [2026-02-03 14:01:00] User: thanks, and the astrolabe?",
      "L9 [2026-02-03 14:01:00] Assistant: Beside it.",
    ].join("\n"),
  );
  const drawers: string[] = read.match(/Drawer \d+ of the brass cabinet/g) ?? [];
  expect(drawers).toEqual(Array.from({ length: 60 }, (_, i) => `Drawer ${i} of the brass cabinet`));
  const { results } = JSON.parse(await home.ok("search", "brass sextant room", "--json"));
  expect([results[0].session_id, results[0].source_gone]).toEqual([GONE, true]);
});

test("keys that once depended on topics are renamed, so that other topics ask for no vector and no topic anew", async () => {
  using home = oldHome();
  await home.ok("embed", "--topics", "--quiet");
  const db = openDatabase(home.paths.database);
  // as version 4 left it: every key another one, topics where no word is known, vectors that no chunk has
  db.exec(`
    UPDATE topic_cache SET content_hash = CAST(substr(content_hash, 9) || substr(content_hash, 1, 8) AS BLOB);
    UPDATE chunks SET content_hash = CAST(substr(content_hash, 9) || substr(content_hash, 1, 8) AS BLOB),
      topic_tags = '["drawer"]';
    DELETE FROM topic_cache WHERE content_hash = (SELECT content_hash FROM chunks ORDER BY id DESC LIMIT 1);
    INSERT OR IGNORE INTO vector_cache SELECT content_hash, embedder, embedding FROM chunks;
    UPDATE chunks SET embedder = NULL, embedding = NULL WHERE id % 2;
    PRAGMA user_version = 4`);
  db.close();
  server.requests.length = 0;
  const { vectors } = JSON.parse(await home.ok("embed", "--json", "--quiet"));
  expect([vectors.embedded, vectors.left, server.requests]).toEqual([vectors.reused, 0, []]);
  const renamed = openDatabase(home.paths.database);
  const tags = renamed.prepare(
    "SELECT topic_tags, count(*) AS n FROM session_chunks GROUP BY 1 ORDER BY 2 DESC",
  );
  expect(tags.all()).toEqual([
    { topic_tags: '["old instruments"]', n: 12 },
    { topic_tags: "[]", n: 2 },
  ]);
  renamed.close();
});
