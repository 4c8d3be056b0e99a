/**
 * What a model's answer must be to be taken: from the given lines or ids, with no date of its own, not empty, not
 * repeating itself, not longer than its source. An answer that is not becomes a reason, never a record.
 */

import { estimateTokens } from "../language/tokens.ts";
import {
  DONE,
  type Draft,
  isOpen,
  type Memory,
  type Observation,
  observationTokens,
  type Priority,
} from "./observations.ts";
import type { Step } from "./observe-step.ts";

/** One observation is a line, not an essay. */
const TEXT_CHARS_MAX = 700;
/** An answer may be this share of its step; a short step may be said again in full. */
const ANSWER_SHARE = 0.5;
const ANSWER_TOKENS_MIN = 800;
/** Fewer different word groups than this share, in a long enough answer: the model ran in circles. */
const DISTINCT_SHARE_MIN = 0.5;
const DISTINCT_WORDS_MIN = 60;
const GROUP_WORDS = 4;
const REPEATS_MAX = 2;
const SOURCES_MAX = 20;

interface OfferedObservation {
  priority: Priority;
  text: string;
  sources: number[];
}

interface OfferedReflection {
  ids: string[];
  priority: Priority;
  text: string;
}

interface AcceptOptions {
  step: Step;
  memory: Memory;
  clean: (text: string) => string;
}

interface Accepted {
  drafts: Draft[];
  /** Ids of earlier requests that the answer says are done. */
  closes: string[];
  /** Those of `drafts` that are requests settled in the same step. */
  settled: Set<Draft>;
  /** Observations that were offered and not taken. */
  left: number;
}

/** Judges an observer's answer. */
export function acceptObservations(
  offered: readonly OfferedObservation[],
  { step, memory, clean }: AcceptOptions,
): Accepted | { refused: string } {
  if (offered.length === 0 && hasWords(step)) return { refused: "it observed nothing" };
  const texts = offered.map(({ text }) => clean(text));
  const wrong = textFault(texts, Math.max(ANSWER_TOKENS_MIN, step.tokens * ANSWER_SHARE));
  if (wrong) return { refused: wrong };
  const dates = datesIn(step.text);
  for (const { at } of step.entries) if (at) dates.add(at.slice(0, 10));
  const drafts: Draft[] = [];
  for (const [index, { priority, sources }] of offered.entries()) {
    const text = texts[index] ?? "";
    const cited = [...new Set(sources)].filter((line) => step.lines.has(line)).toSorted((a, b) => a - b);
    const isGrounded = cited.length > 0 && [...datesIn(text)].every((date) => dates.has(date));
    if (text === "" || text.length > TEXT_CHARS_MAX || !isGrounded) continue;
    drafts.push(draftOf({ priority, text, sources: cited.slice(0, SOURCES_MAX) }, step));
  }
  const left = offered.length - drafts.length;
  if (left > drafts.length)
    return { refused: `${left} of ${offered.length} observations cite no given line` };
  drafts.sort((a, b) => (a.sources[0] ?? 0) - (b.sources[0] ?? 0));
  return { drafts, left, ...settledBy(drafts, memory) };
}

/** Judges a reflector's answer: which observations it drops, and what it merged them into. */
export function acceptReflection(
  offered: readonly OfferedReflection[],
  {
    memory,
    clean,
    protectedItems = new Set(),
  }: {
    memory: Memory;
    clean: (text: string) => string;
    /** Kept word for word whether the answer names them or not. */
    protectedItems?: ReadonlySet<Observation>;
  },
): { drafts: Draft[]; dropped: string[] } | { refused: string } {
  const live = new Map(memory.observations.map((observation) => [observation.id, observation]));
  if (offered.length === 0) return { refused: "it kept nothing" };
  const texts = offered.map(({ text }) => clean(text));
  const before = observationTokens(memory.observations);
  const wrong = textFault(texts, before);
  if (wrong) return { refused: wrong };
  const named = new Set(offered.flatMap(({ ids }) => ids));
  const unknown = [...named].filter((id) => !live.has(id));
  if (unknown.length > 0) return { refused: `it invented the id ${unknown[0]}` };
  const lost = memory.observations.filter((item) => isOpen(item, memory) && !named.has(item.id));
  if (lost.length > 0) return { refused: `it dropped ${lost.length} open 🔴, the first is ${lost[0]?.id}` };
  const kept = new Set<Observation>(protectedItems);
  const drafts: Draft[] = [];
  for (const [index, { ids, priority }] of offered.entries()) {
    const merged = [...new Set(ids)].flatMap((id) => live.get(id) ?? []);
    const text = texts[index] ?? "";
    const given = datesIn(merged.map((item) => `${item.text} ${item.local ?? ""}`).join(" "));
    if ([...datesIn(text)].some((date) => !given.has(date))) return { refused: "it invented a date" };
    // What is open stays word for word, and so does what was not merged with anything.
    const stays =
      merged.length <= 1 ||
      text === "" ||
      merged.some((item) => isOpen(item, memory) || protectedItems.has(item));
    if (stays) for (const item of merged) kept.add(item);
    else drafts.push(mergedDraft(merged, { priority, text }));
  }
  const dropped = memory.observations.filter((item) => !kept.has(item)).map(({ id }) => id);
  const after =
    observationTokens([...kept]) + drafts.reduce((sum, { text }) => sum + estimateTokens(text) + 16, 0);
  if (after >= before) return { refused: "it is no smaller" };
  return { drafts, dropped };
}

function hasWords({ entries }: Step): boolean {
  return entries.some(({ kind }) => kind === "user" || kind === "assistant");
}

/** Returns what is wrong with an answer's texts as a whole. */
function textFault(texts: readonly string[], maxTokens: number): string | undefined {
  const all = texts.join("\n");
  if (estimateTokens(all) > maxTokens) return "it is too long for its source";
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text.toLowerCase(), (counts.get(text.toLowerCase()) ?? 0) + 1);
  if ([...counts.values()].some((count) => count > REPEATS_MAX)) return "it repeats itself";
  return isCircular(all) ? "it runs in circles" : undefined;
}

function isCircular(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length < DISTINCT_WORDS_MIN) return false;
  const groups = new Set<string>();
  for (let at = 0; at + GROUP_WORDS <= words.length; at++)
    groups.add(words.slice(at, at + GROUP_WORDS).join(" "));
  return groups.size < (words.length - GROUP_WORDS + 1) * DISTINCT_SHARE_MIN;
}

/** Calendar dates written with digits. */
function datesIn(text: string): Set<string> {
  return new Set(text.match(/\b\d{4}-\d{2}-\d{2}\b/g) ?? []);
}

function draftOf({ priority, text, sources }: OfferedObservation, { entries }: Step): Draft {
  const cited = entries.filter(({ line }) => sources.includes(line));
  const at = cited.find((entry) => entry.at)?.at ?? entries.find((entry) => entry.at)?.at ?? null;
  const draft: Draft = { at, priority, text, sources };
  const isSaid = cited.some(({ kind }) => kind === "user");
  return priority === "red" && isSaid && /^Request:/i.test(text) ? { ...draft, thread: true } : draft;
}

/** Closes the requests that a ✅ names by id, and those of its own step that cite a line it cites. */
function settledBy(drafts: readonly Draft[], memory: Memory): Pick<Accepted, "closes" | "settled"> {
  const done = drafts.filter(({ text }) => text.startsWith(DONE));
  const ids = done.flatMap(({ text }) => [...text.matchAll(/\[(\w{6})\]/g)].map((match) => match[1] ?? ""));
  const threads = new Set(memory.observations.filter(({ thread }) => thread).map(({ id }) => id));
  const lines = new Set(done.flatMap(({ sources }) => sources));
  const settled = drafts.filter(({ thread, sources }) => thread && sources.some((line) => lines.has(line)));
  return { closes: [...new Set(ids)].filter((id) => threads.has(id)), settled: new Set(settled) };
}

function mergedDraft(
  merged: readonly Observation[],
  { priority, text }: { priority: Priority; text: string },
): Draft {
  const latest = merged.toSorted((a, b) => (a.at ?? "").localeCompare(b.at ?? "")).at(-1);
  const sources = [...new Set(merged.flatMap((item) => item.sources))].toSorted((a, b) => a - b);
  return { at: latest?.at ?? null, priority, text, sources: sources.slice(0, SOURCES_MAX) };
}
