/** A ledger that a host copied into a fork: its line numbers are the old file's, and are found again by row ids. */

import type { Entry } from "../transcripts/session.ts";
import type { Ledger, LedgerRecord, Observation, ObservedRecord } from "./observations.ts";

/**
 * Moves a ledger to the line numbers of the transcript it now lies in. Returns the same ledger when nothing has moved.
 *
 * In a fork the rows up to a record are one unbroken path, so a moved record covers all lines up to its place.
 */
export function relocateLedger(ledger: Ledger, entries: readonly Entry[]): Ledger {
  const lineOf = new Map<string, number>();
  for (const { id, line } of entries) if (id !== undefined && !lineOf.has(id)) lineOf.set(id, line);
  const hasMoved = ledger.some((record) => record.kind === "observed" && isElsewhere(record, lineOf));
  return hasMoved ? ledger.map((record) => relocate(record, lineOf)) : ledger;
}

function isElsewhere({ coversTo, coversToId }: ObservedRecord, lineOf: ReadonlyMap<string, number>): boolean {
  const found = coversToId === undefined ? undefined : lineOf.get(coversToId);
  return found !== undefined && found !== coversTo;
}

function relocate(record: LedgerRecord, lineOf: ReadonlyMap<string, number>): LedgerRecord {
  if (record.kind === "dropped") return record;
  const observations = record.observations.map((observation) => relocateObservation(observation, lineOf));
  if (record.kind === "reflected") return { ...record, observations };
  const coversTo = lineOf.get(record.coversToId ?? "") ?? record.coversTo;
  return { ...record, observations, coversTo, covers: `1-${coversTo}` };
}

function relocateObservation(observation: Observation, lineOf: ReadonlyMap<string, number>): Observation {
  const { sourceIds } = observation;
  if (!sourceIds) return observation;
  const sources = observation.sources.map((line, index) => lineOf.get(sourceIds[index] ?? "") ?? line);
  return { ...observation, sources };
}
