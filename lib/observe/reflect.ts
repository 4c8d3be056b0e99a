/**
 * Reflects on a ledger that has grown too large: rules drop what a later observation supersedes, a model, if there is one,
 * merges what belongs together (its answer counts only if it is smaller and loses nothing open), and rules drop what has no
 * room.
 *
 * Rules only ever drop, so their result is never larger. They keep every open 🔴, once where it was said again in the same
 * words, and the newest of each priority, so it is never empty; the kept ones keep their order and dates.
 */

import { statesCause } from "../language/speech.ts";
import type { CompleteJson } from "../model/answers.ts";
import {
  growing,
  isOpen,
  type Ledger,
  type Memory,
  nameDrafts,
  type Observation,
  observationTokens,
  type Priority,
  type ReflectedRecord,
} from "./observations.ts";
import type { ObserveContext } from "./observe.ts";

export interface ReflectOutcome {
  ledger: Ledger;
  /** Observations that were dropped, and the tokens before and after. */
  dropped: number;
  tokens: { before: number; after: number };
  by: string;
  /** The reason that nothing was done, or that the model's answer was rejected. */
  note?: string;
  usd: number | null;
}

/** Reflects when it is due, or with `force`. */
export async function reflect(
  context: ObserveContext & { force?: boolean; focus?: string | undefined },
): Promise<ReflectOutcome> {
  const { settings, focus, complete } = context;
  const { ledger, memory, put } = growing(context);
  const before = observationTokens(memory.observations);
  const tokens = { before, after: before };
  const outcome: ReflectOutcome = { ledger, dropped: 0, tokens, by: "rules", usd: 0 };
  const note = idleReason(memory, context, before);
  if (note !== undefined) return { ...outcome, note };
  const add = async (record: ReflectedRecord) => {
    await put(record);
    outcome.dropped += record.dropped.length;
    tokens.after = record.tokens;
  };
  const options = { limit: settings.reflectorTokens, focus };
  // A model merges what belongs together before anything is taken out for want of room.
  await add(reflectByRule(memory, { ...options, onlyMerge: complete !== undefined }));
  if (!complete) return outcome;
  const { record, ...answer } = await reflectByModel(memory, { ...context, complete });
  Object.assign(outcome, answer);
  if (record) await add(record);
  const capped = reflectByRule(memory, options);
  if (capped.dropped.length > 0) await add(capped);
  return outcome;
}

/** Returns the reason for doing nothing; undefined if there is something to do. */
function idleReason(
  memory: Memory,
  { ledger, settings, focus, force = false }: Parameters<typeof reflect>[0],
  tokens: number,
): string | undefined {
  if (memory.observations.length === 0) return "there are no observations";
  const last = ledger.at(-1);
  if (last?.kind === "reflected" && last.focus === focus) return "nothing is new since the last reflection";
  const isDue = force || isReflectionDue(memory, settings.reflectorTokens);
  return isDue ? undefined : `${tokens} of ${settings.reflectorTokens} tokens: not due`;
}

/** Asks a model to merge; returns the record of its answer, unless that is refused, and the facts of the outcome. */
async function reflectByModel(
  memory: Memory,
  { timezone, ...context }: ObserveContext & { complete: CompleteJson; focus?: string | undefined },
): Promise<Pick<ReflectOutcome, "usd"> & Partial<ReflectOutcome> & { record?: ReflectedRecord }> {
  const { askReflector } = await import("./observer.ts");
  const { usd, ...answer } = await askReflector({ ...context, memory });
  if ("refused" in answer) {
    const what = answer.error ? "failed" : "was not taken";
    return { usd, note: `the model's reflection ${what}: ${answer.refused}` };
  }
  const { by, taken } = answer;
  const observations = nameDrafts(taken.drafts, memory, timezone);
  return { usd, by, record: reflected(memory, { ...taken, ...context, observations, by }) };
}

/** Share of the limit that each priority may fill: together less than half, so that the next reflection is far off. */
const SHARES: Record<Priority, number> = { red: 0.2, yellow: 0.2, green: 0.05 };
/** After a reflection that could not get below the limit, the next one waits for this growth. */
const GROWTH = 1.1;

interface ReflectOptions {
  /** Tokens of observations at which reflection is due. */
  limit: number;
  /** Words whose observations are kept. */
  focus?: string | undefined;
  /** True when a model condenses the rest, so that nothing is dropped for want of room. @default {false} */
  onlyMerge?: boolean;
}

/** Returns whether reflection is due and would not only repeat one that achieved nothing. */
export function isReflectionDue(memory: Memory, limit: number): boolean {
  const tokens = observationTokens(memory.observations);
  if (tokens < limit) return false;
  if (memory.reflectedTokens === undefined) return true;
  return memory.reflectedTokens < limit || tokens >= memory.reflectedTokens * GROWTH;
}

/** Reflects by rule: merges, then caps. A record that drops nothing is to be kept too: it says that this was tried. */
function reflectByRule(memory: Memory, options: ReflectOptions): ReflectedRecord {
  const dropped = repeated(memory);
  for (const priority of options.onlyMerge ? [] : (["green", "yellow", "red"] as const)) {
    dropExcess(memory, { dropped, priority, ...options });
  }
  return reflected(memory, { ...options, dropped: [...dropped].map(({ id }) => id) });
}

/** Returns the observations that a later one says again, or gives a newer state of; an open one only if that is open too. */
function repeated(memory: Memory): Set<Observation> {
  const seen = new Set<string>();
  const repeats = memory.observations.toReversed().filter((item) => {
    const { priority, text, subject, thread = false, rule = false } = item;
    const words = `${priority} ${text.toLowerCase().replace(/\s+/g, " ")}`;
    const keys = subject === undefined ? [words] : [words, `state of ${subject}`];
    const open = isOpen(item, memory) ? [`open ${thread} ${rule} ${words}`] : [];
    const isSeen = (open.length > 0 ? open : keys).some((key) => seen.has(key));
    for (const key of [...keys, ...open]) seen.add(key);
    return isSeen;
  });
  return new Set(repeats.reverse());
}

type Outcome = { [K in keyof ReflectedRecord]?: ReflectedRecord[K] | undefined };

function reflected(
  memory: Memory,
  { dropped = [], focus, observations = [], by = "rules" }: Outcome,
): ReflectedRecord {
  const gone = new Set(dropped);
  const left = [...memory.observations.filter(({ id }) => !gone.has(id)), ...observations];
  const tokens = observationTokens(left);
  return { kind: "reflected", observations, dropped, tokens, by, ...(focus ? { focus } : {}) };
}

/** Returns whether an observation names a cause or a failure, which the files cannot show again. */
function isCause({ priority, text }: Observation): boolean {
  return priority === "yellow" && (statesCause(text) || text.includes(" failed: "));
}

/** Drops the oldest of a priority beyond its share; causes go after other observations, and the ones that the focus names last. */
function dropExcess(
  memory: Memory,
  { dropped, priority, limit, focus }: ReflectOptions & { dropped: Set<Observation>; priority: Priority },
): void {
  const words = (focus ?? "").toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  const isFocused = ({ text }: Observation) => words.some((word) => text.toLowerCase().includes(word));
  const rank = (item: Observation) => (isFocused(item) ? 0 : isCause(item) ? 1 : 2);
  const mayGo = (item: Observation) =>
    item.priority === priority && !dropped.has(item) && !isOpen(item, memory);
  const candidates = memory.observations.filter(mayGo);
  const ordered = candidates.toReversed().toSorted((a, b) => rank(a) - rank(b));
  let room = limit * SHARES[priority];
  for (const [index, observation] of ordered.entries()) {
    room -= observationTokens([observation]);
    if (room < 0 && index > 0) dropped.add(observation);
  }
}
