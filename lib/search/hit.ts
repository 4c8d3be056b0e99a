/** The one result of every kind of search, the style in which it is shown, and its form as JSON. */

import { plainText } from "../base/output.ts";
import { projectName, truncate } from "../base/text.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import type { LineSpan } from "../hosts/session.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { sharedBy } from "../sessions/pulled.ts";
import { leftOf, placeOnDisk } from "../transcripts/files.ts";
import { isSourceGone } from "./corpus.ts";
import { rowParts, type ShownRow } from "./rows.ts";

/** The result of a search in one session: the rows that answer, or that show a deed. Made once, and never changed. */
export interface Hit {
  session: IndexedSession;
  /** The time of the row it was found by. */
  at: string;
  /** In line order. */
  rows: readonly ShownRow[];
  /** The line of the row that says most. @default the first row's */
  lead?: number | undefined;
  /** The lines it spans. */
  from: number;
  to: number;
  /** Other places of the session. */
  also: readonly LineSpan[];
  /** Lines that the user took back and asked anew in what is shown, where none of them is shown. */
  takenBack?: readonly LineSpan[];
  /** The likelihood that it answers, 0 to 1, on the same scale in every index. */
  score: number;
  /** True if its rows are printed, and not the best of them on one line. */
  isOpen: boolean;
  /** Rare words of the question that it does not hold, and other sessions do. */
  without: readonly string[];
  /** The sessions that hold a copy. */
  copies: readonly IndexedSession[];
  /** The deeds in a few words, if these were asked for: `edited 5x, read 2x`. */
  summary?: string;
  /** Ids of other sessions where it was the same. */
  elsewhere?: readonly string[];
  /** The passage it belongs to, if a question was asked. */
  passage?: PassageFacts;
  explain?: Explanation;
}

/** The facts printed about a passage beside its rows. */
export interface PassageFacts {
  topics: string[];
  speakers: string[];
  hasDecision: boolean;
  hasAction: boolean;
  content: string;
  /** The first words of the exchange. */
  subject: string;
  /** Exchanges before and after. */
  before: string[];
  after: string[];
}

/** The evidence by which a hit was found, judged and shown. */
export interface Explanation {
  /** Position in each phrasing's list, from 1; null: not among its first hundred. */
  ranks: (number | null)[];
  /** Words of the question that stand close together in it, by which its strength was judged. */
  together: string[];
  /** The rows' parts that were chosen, in the order of choice: the question's words in each, and its worth. */
  chosen: { line: number; words: string[]; worth: number }[];
}

/**
 * From this score on a hit is `strong`: for 9 of 10 questions with an answer, for 1 of 10 without, in four phrasings. Chosen on
 * real2 and codebench leaving one repository out; .56 finds one question of real2 less.
 */
export const STRONG = 0.54;

/** Returns a hit's score as it is printed. */
export function roundRelevance({ score }: Hit): number {
  return Math.round(1000 * score) / 1000;
}

export function isStrong({ score }: Pick<Hit, "score">): boolean {
  return score >= STRONG;
}

/** The form in which hits are shown. */
export interface HitStyle {
  /** Returns the current name of a session. */
  nameOf: (session: IndexedSession) => string | undefined;
  /** Returns the beginning of a session's id that is unique, and the machine it is synced from. */
  shortId: (session: IndexedSession) => string;
  /** Returns the origin of the repository at a path, where it was noted. @default it is not known */
  originAt?: ((path: string) => string | undefined) | undefined;
  /** IANA name. @default the system's */
  timezone?: string | undefined;
  /** The names of the two speakers, which are never missing words. @default User and Assistant */
  participants?: Participants | undefined;
}

/** Returns the rows of a hit, the one that says most first. */
export function leadFirst({ rows, lead }: Hit): readonly ShownRow[] {
  const first = rows.find(({ line }) => line === lead);
  return first ? [first, ...rows.filter((row) => row !== first)] : rows;
}

const NAME_MAX = 60;

/** Returns the name of a session on one line. */
export function shownName(session: IndexedSession, { nameOf }: HitStyle): string | undefined {
  const name = nameOf(session);
  return name === undefined ? undefined : truncate(name.replace(/\s+/g, " ").trim(), NAME_MAX);
}

/** Returns the name of a session's project. */
export function shownProject({ project, cwd }: IndexedSession, { originAt }: HitStyle): string | undefined {
  const name = projectName(project ?? cwd ?? "", originAt);
  return name === "" ? undefined : name;
}

/** Returns what a hit is about, in one sentence. */
export function describeSubject({ session, passage, summary = "" }: Hit, { nameOf }: HitStyle): string {
  const name = passage && nameOf(session);
  const subject = passage?.subject ?? summary;
  return name === undefined ? subject : `in a discussion about "${name}": ${subject}`;
}

/** The remains of a session whose transcript is gone. */
interface Loss {
  isGone: boolean;
  isArchived: boolean;
  isPromptsAlone: boolean;
}

/** Returns whether a hit's transcript is gone, and whether only the archive holds its session, or only its prompts are left. */
export function readLoss({ session }: Pick<Hit, "session">): Loss {
  if (sharedBy(session)) return { isGone: session.sourceGone, isArchived: false, isPromptsAlone: false };
  const left = leftOf(session.file);
  return {
    isGone: isSourceGone(session),
    isArchived: left === "copy",
    isPromptsAlone: left === "prompts",
  };
}

/** Returns a hit as `--json` prints it. */
export function hitJson(hit: Hit, style: HitStyle) {
  const { session, rows, passage } = hit;
  const shared = sharedBy(session);
  const { isGone, isArchived, isPromptsAlone } = readLoss(hit);
  const speakers = rows.flatMap(({ who }) => (who === "tool" ? [] : [who]));
  const text = rows.map((row) => plainText({ kind: "row", parts: rowParts(row, PARTICIPANTS) })).join("\n");
  return {
    session_id: shared?.id ?? session.id,
    name: shownName(session, style) ?? null,
    agent: session.agent,
    project: shownProject(session, style) ?? null,
    ...(shared && { from: { owner: shared.owner, machine: shared.machine } }),
    file: shared ? session.id : placeOnDisk(session.file),
    source_gone: isGone,
    ...(isArchived && { archived: true as const }),
    ...(isPromptsAlone && { prompts_alone: true as const }),
    timestamp: hit.at,
    topics: passage?.topics ?? [],
    speakers: passage?.speakers ?? [...new Set(speakers)],
    has_decision: passage?.hasDecision ?? false,
    has_action: passage?.hasAction ?? false,
    relevance_score: roundRelevance(hit),
    strength: isStrong(hit) ? ("strong" as const) : ("weak" as const),
    ...(hit.summary !== undefined && { summary: hit.summary }),
    lines: rows.map(({ deed: _, skipped: __, ...row }) => row),
    also: hit.also,
    ...(hit.takenBack && { taken_back: hit.takenBack }),
    content: passage?.content ?? text,
    context: describeSubject(hit, style),
    before: passage?.before ?? [],
    after: passage?.after ?? [],
    also_in: hit.copies.map(({ id }) => id),
    first_line: hit.from,
    last_line: hit.to,
    ...(hit.explain && { explain: hit.explain }),
  };
}
