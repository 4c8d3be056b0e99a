/**
 * Secrets and control characters out of any text that leaves a transcript.
 *
 * One pass over the characters decides which of the specific patterns are worth trying, so that ordinary text costs
 * one loop. Secrets become `[redacted:<kind>]`; redacting twice changes nothing more.
 */

import { endsSensitiveName, replaceAssigned, replaceCredentials } from "./assigned-secrets.ts";
import { SessionMemoryError } from "./errors.ts";
import { replacePrivateKeys } from "./private-keys.ts";
import { mayBeToken, replaceTokens } from "./token-formats.ts";

const MARKER = /\[redacted:[a-z0-9-]+\]/g;
/** No token is shorter than this in its longest part. */
const LONG_WORD = 16;
/** How far before and after a long word a token's sign may stand. */
const SIGN_REACH = 12;
/** A replacement can uncover another one (its neighbour was a letter); this many rounds settle everything seen. */
const ROUNDS_MAX = 4;

/** Addresses whose path is the secret. */
const WEBHOOK = /hooks\.slack|webhooks\/|webhookb2\//;

const CONTROL = 1;
const TOKEN = 2;
const ASSIGNMENT = 4;
const URL = 8;

/** What a character is, as bits; those of a word are collected. */
const LOWER = 1;
const UPPER = 2;
const DIGIT = 4;
const JOINT = 8;
const WORD = LOWER | UPPER | DIGIT | JOINT;
const SEPARATOR = 16;
const CONTROL_CHARACTER = 32;
const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  if ((code < 32 && code !== 9 && code !== 10) || code === 127) return CONTROL_CHARACTER;
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/[0-9]/.test(character)) return DIGIT;
  if (/[_-]/.test(character)) return JOINT;
  return /[:=]/.test(character) ? SEPARATOR : 0;
});

/** The text without secrets and control characters; newline and tab stay. */
export function redact(text: string, extra: readonly RegExp[] = []): string {
  let result = text.isWellFormed() ? text : text.toWellFormed();
  let found = inspect(result);
  if (found & CONTROL) {
    result = removeControls(result);
    found = inspect(result);
  }
  if (found !== 0) result = replaceSecrets(result, found);
  for (const pattern of extra) result = replaceOutsideMarkers(result, pattern);
  return result;
}

/** Whether a text holds something that `redact` would replace as a secret. */
export function containsSecret(text: string): boolean {
  return countRedactions(redact(text)) > countRedactions(text);
}

/** How many secrets were replaced in a redacted text. */
export function countRedactions(text: string): number {
  return text.includes("[redacted:") ? (text.match(MARKER)?.length ?? 0) : 0;
}

/**
 * The user's own patterns, ready for `redact`.
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
 * A redacted text as one line of at most `max` code points: white space folded, and nothing in it that could be taken
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
  return cut(folded, max);
}

function cut(text: string, max: number): string {
  if (max <= 0) return "";
  if (text.length <= max) return text;
  let units = 0;
  let points = 0;
  let last = 0;
  for (const point of text) {
    if (points === max - 1) last = units;
    units += point.length;
    if (++points > max) return `${text.slice(0, last).trimEnd()}…`;
  }
  return text;
}

/** Which kinds of things to look for, from one look at each character. */
function inspect(text: string): number {
  let found = text.includes("earer ") ? URL : 0;
  if (text.includes("PRIVATE KEY")) found |= TOKEN;
  let word = 0;
  let bits = 0;
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : 0x20;
    const kind = code < 128 ? (CLASSES[code] ?? 0) : isControl(code) ? CONTROL_CHARACTER : 0;
    if (kind & WORD) {
      word++;
      bits |= kind;
      continue;
    }
    if (word >= LONG_WORD && !(found & TOKEN) && isUnusual(word, bits)) {
      if (mayBeToken(text.slice(Math.max(0, i - word - SIGN_REACH), i + 1))) found |= TOKEN;
    }
    const flag = code === 0x20 && word > 4 && text.startsWith("--", i - word);
    word = 0;
    bits = 0;
    if (kind === SEPARATOR && text.startsWith("//", i + 1)) found |= URL;
    else if ((kind === SEPARATOR || flag) && !(found & ASSIGNMENT) && endsSensitiveName(text, i))
      found |= ASSIGNMENT;
    else if (kind === CONTROL_CHARACTER) found |= CONTROL;
  }
  if (found & URL && WEBHOOK.test(text)) found |= TOKEN;
  return found;
}

/** Nearly all long words of ordinary text are names without a digit; a token of 32 random characters has one. */
function isUnusual(length: number, bits: number): boolean {
  return (bits & DIGIT) !== 0 || length >= 2 * LONG_WORD || bits === UPPER;
}

/** C1 controls, zero-width and direction-changing characters, and the first half of the invisible tag characters. */
function isControl(code: number): boolean {
  if (code < 0xa0) return true;
  if (code < 0x200b) return false;
  if (code > 0x2069) return code === 0xfeff || code === 0xdb40;
  return code === 0x200b || code >= 0x2060 || (code >= 0x202a && code <= 0x202e);
}

function replaceSecrets(text: string, found: number): string {
  let result = text;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = result;
    if (found & TOKEN) result = replaceTokens(replacePrivateKeys(result, mark("private-key")), mark);
    if (found & URL) result = replaceCredentials(result, mark);
    if (found & ASSIGNMENT) result = replaceAssigned(result, mark);
    if (result === before) break;
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

/** Escape sequences whole (colours, titles, hyperlinks: the link's text stays), then what is left of controls. */
function removeControls(text: string): string {
  return text
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g, "")
    .replace(/(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)/g, "")
    .replace(/\x1b[ -/]*[0-~]?/g, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g, "");
}
