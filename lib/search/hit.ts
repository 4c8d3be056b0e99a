/** Search results: the shape of a hit, as `--json` prints it and as text is made from it. */

import type { SessionRow } from "../index/index-state.ts";
import type { Nearest } from "./nearest.ts";
import type { Passage } from "./passages.ts";
import type { RetrievalOptions } from "./retrieval.ts";

/** A row of a hit that answers. */
export interface HitLine {
  line: number;
  who: "user" | "assistant" | "tool";
  /** A tool call's name, target and outcome. */
  tool?: string;
  /** True if the user took it back. */
  rewound?: true;
  text: string;
}

/** One result, as `--json` prints it. */
export interface Hit {
  session_id: string;
  name: string | null;
  agent: string;
  /** Name of the project's folder. */
  project: string | null;
  timestamp: string;
  topics: string[];
  speakers: string[];
  has_decision: boolean;
  has_action: boolean;
  /** The part of the question that it holds, 0 to 1, on the same scale in every index. */
  relevance_score: number;
  strength: "strong" | "weak";
  lines: HitLine[];
  /** Other places of the session where it is spoken of, best first. */
  also: [from: number, to: number][];
  content: string;
  /** The subject of the exchange, in one sentence. */
  context: string;
  /** Exchanges before and after. */
  before: string[];
  after: string[];
  /** Sessions that hold a copy. */
  also_in: string[];
  /** The owner who shares it, and the machine it comes from. */
  from?: { owner: string; machine: string };
  file: string;
  first_line: number;
  last_line: number;
  source_gone: boolean;
  explain?: Explanation;
}

/** A hit with what is printed of it beside its JSON. */
export interface FoundHit {
  hit: Hit;
  /** The beginning of its session's id that is unique. */
  shortId: string;
  /** Names of the sessions that hold a copy. */
  copies: string[];
  /** The row that says most, where rows were chosen. */
  best?: HitLine | undefined;
  /** What its session says of it later, where no hit shows it. */
  later?: HitLine | undefined;
  passage: Passage;
}

export interface HitOptions extends RetrievalOptions {
  /** Chunks by meaning, for each phrasing best first. */
  nearest?: readonly (readonly Nearest[])[] | undefined;
  /** Redacts what was stored under older rules. */
  clean: (text: string) => string;
  /** Returns the current name of a session. */
  nameOf: (session: SessionRow) => string | undefined;
  /** Returns the machine whose transcript of the session is synced to this one. @default none */
  machineOf?: ((session: SessionRow) => string | undefined) | undefined;
  /** Code points that the rows of all hits may take together with their heads. */
  maxChars: number;
  /** True if each hit is shown on one line. @default {false} */
  isBrief?: boolean | undefined;
  /** True if whole exchanges are shown, not the rows that answer. @default {false} */
  isWhole?: boolean | undefined;
  /** Exchanges wanted before and after. */
  around: number;
  explain: boolean;
}

/** The origin of a score. */
export interface Explanation {
  /** Position in each phrasing's list, from 1; null: not among its first hundred. */
  ranks: (number | null)[];
  /** Position by meaning, where vectors were asked. */
  nearest: (number | null)[];
  /** For each phrasing: the part of it that occurs in the chunk itself, 0 to 1. */
  coverage: number[];
  /** True if the times a phrasing names fit. */
  timely: boolean;
}
