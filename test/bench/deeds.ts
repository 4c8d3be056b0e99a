/** What tool calls cost the index: a cold run over real transcripts against reading and parsing them, and its size. */

import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { resolvePaths } from "../../lib/config/config.ts";
import { indexSessions } from "../../lib/index/indexing.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { openStore } from "../../lib/store/store.ts";
import { linesForward, parseLine, withFile } from "../../lib/transcripts/jsonl.ts";
import { settingsWith } from "../support/index.ts";
import { atMost, type BenchRow, figure, inTemporaryFolder, interleaved } from "./measure.ts";

const TRANSCRIPTS = resolve(import.meta.dir, "../../../shared/transcripts");
const RUNS = 5;
/** The index of the same transcripts without deeds. */
const SIZE_BEFORE = 3_400_000;

/** The bars of indexing deeds; none where the real transcripts are absent. */
export async function rows(): Promise<BenchRow[]> {
  if (!existsSync(TRANSCRIPTS)) return [];
  return await inTemporaryFolder(async (folder) => {
    const database = join(folder, "memory.db");
    const times = await interleaved(
      { parsed: async () => readAndParse(), indexed: () => fullIndex(database, folder) },
      RUNS,
    );
    const detail = `${times.indexed.toFixed(0)} ms / ${times.parsed.toFixed(0)} ms`;
    const store = openStore(database);
    const { page_count, page_size } =
      store.db.prepare("SELECT * FROM pragma_page_count, pragma_page_size").get() ?? {};
    const size = Number(page_count) * Number(page_size);
    const deeds = Number(store.db.prepare("SELECT count(*) AS n FROM deeds").get()?.n);
    store.close();
    return [
      atMost(
        "cold index of real transcripts with deeds / reading and parsing them",
        times.indexed / times.parsed,
        6,
        {
          detail,
        },
      ),
      atMost("index size with deeds / without", size / SIZE_BEFORE, 2, {
        detail: `${(size / 1e6).toFixed(1)} MB`,
      }),
      figure("deeds in it", deeds),
    ];
  });
}

function readAndParse(): number {
  const files = readdirSync(TRANSCRIPTS, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  );
  const started = performance.now();
  for (const name of files) {
    withFile(join(TRANSCRIPTS, name), (descriptor) => {
      for (const { bytes } of linesForward(descriptor)) if (bytes) parseLine(bytes);
    });
  }
  return performance.now() - started;
}

async function fullIndex(database: string, home: string): Promise<number> {
  for (const end of ["", "-wal", "-shm"]) rmSync(database + end, { force: true });
  const paths = resolvePaths({ HOME: home, SESSION_MEMORY_SESSIONS: TRANSCRIPTS });
  const started = performance.now();
  const store = openStore(database);
  const sessions = listSessions(paths, { subagents: true });
  await indexSessions({ store, sessions, settings: settingsWith() });
  store.close();
  return performance.now() - started;
}
