/**
 * Reflecting on a ledger when it has grown too large: first what belongs together is merged, by the model where there is
 * one (its answer counts only when it is smaller and loses nothing that is open), then what has no room is taken out.
 */

import { describeError, SessionMemoryError } from "../base/errors.ts";
import type { CompleteJson } from "../model/answers.ts";
import {
  foldLedger,
  isOpen,
  type Ledger,
  type LedgerRecord,
  nameDrafts,
  observationTokens,
} from "./observations.ts";
import { type ObserveContext, redactToLine } from "./observe.ts";
import {
  causesOfOpen,
  isReflectionDue,
  mergeByRule,
  reflectByRule,
  reflectionBasis,
} from "./reflect-rules.ts";

export interface ReflectOutcome {
  ledger: Ledger;
  /** Observations that are gone, and what was left. */
  dropped: number;
  tokens: { before: number; after: number };
  by: string;
  /** Why nothing was done, or why the model's answer was not taken. */
  note?: string;
  usd: number | null;
}

const ANSWER_TOKENS_MIN = 3000;
const ANSWER_TOKENS_MAX = 16_000;

/** Reflects when it is due, or with `force`; by rule first, then by the model where there is one. */
export async function reflect(
  context: ObserveContext & { force?: boolean; focus?: string | undefined },
): Promise<ReflectOutcome> {
  const { settings, focus, force = false } = context;
  const ledger = [...context.ledger];
  const memory = foldLedger(ledger);
  const before = observationTokens(memory.observations);
  const nothing = { ledger, dropped: 0, tokens: { before, after: before }, by: "rules", usd: 0 };
  if (memory.observations.length === 0) return { ...nothing, note: "there are no observations" };
  if (memory.reflected?.basis === reflectionBasis(memory.observations, focus)) {
    return { ...nothing, note: "nothing is new since the last reflection" };
  }
  if (!force && !isReflectionDue(memory, settings.reflectorTokens)) {
    return { ...nothing, note: `${before} of ${settings.reflectorTokens} tokens: not due` };
  }
  const put = async (record: LedgerRecord) => {
    await context.append(record);
    ledger.push(record);
  };
  const options = { limit: settings.reflectorTokens, focus };
  const { complete } = context;
  const asksModel = complete !== undefined && (force || before >= settings.reflectorTokens / 2);
  // A model merges what belongs together before anything is taken out for want of room.
  const byRule = asksModel ? mergeByRule(memory, options) : reflectByRule(memory, options);
  await put(byRule);
  const outcome: ReflectOutcome = {
    ...nothing,
    dropped: byRule.dropped.length,
    tokens: { before, after: byRule.tokens },
  };
  if (!asksModel) return outcome;
  const merged = await reflectByModel({ ...context, complete, put }, outcome);
  const capped = reflectByRule(foldLedger(ledger), options);
  if (capped.dropped.length === 0) return merged;
  await put(capped);
  const dropped = merged.dropped + capped.dropped.length;
  return { ...merged, dropped, tokens: { before, after: capped.tokens } };
}

interface ModelReflection extends ObserveContext {
  complete: CompleteJson;
  focus?: string | undefined;
  put: (record: LedgerRecord) => Promise<void>;
}

async function reflectByModel(context: ModelReflection, outcome: ReflectOutcome): Promise<ReflectOutcome> {
  const { complete, signal, focus, put } = context;
  const memory = foldLedger(outcome.ledger);
  const { REFLECTOR_SYSTEM, reflectorAnswer, reflectorPrompt } = await import("./observer-prompts.ts");
  const { acceptReflection } = await import("./observer-answer.ts");
  const open = memory.observations.filter((item) => isOpen(item, memory)).map(({ id }) => id);
  try {
    const answer = await complete({
      feature: "reflect",
      system: REFLECTOR_SYSTEM,
      prompt: context.redact(reflectorPrompt(memory, open, focus)),
      schema: reflectorAnswer,
      maxTokens: Math.min(
        ANSWER_TOKENS_MAX,
        Math.max(ANSWER_TOKENS_MIN, observationTokens(memory.observations)),
      ),
      signal,
    });
    const accepted = acceptReflection(answer.value.observations, {
      memory,
      clean: redactToLine(context),
      protectedItems: causesOfOpen(memory),
    });
    if ("refused" in accepted) {
      return {
        ...outcome,
        usd: answer.usd,
        note: `the model's reflection was not taken: ${accepted.refused}`,
      };
    }
    const observations = nameDrafts(accepted.drafts, { taken: memory.history, timezone: context.timezone });
    const gone = new Set(accepted.dropped);
    const left = [...memory.observations.filter(({ id }) => !gone.has(id)), ...observations];
    const tokens = observationTokens(left);
    const record: LedgerRecord = {
      kind: "reflected",
      observations,
      dropped: accepted.dropped,
      // In the order that folding gives, which is the order the next basis is made of.
      basis: "",
      tokens,
      by: answer.model,
      ...(focus ? { focus } : {}),
    };
    record.basis = reflectionBasis(foldLedger([...outcome.ledger, record]).observations, focus);
    await put(record);
    const dropped = outcome.dropped + accepted.dropped.length;
    return {
      ...outcome,
      dropped,
      tokens: { ...outcome.tokens, after: tokens },
      by: answer.model,
      usd: answer.usd,
    };
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    return { ...outcome, note: `the model's reflection failed: ${describeError(error)}` };
  }
}
