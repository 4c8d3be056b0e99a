/**
 * A ledger's records as they come back from storage: checked shape by shape, since anyone can write to a file; moved to
 * the lines of a fork; and without what config.json redacts by now.
 */

import { arrayOf, isRecord, numberOf, stringOf } from "../base/json.ts";
import { redactor } from "../redact/redact.ts";
import type { Entry } from "../transcripts/session.ts";
import type { Ledger, LedgerRecord, Observation, ObservedRecord, ReflectedRecord } from "./observations.ts";

/** Returns a value read from a ledger as a record; undefined when it is none. */
export function parseLedgerRecord(value: unknown): LedgerRecord | undefined {
  if (!isRecord(value)) return undefined;
  if (value.kind === "dropped") {
    const ids = value.ids === "all" ? "all" : strings(value.ids);
    return { kind: "dropped", ids, reason: stringOf(value.reason) ?? "" };
  }
  const observations = arrayOf(value.observations).flatMap((item) => parseObservation(item) ?? []);
  const by = stringOf(value.by) ?? "";
  if (value.kind === "reflected") {
    const focus = stringOf(value.focus);
    const basis = stringOf(value.basis) ?? "";
    const tokens = numberOf(value.tokens) ?? 0;
    const record: ReflectedRecord = {
      kind: "reflected",
      observations,
      dropped: strings(value.dropped),
      basis,
      tokens,
      by,
    };
    return focus ? { ...record, focus } : record;
  }
  if (value.kind !== "observed") return undefined;
  const coversTo = numberOf(value.coversTo);
  if (coversTo === undefined) return undefined;
  const coversToId = stringOf(value.coversToId);
  const record: ObservedRecord = {
    kind: "observed",
    observations,
    coversTo,
    ...(coversToId ? { coversToId } : {}),
    covers: stringOf(value.covers) ?? "",
    by,
  };
  if (Array.isArray(value.closes)) record.closes = strings(value.closes);
  if (isRecord(value.files))
    record.files = { read: strings(value.files.read), modified: strings(value.files.modified) };
  const left = numberOf(value.left);
  if (left) record.left = left;
  return record;
}

function parseObservation(value: unknown): Observation | undefined {
  if (!isRecord(value)) return undefined;
  const id = stringOf(value.id);
  const text = stringOf(value.text);
  const { priority } = value;
  if (!id || !text || (priority !== "red" && priority !== "yellow" && priority !== "green")) return undefined;
  const sources = arrayOf(value.sources).filter((line) => typeof line === "number");
  const observation: Observation = { id, at: stringOf(value.at) ?? null, priority, text, sources };
  const local = stringOf(value.local);
  const subject = stringOf(value.subject);
  if (local) observation.local = local;
  if (Array.isArray(value.sourceIds)) observation.sourceIds = strings(value.sourceIds);
  if (value.thread === true) observation.thread = true;
  if (value.rule === true) observation.rule = true;
  if (subject) observation.subject = subject;
  return observation;
}

function strings(value: unknown): string[] {
  return arrayOf(value).filter((item) => typeof item === "string");
}

/**
 * Moves a ledger to the line numbers of the transcript it is now in. Returns the same ledger when nothing has moved.
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

/** Returns a ledger redacted by the rules of today, which may be newer than what was noted. */
export function redactLedger(ledger: Ledger, extra: readonly string[]): Ledger {
  const clean = redactor(extra);
  return ledger.map((record): LedgerRecord => {
    if (record.kind === "dropped") return record;
    const observations = record.observations.map((item) => ({ ...item, text: clean(item.text) }));
    if (record.kind === "reflected" || !record.files) return { ...record, observations };
    const { read, modified } = record.files;
    return { ...record, observations, files: { read: read.map(clean), modified: modified.map(clean) } };
  });
}
