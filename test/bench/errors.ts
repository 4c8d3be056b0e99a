/** `--error` on real transcripts: whether what was done about an error is in the output. */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { plainText } from "../../lib/base/output.ts";
import { shortId } from "../../lib/base/text.ts";
import { resolvePaths } from "../../lib/config/config.ts";
import { errorHistory } from "../../lib/history/errors.ts";
import { printDone } from "../../lib/history/print-done.ts";
import { openStore } from "../../lib/store/store.ts";
import { indexHome } from "../support/index.ts";
import { atLeast, type BenchRow, inTemporaryFolder } from "./measure.ts";

const TRANSCRIPTS = resolve(import.meta.dir, "../../../shared/transcripts");
/** The budget of the command. */
const MAX_CHARS = 2500;
const LIMIT = 5;

/** Errors as an agent would paste them, in other places and with other numbers, and what ended them. */
const ERRORS = readFileSync(join(import.meta.dir, "errors.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line): { error: string; fix: string } => JSON.parse(line));

/** How many of the fixes are shown; nothing where the real transcripts are absent. */
export async function rows(): Promise<BenchRow[]> {
  if (!existsSync(TRANSCRIPTS)) return [];
  return await inTemporaryFolder(async (folder) => {
    const store = openStore(join(folder, "memory.db"));
    const paths = resolvePaths({ HOME: folder, SESSION_MEMORY_SESSIONS: TRANSCRIPTS });
    await indexHome({ paths }, store);
    const style = {
      maxChars: MAX_CHARS,
      nameOf: () => undefined,
      shortId: ({ id }: { id: string }) => shortId(id),
    };
    const missed = ERRORS.filter(({ error, fix }) => {
      const hits = errorHistory(store, error, { cwd: folder, paths }).slice(0, LIMIT);
      return !printDone(hits, style).map(plainText).join("\n").includes(fix);
    });
    store.close();
    const detail = missed.map(({ error }) => error.trim().slice(0, 40)).join("; ");
    return [
      atLeast("errors whose fix --error shows, of 15", ERRORS.length - missed.length, 15, {
        unit: "",
        detail,
      }),
    ];
  });
}
