/** The questions on the committed transcripts, which every machine has. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

interface OwnQuestion {
  phrasings: string[];
  /** The id of the session that answers, and words of the answer; both absent where it was never discussed. */
  session?: string;
  holds?: string;
}

export const OWN_QUESTIONS = readFileSync(join(import.meta.dir, "own-questions.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line): OwnQuestion => JSON.parse(line));
