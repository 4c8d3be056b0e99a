/**
 * Reflection by rule: repeats, superseded states and what exceeds its priority's share are taken out.
 *
 * It only ever drops, so the result is never larger; it keeps every open 🔴 and the newest of each priority, so it is
 * never empty; and what is kept keeps its order and dates.
 */

import { createHash } from "node:crypto";
import {
  isOpen,
  type Memory,
  type Observation,
  observationTokens,
  type Priority,
  type ReflectedRecord,
} from "./observations.ts";

/** Share of the limit that each priority may fill: together less than half, so that the next reflection is far off. */
const SHARES: Record<Priority, number> = { red: 0.25, yellow: 0.15, green: 0.05 };
/** After a reflection that could not get below the limit, the next one waits for this growth. */
const GROWTH = 1.1;

export interface ReflectOptions {
  /** Tokens of observations at which reflection is due. */
  limit: number;
  /** Words to keep what speaks of them. */
  focus?: string | undefined;
}

/** Fingerprint of what there is to reflect on. */
export function reflectionBasis(observations: readonly Observation[], focus = ""): string {
  const ids = observations.map(({ id }) => id).join();
  return createHash("sha256").update(`${focus}\n${ids}`).digest("hex").slice(0, 16);
}

/** Whether there is so much that reflection is due, and it would not only repeat one that achieved nothing. */
export function isReflectionDue(memory: Memory, limit: number): boolean {
  const tokens = observationTokens(memory.observations);
  if (tokens < limit) return false;
  if (!memory.reflected) return true;
  if (memory.reflected.basis === reflectionBasis(memory.observations)) return false;
  return memory.reflected.tokens < limit || tokens >= memory.reflected.tokens * GROWTH;
}

/** Reflects by rule. A record that drops nothing is to be kept too: it says that this input was tried. */
export function reflectByRule(memory: Memory, options: ReflectOptions): ReflectedRecord {
  const dropped = new Set<Observation>();
  dropRepeats(memory, dropped);
  dropSuperseded(memory, dropped);
  for (const priority of ["green", "yellow", "red"] as const)
    dropExcess(memory, { dropped, priority, ...options });
  const kept = memory.observations.filter((observation) => !dropped.has(observation));
  const record: ReflectedRecord = {
    kind: "reflected",
    observations: [],
    dropped: [...dropped].map(({ id }) => id),
    basis: reflectionBasis(kept, options.focus),
    tokens: observationTokens(kept),
    by: "rules",
  };
  return options.focus ? { ...record, focus: options.focus } : record;
}

/** The same words again: the last time counts. */
function dropRepeats(memory: Memory, dropped: Set<Observation>): void {
  const seen = new Set<string>();
  for (const observation of memory.observations.toReversed()) {
    const words = `${observation.priority} ${observation.text.toLowerCase().replace(/\s+/g, " ")}`;
    if (seen.has(words) && !isOpen(observation, memory)) dropped.add(observation);
    seen.add(words);
  }
}

/** An earlier state of something that has a later one. */
function dropSuperseded(memory: Memory, dropped: Set<Observation>): void {
  const seen = new Set<string>();
  for (const observation of memory.observations.toReversed()) {
    if (observation.subject === undefined) continue;
    if (seen.has(observation.subject) && !isOpen(observation, memory)) dropped.add(observation);
    seen.add(observation.subject);
  }
}

interface Excess extends ReflectOptions {
  dropped: Set<Observation>;
  priority: Priority;
}

/** The oldest of a priority beyond its share; what the focus names goes last. */
function dropExcess(memory: Memory, { dropped, priority, limit, focus }: Excess): void {
  const words = (focus ?? "").toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  const isFocused = ({ text }: Observation) => words.some((word) => text.toLowerCase().includes(word));
  const candidates = memory.observations.filter(
    (observation) =>
      observation.priority === priority && !dropped.has(observation) && !isOpen(observation, memory),
  );
  const newestFirst = candidates.toReversed();
  const ordered = [
    ...newestFirst.filter(isFocused),
    ...newestFirst.filter((candidate) => !isFocused(candidate)),
  ];
  let room = limit * SHARES[priority];
  for (const [index, observation] of ordered.entries()) {
    room -= observationTokens([observation]);
    if (room < 0 && index > 0) dropped.add(observation);
  }
}
