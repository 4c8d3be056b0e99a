/** Entries of a conversation without a transcript: for what works on entries alone. */

import { defaultSettings } from "../../lib/config/config.ts";
import type { CallKind, Entry } from "../../lib/hosts/session.ts";
import type { CompleteJson, JsonRequest } from "../../lib/model/answers.ts";
import {
  type Ledger,
  type LedgerRecord,
  type Observation,
  observationLine,
} from "../../lib/observe/observations.ts";
import type { observe } from "../../lib/observe/observe.ts";
import { redact } from "../../lib/redact/redact.ts";
import type { Random } from "./random.ts";

type ObserveOptions = Parameters<typeof observe>[0];

/** What was said and done, one row each: `["user", "fix it"]`, `["edit", "src/a.ts"]`, `["run", "bun test", "1 fail", true]`. */
export type Turn =
  | readonly ["user" | "assistant" | "summary", string]
  | readonly ["edit" | "read", string]
  | readonly ["run", command: string, output?: string, isError?: boolean];

/** Entries with lines from `from`, one minute apart from 2026-02-12 10:00 UTC. */
export function conversation(turns: readonly Turn[], { from = 2 } = {}): Entry[] {
  const entries: Entry[] = [];
  for (const turn of turns) {
    const line = (entries.at(-1)?.line ?? from - 1) + 1;
    const kind = turn[0];
    if (kind === "user" || kind === "assistant" || kind === "summary")
      entries.push(entry(line, { kind, text: turn[1] }));
    else if (kind === "run") entries.push(...runEntries(line, turn));
    else entries.push(toolEntry(line, { name: kind === "edit" ? "Edit" : "Read", target: turn[1], kind }));
  }
  return entries;
}

/** One entry on a line, redacted as the reader gives it; its time follows from the line. */
export function entry(line: number, fields: Partial<Entry> & Pick<Entry, "kind" | "text">): Entry {
  const at = new Date(Date.UTC(2026, 1, 12, 10, line)).toISOString();
  return {
    line,
    nth: 0,
    offset: line * 100,
    end: line * 100 + 99,
    id: `row${line}`,
    at,
    ...fields,
    text: redact(fields.text),
  };
}

function toolEntry(
  line: number,
  { name, target, kind }: { name: string; target: string; kind: CallKind },
): Entry {
  const tool = { name, target, kind, paths: kind === "command" ? [] : [target] };
  return entry(line, { kind: "tool", text: `${name} ${target}`, tool, callId: `call${line}` });
}

function runEntries(
  line: number,
  [, command, output, isError = false]: Extract<Turn, readonly ["run", ...unknown[]]>,
): Entry[] {
  const call = toolEntry(line, { name: "Bash", target: command, kind: "command" });
  if (output === undefined) return [call];
  return [call, entry(line + 1, { kind: "result", text: output, callId: `call${line}`, isError })];
}

/** Options for `observe` that keep records in `records`, all by rule and at once unless told otherwise. */
export function observing(
  entries: readonly Entry[],
  options: Partial<ObserveOptions> & { records?: LedgerRecord[] } = {},
): ObserveOptions {
  const { records = [], ...rest } = options;
  return {
    entries,
    ledger: records,
    settings: defaultSettings().observe,
    timezone: "UTC",
    append: (record) => void records.push(record),
    when: "all",
    ...rest,
    // A copy, since what is appended goes into `records` too.
    ...(rest.ledger ? {} : { ledger: [...records] }),
  };
}

/** The rendered lines of a ledger's observations without their ids. */
export function linesOf(observations: readonly Observation[]): string[] {
  return observations.map((observation) => observationLine(observation).replace(/ \[\w{6}\]$/, ""));
}

/** All observations that a ledger ever took up. */
export function observationsOf(ledger: Ledger): Observation[] {
  return ledger.flatMap((record) => (record.kind === "dropped" ? [] : record.observations));
}

/** A model that answers from a list, the last answer for ever; an `Error` is thrown. */
export function answering(
  ...answers: readonly unknown[]
): CompleteJson & { requests: JsonRequest<unknown>[] } {
  const requests: JsonRequest<unknown>[] = [];
  const complete: CompleteJson = async (request) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push(request as JsonRequest<unknown>);
    const given = typeof answer === "function" ? answer(request) : answer;
    if (given instanceof Error) throw given;
    const value = request.schema.parse(given);
    return { value, model: "fake-1", usage: { input: 10, output: 5 }, tokens: 15, usd: null };
  };
  return Object.assign(complete, { requests });
}

const WORDS =
  "login test deploy cache retry index schema queue token cursor branch merge border toolbar парсер 検索 größe".split(
    " ",
  );

/** A random turn: what a coding session is made of, in rough proportion. */
export function randomTurn(random: Random): Turn[] {
  const words = (count: number) => Array.from({ length: count }, () => random.pick(WORDS)).join(" ");
  const turns: Turn[] = [
    [
      "user",
      `${random.pick(["please fix", "no, undo", "why does", "always use", "ok", "thanks"])} ${words(random.integer(0, 60))}`,
    ],
  ];
  for (let step = random.integer(0, 5); step > 0; step--) {
    const kind = random.integer(0, 4);
    if (kind === 0) turns.push(["assistant", `We decided to use ${words(random.integer(3, 40))}.`]);
    else if (kind === 1) turns.push(["edit", `src/${random.pick(WORDS)}.ts`]);
    else if (kind === 2) turns.push(["read", `src/${random.pick(WORDS)}.ts`]);
    else
      turns.push([
        "run",
        `bun test ${random.pick(WORDS)}`,
        words(random.integer(1, 400)),
        random.chance(0.3),
      ]);
  }
  turns.push(["assistant", `Done: ${words(random.integer(1, 80))}.`]);
  return turns;
}
