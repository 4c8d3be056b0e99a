import { expect, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, statSync, utimesSync } from "node:fs";
import { startFakeOpenAI } from "./support/fake-openai.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { contentOf, openHomeStore, turn } from "./support/index.ts";
import { killPoints, runKilled } from "./support/kill.ts";
import { fuzzSeed, type Random, SOAK, seeded } from "./support/random.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const DIMENSIONS = 64;

/** The texts whose vectors are in the index or among what was paid for: to send one of them again is to pay twice. */
function paidHashes(home: TemporaryHome): Set<string> {
  if (!existsSync(home.paths.database)) return new Set();
  const store = openHomeStore(home);
  const rows = store
    .prepare(
      `SELECT hex(content_hash) AS hash FROM session_chunks WHERE embedding IS NOT NULL
       UNION SELECT hex(content_hash) FROM paid.vectors`,
    )
    .all();
  store.close();
  return new Set(rows.map((row) => String(row.hash)));
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 32).toUpperCase();
}

function grow(files: readonly string[], random: Random, number: number): void {
  for (const file of files) {
    if (!random.chance(0.3)) continue;
    const rows = Array.from({ length: random.integer(1, 9) }, (_, i) =>
      turn(`later ${number} question ${i}`, `answer ${"word ".repeat(random.integer(1, 90))}`, {
        minute: number * 10 + i,
      }),
    );
    const text = jsonl(...rows);
    // a host may be in the middle of a line
    appendFileSync(file, random.chance(0.2) ? text.slice(0, -9) : text);
  }
}

test("kill -9 at any moment, then a normal run: the index is the one built in peace, and nothing is paid twice", async () => {
  const random = seeded(fuzzSeed("kill -9"));
  const server = await startFakeOpenAI({ dimensions: DIMENSIONS });
  const config = JSON.stringify({
    embedding: { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY", model: "fake", dimensions: DIMENSIONS },
    timezone: "UTC",
  });
  for (let round = 0; round < SOAK; round++) {
    using home = temporaryHome();
    write(home.paths.config, config);
    const files = Array.from({ length: 8 }, (_, i) => {
      const rows = Array.from({ length: random.integer(1, i === 0 ? 60 : 20) }, (_, k) =>
        turn(`topic${i} question ${k}`, `answer ${"word ".repeat(random.integer(1, 120))}`, { minute: k }),
      );
      return writeClaude(home, { id: uuidFrom(`killed ${round} ${i}`), rows });
    });
    const copyTo = (other: TemporaryHome) => {
      write(other.paths.config, config);
      for (const file of files) {
        const copy = write(file.replace(home.root, other.root), readFileSync(file, "utf8"));
        const { mtime } = statSync(file);
        utimesSync(copy, mtime, mtime);
      }
    };
    const embed = ({ env }: TemporaryHome, afterMs?: number) =>
      runKilled(["embed", "--quiet"], { env }, afterMs);
    using undisturbed = temporaryHome();
    copyTo(undisturbed);
    const { ms } = await embed(undisturbed);
    let killed = 0;
    for (const [kill, part] of killPoints(5).entries()) {
      const paid = paidHashes(home);
      server.requests.length = 0;
      if ((await embed(home, part * ms)).isKilled) killed++;
      expect(server.embeddedTexts().filter((text) => paid.has(hashOf(text)))).toEqual([]);
      grow(files, random, kill + 1);
    }
    expect(killed).toBeGreaterThan(0);
    const paid = paidHashes(home);
    server.requests.length = 0;
    const run = await runScript("embed", ["--quiet"], { env: home.env });
    expect([run.exitCode, run.stderr]).toEqual([0, ""]);
    const sent = server.embeddedTexts();
    expect(sent.filter((text) => paid.has(hashOf(text)))).toEqual([]);
    expect(sent).toHaveLength(new Set(sent).size);

    using peaceful = temporaryHome();
    copyTo(peaceful);
    await runScript("embed", ["--quiet"], { env: peaceful.env });
    const [store, other] = [openHomeStore(home), openHomeStore(peaceful)];
    const asText = (content: unknown, root: string) => JSON.stringify(content, null, 1).replaceAll(root, "");
    expect(asText(contentOf(store), home.root)).toBe(asText(contentOf(other), peaceful.root));
    for (const [index, table] of [
      [store, "session_embeddings"],
      [other, "session_embeddings"],
    ] as const) {
      expect(index.vectors.mode).toBe("vec0");
      const rows = index.prepare(`SELECT chunk_id FROM ${table} ORDER BY 1`).all();
      expect(rows).toEqual(index.prepare("SELECT id AS chunk_id FROM session_chunks ORDER BY 1").all());
      expect(index.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      index.exec("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')");
    }
    store.close();
    other.close();
  }
  await server.close();
}, 120_000);
