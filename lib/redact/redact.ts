/**
 * Removes secrets and control characters from any text that leaves a transcript.
 *
 * A cheap pass over the characters decides which patterns are worth trying, so that ordinary text costs little. Secrets
 * become `[redacted:<kind>]`; redacting twice changes nothing more.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { truncate } from "../base/text.ts";
import { endsSensitiveName, replaceAssigned, replaceCredentials } from "./assigned-secrets.ts";
import { mayHaveContext, replaceInContext } from "./contexts.ts";
import { mayBeToken, replacePrivateKeys, replaceTokens } from "./tokens.ts";

/** Raised with every change of the rules that redacts more: what was stored before is redacted again. */
export const REDACTION_VERSION = 1;

/** Returns the version of our rules and, by its hash, that of the user's own: what was stored under another is redacted again. */
export function redactionVersion(extra: readonly string[]): string {
  if (extra.length === 0) return String(REDACTION_VERSION);
  return `${REDACTION_VERSION} ${sha256().update(JSON.stringify(extra)).digest("hex").slice(0, 16)}`;
}

const MARKER = /\[redacted:[a-z0-9-]+\]/g;
/** No token is shorter than this in its longest part. */
const LONG_WORD = 16;
/** Characters before a long word in which its token's prefix may be: some tokens contain dots, dollars or slashes. */
const SIGN_REACH = 48;
/** A replacement can reveal another secret (its neighbour was a letter); no text seen needs more rounds. */
const ROUNDS_MAX = 4;

/** Addresses whose path is the secret. */
const WEBHOOK = /hooks\.slack|webhooks\/|webhookb2\//;

/** A flag such as `--api-key`, whose value may follow after a space. */
const SECRET_FLAG = /--(?=[A-Za-z])[\w-]{0,40}?(?:pass|pwd|secret|token|key|auth|credential)/i;
/** Key files, and hashes of passwords, which are no long words. */
const KEY_BLOCK =
  /PRIVATE KEY|Private-Lines:|OpenVPN Static|\$(?:2[abxy]?\$|[15-7yPHS]\$|apr1\$|argon2)|\{S?SHA|pbkdf2[_:]|scrypt:|SCRAM-SHA|otpauth:|ANSIBLE_VAULT/;
const SLASH = 0x2f;

const CONTROL = 1;
const TOKEN = 2;
const ASSIGNMENT = 4;
const CREDENTIAL = 8;
const CONTEXT = 16;

const WORD = 1;
const SEPARATOR = 2;
const CONTROL_CHARACTER = 3;
const CLASSES = characterClasses();

function characterClasses(): Uint8Array {
  const classes = new Uint8Array(128).fill(CONTROL_CHARACTER, 0, 0x20);
  for (const [characters, kind] of [
    ["\t\n", 0],
    ["\x7f", CONTROL_CHARACTER],
    [":=", SEPARATOR],
    ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", WORD],
  ] as const) {
    for (const character of characters) classes[character.charCodeAt(0)] = kind;
  }
  return classes;
}

/** Replaces secrets and removes control characters; newline and tab stay. */
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

/** Returns whether `redact` would replace anything in a text. */
export function containsSecret(text: string): boolean {
  return countRedactions(redact(text)) > countRedactions(text);
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

/** Returns which kinds of patterns to try. */
function inspect(text: string): number {
  let found = inspectCharacters(text);
  if (KEY_BLOCK.test(text) || hasTokenSign(text)) found |= TOKEN | CREDENTIAL;
  if (mayHaveContext(text)) found |= CONTEXT;
  if (text.includes("--") && SECRET_FLAG.test(text)) found |= ASSIGNMENT;
  if (text.includes("mysql")) found |= CREDENTIAL;
  if (found & CREDENTIAL && WEBHOOK.test(text)) found |= TOKEN;
  return found;
}

function inspectCharacters(text: string): number {
  let found = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const kind = code < 128 ? CLASSES[code] : isControl(code) ? CONTROL_CHARACTER : 0;
    if (kind === CONTROL_CHARACTER) found |= CONTROL;
    else if (kind === SEPARATOR) {
      if (text.charCodeAt(i + 1) === SLASH && text.charCodeAt(i + 2) === SLASH) found |= CREDENTIAL;
      else if (!(found & ASSIGNMENT) && !isSeparator(text, i - 1) && endsSensitiveName(text, i))
        found |= ASSIGNMENT;
    }
  }
  return found;
}

/** `key :=` and `key ===` are looked at once. */
function isSeparator(text: string, at: number): boolean {
  return CLASSES[text.charCodeAt(at)] === SEPARATOR;
}

/** Samples every sixteenth character: no long word fits between two of them. */
function hasTokenSign(text: string): boolean {
  let start = 0;
  for (let last = LONG_WORD - 1; last < text.length; last = start + LONG_WORD - 1) {
    let at = last;
    while (at >= start && isWord(text, at)) at--;
    if (at >= start) {
      start = at + 1;
      continue;
    }
    let end = last + 1;
    while (isWord(text, end)) end++;
    const isLong = isUnusual(text, start, end);
    if (isLong && mayBeToken(text.slice(Math.max(0, start - SIGN_REACH), end + 1))) return true;
    if (!isLong && isShuffled(text, start, end) && mayBeToken(text.slice(Math.max(0, start - 8), end + 1)))
      return true;
    start = end + 1;
  }
  return false;
}

function isWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < 128 && CLASSES[code] === WORD;
}

/** Nearly all long words of ordinary text are names without a digit; a token of 32 random characters has one. */
function isUnusual(text: string, start: number, end: number): boolean {
  if (end - start >= 2 * LONG_WORD) return true;
  let upper = true;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) return true;
    if (code < 0x41 || code > 0x5a) upper = false;
  }
  return upper;
}

/** Returns whether the case of letters changes too often for a name, as in a token without a digit. */
function isShuffled(text: string, start: number, end: number): boolean {
  let changes = 0;
  for (let at = start + 1; at < end; at++) {
    if ((text.charCodeAt(at) ^ text.charCodeAt(at - 1)) & 0x20) changes++;
  }
  return changes >= 4;
}

/** Returns whether a character may be invisible: C1 controls, zero-width and direction-changing characters, fillers, variation selectors. */
function isControl(code: number): boolean {
  if (code < 0xa0) return true;
  if (code < 0x200b) return code === 0xad || code === 0x34f || code === 0x61c || isFiller(code);
  if (code <= 0x2069) return code <= 0x200f || code >= 0x2060 || (code >= 0x202a && code <= 0x202e);
  if (code < 0xd80d) return code === 0x206f || code === 0x3164 || (code > 0x2069 && code < 0x2070);
  if (code <= 0xdb43) return code === 0xd834 || code === 0xd80d || code === 0xd82f || code >= 0xdb40;
  return code >= 0xfe00 && (code <= 0xfe0f || code === 0xfeff || code === 0xffa0 || isAnnotation(code));
}

function isFiller(code: number): boolean {
  return (
    code === 0x115f ||
    code === 0x1160 ||
    code === 0x17b4 ||
    code === 0x17b5 ||
    code === 0x180e ||
    (code >= 0x180b && code <= 0x180f)
  );
}

function isAnnotation(code: number): boolean {
  return code >= 0xfff9 && code <= 0xfffb;
}

function replaceSecrets(text: string, first: number): string {
  let result = text;
  let found = first;
  for (let round = 0; round < ROUNDS_MAX && found !== 0; round++) {
    const before = result;
    if (found & TOKEN) result = replaceTokens(replacePrivateKeys(result, mark("private-key")), mark);
    if (found & CREDENTIAL) result = replaceCredentials(result, mark);
    if (found & ASSIGNMENT) result = replaceAssigned(result, mark);
    if (found & CONTEXT) result = replaceInContext(result, mark);
    if (result === before) break;
    found = inspect(result);
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
 * Escape sequences whole (colours, titles, hyperlinks: the link's text stays), then what is left of controls. Joiners and
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
// biome-ignore lint/suspicious/noMisleadingCharacterClass: each stands for itself
const JOINED = /(?<=^|[\n -~])[\u200c\u200d\ufe00-\ufe0f]+(?=[\n -~]|$)/g;
/** Characters that are never visible; plane 14 contains nothing else. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each stands for itself
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\udb40-\udb43][\udc00-\udfff]|\ud834[\udd73-\udd7a]|\ud80d[\udc30-\udc3f]|\ud82f[\udca0-\udca3]/g;
