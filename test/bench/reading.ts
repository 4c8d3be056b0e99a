/** What reading transcripts costs: against the bare minimum, and as the file grows. */

import { statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, INDEX_VERSION } from "../../lib/config/config.ts";
import { hashBefore, readFully, withFile } from "../../lib/hosts/lines.ts";
import { openStore } from "../../lib/store/store.ts";
import { countLines } from "../../lib/transcripts/cursor.ts";
import { ROOT, scriptPath } from "../support/run.ts";
import { writeTranscript } from "./corpus.ts";
import {
  atMost,
  type BenchRow,
  bun,
  emptyScript,
  figure,
  inTemporaryFolder,
  interleaved,
  median,
  peakMemory,
  timeProcess,
  times,
} from "./measure.ts";

const MIB = 1024 * 1024;

export async function rows(): Promise<BenchRow[]> {
  return await inTemporaryFolder(async (folder) => [...(await whole(folder)), ...(await tail(folder))]);
}

/** All entries of a file, against read, split and JSON.parse and nothing else. */
async function whole(folder: string): Promise<BenchRow[]> {
  const file = join(folder, "100.jsonl");
  const large = join(folder, "400.jsonl");
  writeTranscript(file, 100 * MIB);
  writeTranscript(large, 400 * MIB);
  const bare = join(folder, "bare.ts");
  writeFileSync(bare, BARE);
  const entries = join(folder, "entries.ts");
  writeFileSync(entries, ENTRIES);
  const run = async (script: string) => (await timeProcess(bun(script, file))).ms;
  const medians = await interleaved({ entries: () => run(entries), bare: () => run(bare) }, 5);
  const small = median(await peaks(bun(entries, file)));
  const grown = median(await peaks(bun(entries, large)));
  truncateSync(large);
  return [
    atMost("read 100 MB into entries / bare read-split-parse", medians.entries / medians.bare, 1.3, {
      detail: times(medians.entries, medians.bare),
    }),
    atMost("peak memory reading 400 MB / 100 MB", grown / small, 1.1, {
      detail: `${grown.toFixed(0)} MiB / ${small.toFixed(0)} MiB`,
    }),
  ];
}

/** The last 50 entries of a 1 GB file, against those of a 1 MB one. */
async function tail(folder: string): Promise<BenchRow[]> {
  const small = join(folder, "small.jsonl");
  const large = join(folder, "large.jsonl");
  writeTranscript(small, MIB);
  writeTranscript(large, 1024 * MIB);
  const env = { PATH: process.env.PATH, HOME: folder };
  const command = (path: string, ...flags: string[]) =>
    bun(scriptPath("session-reader"), path, "--lines", "50", "--quiet", ...flags);
  const read = async (path: string, ...flags: string[]) => {
    const { ms, stdout } = await timeProcess(command(path, ...flags), { env });
    if (stdout.split("\n").length < 50) throw new Error("Expected 50 entries");
    return ms;
  };
  const indexedEnv = { ...env, SESSION_MEMORY_HOME: join(folder, "indexed") };
  knowLine(join(folder, "indexed", `index-${INDEX_VERSION}.db`), large);
  const indexed = async () => (await timeProcess(command(large), { env: indexedEnv })).ms;
  const medians = await interleaved({ large: indexed, small: () => read(small) }, 21);
  const empty = emptyScript(folder);
  const reading = join(folder, "read.ts");
  writeFileSync(reading, READ);
  const counting = await interleaved(
    {
      text: () => read(large),
      json: () => read(large, "--json"),
      line: () => read(large, "--line", "100000", "--around", "60"),
      read: async () => (await timeProcess(bun(reading, large), { env })).ms,
      empty: async () => (await timeProcess(bun(empty), { env })).ms,
    },
    7,
  );
  const perGb = (ms: number) => (ms - medians.small) / counting.empty;
  const size = `${(statSync(large).size / MIB / 1024).toFixed(1)} GB`;
  return [
    atMost(
      "session-reader --lines 50, a line known to the index: 1 GB / 1 MB",
      medians.large / medians.small,
      1.3,
      {
        detail: times(medians.large, medians.small),
      },
    ),
    ...(["text", "json", "line"] as const).map((what) =>
      atMost(`session-reader counting lines, ${what}: (1 GB - 1 MB) / empty Bun`, perGb(counting[what]), 30, {
        detail: times(counting[what] - medians.small, counting.empty),
      }),
    ),
    figure("  1 GB read and dropped / empty Bun", counting.read / counting.empty, {
      unit: "x",
      detail: times(counting.read, counting.empty),
    }),
    atMost(`peak memory of session-reader on ${size}`, median(await peaks(command(large), env)), 100, {
      unit: "MiB",
    }),
  ];
}

/** An index that has read the file up to its last megabyte. */
function knowLine(database: string, file: string): void {
  const offset = withFile(file, (descriptor, size) => {
    const at = size - MIB;
    return at + readFully(descriptor, at, MIB).indexOf(10) + 1;
  });
  const line = withFile(file, (descriptor) => countLines(descriptor, 0, offset));
  const store = openStore(database);
  store.db
    .prepare(
      `INSERT INTO index_state (session_id, file_path, file_hash, last_indexed, status, size, modified, cursor_offset,
         cursor_line) VALUES ('large', ?, ?, '', 'partial', -1, '', ?, ?)`,
    )
    .run(file, hashBefore(file, offset), offset, line);
  store.close();
}

async function peaks(command: string[], env?: Environment): Promise<number[]> {
  const run = () => peakMemory(command, env ? { env } : {});
  return [await run(), await run(), await run()];
}

const BARE = `\
import { readFileSync } from "node:fs";
let rows = 0;
for (const line of readFileSync(process.argv[2], "utf8").split("\\n")) {
  if (line !== "" && JSON.parse(line)) rows++;
}
console.log(rows);
`;

/** The floor under whatever counts lines. */
const READ = `\
import { openSync, readSync } from "node:fs";
const descriptor = openSync(process.argv[2], "r");
const block = Buffer.allocUnsafe(1 << 20);
while (readSync(descriptor, block, 0, block.length, null) > 0);
`;

const ENTRIES = `\
import { ownRules } from ${JSON.stringify(join(ROOT, "lib/transcripts/rules.ts"))};
import { readEntries } from ${JSON.stringify(join(ROOT, "lib/transcripts/transcript.ts"))};
let entries = 0;
for (const entry of readEntries(process.argv[2], { rules: ownRules() })) if (entry) entries++;
console.log(entries);
`;
