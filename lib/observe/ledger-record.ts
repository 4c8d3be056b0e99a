/** A ledger's records as they come back from storage: checked shape by shape, since anyone can write to a file. */

import { arrayOf, isRecord, numberOf, stringOf } from "../base/json.ts";
import type { LedgerRecord, Observation, ObservedRecord, ReflectedRecord } from "./observations.ts";

/** A value read from a ledger as a record; undefined when it is none. */
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
