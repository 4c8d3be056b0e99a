/** The forms of a search: its request, the state that its steps share, and its answer. */

import type { Line } from "../base/output.ts";
import type { Config } from "../config/config.ts";
import type { IndexedSession } from "../index/index-state.ts";
import type { ChunkFilter } from "../search/candidates.ts";
import type { HitStyle, hitJson } from "../search/hit.ts";
import type { SearchFilters } from "../search/search-filters.ts";
import type { Store } from "../store/store.ts";
import type { Verdict } from "./blame.ts";

/** Results and code points of all output, by mode. */
const MODES = {
  // of the 2,500 that are promised at most; the last tenth answers hardly a question
  rows: { limit: 5, maxChars: 2250 },
  brief: { limit: 20, maxChars: 4000 },
  sessions: { limit: 20, maxChars: 4000 },
  full: { limit: 5, maxChars: 10_000 },
};

/** The form of printed hits: their rows, one line each, one line per session, or whole exchanges. */
export type SearchMode = keyof typeof MODES;

export interface SearchRequest {
  /** One question, or several phrasings of it; none where the filters ask for a file, an error or a command. */
  query?: string | string[] | undefined;
  filters?: SearchFilters | undefined;
  /** The form of the printed answer. @default {"rows"} */
  mode?: SearchMode | undefined;
  /** @default {5, or 20 where a result is one line} */
  limit?: number | undefined;
  /** Code points of all output. @default {by mode} */
  maxChars?: number | undefined;
  /** The directory whose project leads among equals. @default the working directory */
  cwd?: string | undefined;
  /** Exchanges before and after each result. @default {0} */
  context?: number | undefined;
  /** @default {0} */
  minScore?: number | undefined;
  /** @default {false} */
  subagents?: boolean | undefined;
  /** True if only own sessions are searched, not shared ones. @default {false} */
  own?: boolean | undefined;
  /** True if results explain their scores. @default {false} */
  explain?: boolean | undefined;
  /** True if each session printed by mode `sessions` has the command that resumes it. @default {false} */
  resume?: boolean | undefined;
}

/** Returns the most results of a search, and the code points of its output. */
export function limitsOf({ limit, maxChars, mode = "rows", context = 0 }: SearchRequest): {
  limit: number;
  maxChars: number;
} {
  const page = MODES[context > 0 ? "full" : mode];
  return { limit: limit ?? MODES[mode].limit, maxChars: maxChars ?? page.maxChars };
}

/** A search as all its steps see it. */
export interface Search {
  store: Store;
  config: Config;
  request: SearchRequest;
  /** The phrasings. */
  texts: string[];
  filter: ChunkFilter;
  style: HitStyle;
  cwd: string;
  /** Returns whether a session may not be shown. */
  isHidden: (session: IndexedSession) => boolean;
  signal: AbortSignal | undefined;
}

/** One result, as `--json` prints it. */
export type HitJson = ReturnType<typeof hitJson>;

export interface Answer {
  lines: Line[];
  /** Best first; empty when nothing is relevant. */
  results: HitJson[];
  /** `on`, or `off: ` and why. */
  semantic: string;
  /** The writers of the lines asked for. */
  blame?: Verdict[] | undefined;
}
