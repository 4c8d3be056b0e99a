/**
 * Removes secrets and control characters from any text that leaves a transcript.
 *
 * `inspect` decides which patterns are worth trying. Secrets become `[redacted:<kind>]`; redacting twice changes nothing
 * more.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { truncate } from "../base/text.ts";
import { replaceAssigned, replaceCredentials } from "./assigned-secrets.ts";
import { COMMAND_WORDS, CONTEXT_WORDS, type Context, listContexts } from "./contexts.ts";
import { ASSIGNMENT, CONTEXT, CONTROL, CREDENTIAL, inspect, SURROGATE, TOKEN } from "./inspect.ts";
import { escapeLiteral, isGiven, replacePrivateKeys, replaceTokens } from "./tokens.ts";

/** Raised with every change of the rules that redacts more: what was stored before is redacted again. */
export const REDACTION_VERSION = 2;

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
  let result = text;
  let found = inspect(text);
  if (found & (CONTROL | SURROGATE) && (found & CONTROL || !text.isWellFormed())) {
    result = removeControls(text.toWellFormed());
    found = inspect(result);
  }
  if (found & ~SURROGATE) result = replaceSecrets(result, found);
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

function replaceSecrets(text: string, first: number): string {
  let result = text;
  let found = first;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = result;
    if (found & TOKEN) result = replaceTokens(replacePrivateKeys(result, mark("private-key")), mark);
    if (found & CREDENTIAL) result = replaceCredentials(result, mark);
    if (found & ASSIGNMENT) result = replaceAssigned(result, mark);
    if (found & CONTEXT) result = replaceInContext(result);
    if (result === before) break;
    found = inspect(result);
  }
  return result;
}

/** No context reaches further than this before or behind such a word. */
const REACH = 500;

let contexts: readonly Context[] | undefined;
let hints: RegExp | undefined;

/** Replaces the values in contexts, looking only near the words that they need. */
function replaceInContext(text: string): string {
  hints ??= new RegExp(
    [...CONTEXT_WORDS, ...COMMAND_WORDS, "арол", "密", "パス"].map(escapeLiteral).join("|"),
    "g",
  );
  let result = "";
  let done = 0;
  let from = -1;
  let to = -1;
  const takeWindow = () => {
    if (from === -1) return;
    result += text.slice(done, from) + replaceAll(text.slice(from, to));
    done = to;
  };
  for (const { index } of text.matchAll(hints)) {
    if (index < to - REACH / 2) continue;
    if (from === -1 || index - REACH > to) {
      takeWindow();
      from = index <= REACH ? 0 : breakBefore(text, index - REACH, Math.max(0, to));
    }
    to = breakAfter(text, Math.min(text.length, index + 2 * REACH));
  }
  takeWindow();
  return result + text.slice(done);
}

/** Moves back to the start of a line, else of a word. */
function breakBefore(text: string, at: number, min: number): number {
  for (let back = at; back > Math.max(min, at - REACH); back--) if (text[back - 1] === "\n") return back;
  for (let back = at; back > Math.max(min, at - REACH); back--) if (text[back - 1] === " ") return back;
  return min;
}

function breakAfter(text: string, at: number): number {
  for (let on = at; on < Math.min(text.length, at + REACH); on++) if (/\s/.test(text[on] ?? "")) return on;
  return Math.min(text.length, at + REACH);
}

function replaceAll(text: string): string {
  contexts ??= listContexts();
  let result = text;
  for (const { kind, literals, pattern, value } of contexts) {
    if (!literals.some((literal) => result.includes(literal))) continue;
    result = result.replace(pattern, (whole: string, before: string, secret: string) =>
      isGiven(secret, value) ? `${before}${mark(kind)}` : whole,
    );
  }
  return result;
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

/**
 * Removes escape sequences whole (colours, titles, hyperlinks: the link's text stays), then what is left of controls. Joiners and
 * a variation selector stay where scripts and emoji need them: beside a character beyond ASCII.
 */
function removeControls(text: string): string {
  return text
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g, "")
    .replace(STRING_SEQUENCE, "")
    .replace(/\x1b[ -/]*[0-~]?/g, "")
    .replace(/\r\n?/g, "\n")
    .replace(INVISIBLE, "")
    .replace(/[\ufe00-\ufe0f]+(?=[\ufe00-\ufe0f])/g, "")
    .replace(JOINED, "");
}

/** The body ends where another one begins: each character is looked at once. */
const STRING_SEQUENCE =
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\x9d\x90\x98\x9e\x9f\n]*(?:\x07|\x1b\\|\x9c)/g;
/** Joiners and selectors between ASCII characters, which need none. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: each is a character of its own
const JOINED = /(?<=^|[\n -~])[\u200c\u200d\ufe00-\ufe0f]+(?=[\n -~]|$)/g;
/** Characters that are never visible; plane 14 contains nothing else. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is a character of its own
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\udb40-\udb43][\udc00-\udfff]|\ud834[\udd73-\udd7a]|\ud80d[\udc30-\udc3f]|\ud82f[\udca0-\udca3]/g;
