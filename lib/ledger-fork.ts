/** A ledger that a host copied into a fork: its line numbers are the old file's, and are found again by row ids. */

import type { Ledger, LedgerPlace, LedgerRecord, Observation } from "./observations.ts";
import type { Entry } from "./session.ts";

/**
 * Moves a ledger to the line numbers of the transcript it now lies in. Returns the same ledger when nothing has moved.
 *
 * In a fork the rows up to a record are one unbroken path, so a moved record covers all lines up to its place.
 */
export function relocateLedger(ledger: Ledger, entries: readonly Entry[]): Ledger {
  const lineOf = new Map<string, number>();
  for (const { id, line } of entries) if (id !== undefined && !lineOf.has(id)) lineOf.set(id, line);
  const hasMoved = ledger.some(
    (record) => record.kind === "observed" && isElsewhere(record.coversTo, lineOf),
  );
  return hasMoved ? ledger.map((record) => relocate(record, lineOf)) : ledger;
}

function isElsewhere({ id, line }: LedgerPlace, lineOf: ReadonlyMap<string, number>): boolean {
  const found = id === undefined ? undefined : lineOf.get(id);
  return found !== undefined && found !== line;
}

function relocate(record: LedgerRecord, lineOf: ReadonlyMap<string, number>): LedgerRecord {
  if (record.kind === "dropped") return record;
  const observations = record.observations.map((observation) => relocateObservation(observation, lineOf));
  if (record.kind === "reflected") return { ...record, observations };
  const line = (record.coversTo.id && lineOf.get(record.coversTo.id)) || record.coversTo.line;
  return { ...record, observations, coversTo: { ...record.coversTo, line }, covers: `1-${line}` };
}

function relocateObservation(observation: Observation, lineOf: ReadonlyMap<string, number>): Observation {
  const { sourceIds } = observation;
  if (!sourceIds) return observation;
  const sources = observation.sources.map((line, index) => lineOf.get(sourceIds[index] ?? "") ?? line);
  return { ...observation, sources };
}
