/**
 * Removes secrets and control characters from any text that leaves a transcript.
 * Secrets become `[redacted:<kind>]`; redacting twice changes nothing more.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { truncate } from "../base/text.ts";
import { removeControls } from "./controls.ts";
import { replaceSecrets } from "./secrets.ts";

/** Raised with every change of the rules that redacts more: what was stored before is redacted again. */
export const REDACTION_VERSION = 3;

/** Returns the version of our rules and, by its hash, that of the user's own: what was stored under another is redacted again. */
export function redactionVersion(extra: readonly string[]): string {
  if (extra.length === 0) return String(REDACTION_VERSION);
  return `${REDACTION_VERSION} ${sha256().update(JSON.stringify(extra)).digest("hex").slice(0, 16)}`;
}

const MARKER = /\[redacted:[a-z0-9-]+\]/g;
/** A replacement can reveal another secret (its neighbour was a letter); no text seen needs more rounds. */
const ROUNDS_MAX = 4;

/** Replaces secrets and removes control characters; newline and tab stay. */
export function redact(text: string, extra: readonly RegExp[] = []): string {
  let result = removeControls(text);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = result;
    result = replaceSecrets(result, mark);
    if (result === before) break;
  }
  for (const pattern of extra) result = replaceOutsideMarkers(result, pattern);
  return result;
}

/** Counts the secrets replaced in a redacted text. */
export function countRedactions(text: string): number {
  return text.includes("[redacted:") ? (text.match(MARKER)?.length ?? 0) : 0;
}

/**
 * Compiles the user's own patterns for `redact`.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` for one that is no regular expression.
 */
export function compilePatterns(extra: readonly string[]): RegExp[] {
  return extra.map((source) => {
    try {
      return new RegExp(source, "gu");
    } catch (cause) {
      throw new SessionMemoryError(
        "CONFIG_INVALID",
        `Cannot use pattern "${source}": it is no regular expression`,
        {
          hint: "correct redact.extra in config.json",
          cause,
        },
      );
    }
  });
}

/**
 * Returns a function that redacts by our rules and the user's own patterns.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` for a pattern that is no regular expression.
 */
export function redactor(extra: readonly string[]): (text: string) => string {
  const patterns = compilePatterns(extra);
  return (text) => redact(text, patterns);
}

/**
 * Puts a redacted text on one line of at most `max` code points: white space folded, and nothing in it that could be taken
 * for structure of the block it is put into (tags, our own headers, list marks, code fences).
 */
export function oneLine(text: string, max: number): string {
  const folded = text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(?:[-*+!>#|]{1,6} )+/, "")
    .replace(/`{3,}/g, "`")
    .replace(/<(?=[A-Za-z/!?])/g, "‹")
    .replace(/\[(?=(?:Session|Participants|Topics|Context|Compacted)\b)([^\]]{0,200})\]?/g, "($1)");
  return truncate(folded, max);
}

function mark(kind: string): string {
  return `[redacted:${kind}]`;
}

function replaceOutsideMarkers(text: string, pattern: RegExp): string {
  let result = "";
  let done = 0;
  const replace = (part: string) => part.replace(pattern, (match) => (match === "" ? "" : mark("custom")));
  for (const marker of text.matchAll(MARKER)) {
    result += replace(text.slice(done, marker.index)) + marker[0];
    done = marker.index + marker[0].length;
  }
  return result + replace(text.slice(done));
}
