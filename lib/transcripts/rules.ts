/** Applies the `redact` and `exclude` blocks of config.json to every entry that is read. */

import type { Settings } from "../config/config.ts";
import { redactor } from "../redact/redact.ts";
import { type Exclusion, readExclusion } from "./exclusion.ts";
import { defineLazy } from "./lazy.ts";
import type { Entry, ToolCall } from "./session.ts";

export interface Rules extends Exclusion {
  /** Redacts a text: by our rules and by `redact.extra`. */
  clean: (text: string) => string;
}

/** Reads the `redact` and `exclude` blocks of config.json. */
export function readRules({ redact: { extra }, exclude }: Pick<Settings, "redact" | "exclude">): Rules {
  return { ...readExclusion(exclude), clean: redactor(extra) };
}

const known = new WeakMap<object, Rules>();

/** Reads the rules that paths carry, once for each. */
export function rulesOf({ rules }: { rules: Pick<Settings, "redact" | "exclude"> }): Rules {
  const before = known.get(rules);
  if (before) return before;
  const read = readRules(rules);
  known.set(rules, read);
  return read;
}

let own: Rules | undefined;

/** Returns the rules without config.json, for readers that look at times, ids and places only. */
export function ownRules(): Rules {
  own ??= readRules({ redact: { extra: [] }, exclude: { sessions: [], projects: [], patterns: [] } });
  return own;
}

/**
 * Returns a filter for entries in their order, which gives none for an excluded one. An excluded prompt excludes its
 * answer, up to the next prompt.
 */
export function entryFilter({ clean, hasEntry }: Rules): (raw: Entry) => Entry[] {
  let isAnswerExcluded = false;
  return (raw) => {
    const isExcluded = hasEntry(raw);
    if (raw.kind === "user") isAnswerExcluded = isExcluded;
    return isExcluded || isAnswerExcluded ? [] : [cleanEntry(raw, clean)];
  };
}

/** Returns an entry whose texts are redacted when they are first read. */
function cleanEntry(raw: Entry, clean: (text: string) => string): Entry {
  const { line, offset, end, id, kind, at, callId, isError, state, patch, contextTokens } = raw;
  const tool = raw.tool && cleanCall(raw.tool, clean);
  let text: string | undefined;
  const entry: Entry = {
    line,
    offset,
    end,
    id,
    kind,
    get text() {
      text ??= tool ? `${tool.name} ${tool.target}`.trim() : clean(raw.text);
      return text;
    },
    at,
    ...(tool && { tool }),
    callId,
    ...(isError !== undefined && { isError }),
    ...(state && { state }),
    contextTokens,
  };
  return patch === undefined ? entry : defineLazy(entry, "patch", () => clean(patch));
}

function cleanCall(raw: ToolCall, clean: (text: string) => string): ToolCall {
  let target: string | undefined;
  let paths: string[] | undefined;
  const call: ToolCall = {
    name: clean(raw.name),
    get target() {
      target ??= clean(raw.target);
      return target;
    },
    action: raw.action,
    get paths() {
      paths ??= raw.paths.map(cleaned);
      return paths;
    },
  };
  // Paths and the input of short commands are mostly the target itself.
  const cleaned = (text: string) => (text === raw.target ? call.target : clean(text));
  return Object.hasOwn(raw, "input") ? defineLazy(call, "input", () => cleaned(raw.input ?? "")) : call;
}
