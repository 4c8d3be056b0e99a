/**
 * Removes secrets and control characters from any text that leaves a transcript.
 * Secrets become `[redacted:<kind>]`; redacting twice changes nothing more.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { mapTexts } from "../base/json.ts";
import { isHarmless, SUSPECT, scan } from "./formats.ts";
import { replaceSecrets } from "./secrets.ts";

/** Raised with every change of the rules that redacts more; texts stored before are redacted again. */
export const REDACTION_VERSION = 10;

const MARKER = /\[redacted:[a-z0-9-]+\]/g;
/** A replacement can reveal another secret (its neighbour was a letter); no text seen needs more rounds. */
const ROUNDS_MAX = 4;
/** The most of harmless texts that is remembered: the rows before and behind one. */
const REMEMBERED_CHARS = 256 * 1024;

/** Is called with each value that its place or its form gave away, and its kind. */
export type Taken = (value: string, kind: string) => void;
/** Redacts a text, or every text of a value; the names of its fields stay. */
export type Redactor = <T>(value: T, taken?: Taken) => T;

/** Replaces secrets and removes control characters; newline and tab stay. */
export function redact(text: string, taken?: Taken): string {
  let result = text;
  let found = scan(text);
  if (found.bits & SUSPECT) {
    result = removeControls(text);
    found = scan(result);
  }
  for (let round = 0; round < ROUNDS_MAX && !isHarmless(result, found); round++) {
    const before = result;
    result = replaceSecrets(result, found, taken);
    if (result === before) break;
    found = scan(result);
  }
  return result;
}

/**
 * Returns a function that redacts by our rules and the user's own patterns.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` for a pattern that is not a regular expression.
 */
export function redactor(extra: readonly string[]): Redactor {
  const patterns = extra.map((source) => {
    try {
      return new RegExp(source, "gu");
    } catch (cause) {
      const message = `Cannot use pattern "${source}": not a valid regular expression`;
      throw new SessionMemoryError("CONFIG_INVALID", message, {
        hint: "correct redact.extra in config.json",
        cause,
      });
    }
  });
  return (value, taken) =>
    mapTexts(value, (text) => patterns.reduce(replaceOutsideMarkers, redact(text, taken)));
}

/** Returns a redactor that looks once at harmless texts which come again, for rows whose every text is redacted. */
export function lookingOnce(clean: Redactor): Redactor {
  const harmless = new Set<string>();
  let characters = 0;
  const redactText = (text: string, taken?: Taken) => {
    if (harmless.has(text)) return text;
    const now = clean(text, taken);
    if (now !== text) return now;
    characters += text.length;
    if (characters <= REMEMBERED_CHARS) harmless.add(text);
    else {
      harmless.clear();
      characters = 0;
    }
    return now;
  };
  return (value, taken) => mapTexts(value, (text) => redactText(text, taken));
}

function replaceOutsideMarkers(text: string, pattern: RegExp): string {
  let result = "";
  let done = 0;
  const replace = (part: string) => part.replace(pattern, (match) => match && "[redacted:custom]");
  for (const marker of text.matchAll(MARKER)) {
    result += replace(text.slice(done, marker.index)) + marker[0];
    done = marker.index + marker[0].length;
  }
  return result + replace(text.slice(done));
}

/** Controls, and characters that Unicode has displays ignore. */
const UNWANTED = /[[\p{Cc}\p{DI}\ufff9-\ufffb\u{13430}-\u{1343f}]--[\t\n]]/v;
/** The body ends where another one begins: each character is looked at once. */
const STRING_SEQUENCE =
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\x9d\x90\x98\x9e\x9f\n]*(?:\x07|\x1b\\|\x9c)/g;
/** Joiners and selectors between ASCII characters, which need none. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: each is a character of its own
const JOINED = /(?<=^|[\n -~])[\u200c\u200d\ufe00-\ufe0f]+(?=[\n -~]|$)/g;
/** The same without joiners and selectors. */
const INVISIBLE = /[[\p{Cc}\p{DI}\ufff9-\ufffb\u{13430}-\u{1343f}]--[\t\n\u200c\u200d\ufe00-\ufe0f]]/gv;

/**
 * Removes escape sequences whole (colours, titles, hyperlinks: the link's text stays), then what is left of controls; newline
 * and tab stay. Joiners and a variation selector stay where scripts and emoji need them: beside a character beyond ASCII.
 */
export function removeControls(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!UNWANTED.test(whole)) return whole;
  return whole
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g, "")
    .replace(STRING_SEQUENCE, "")
    .replace(/\x1b[ -/]*[0-~]?/g, "")
    .replace(/\r\n?/g, "\n")
    .replace(INVISIBLE, "")
    .replace(/[\ufe00-\ufe0f]+(?=[\ufe00-\ufe0f])/g, "")
    .replace(JOINED, "");
}
