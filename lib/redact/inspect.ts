/**
 * Looks at each character of a text once and says which kinds of patterns are worth trying, so that ordinary text costs
 * little.
 */

import { endsSensitiveName } from "./assigned-secrets.ts";
import { COMMAND_WORDS, CONTEXT_WORDS } from "./contexts.ts";
import { mayBeToken } from "./tokens.ts";

/** What a text may hold, as bits. */
export const CONTROL = 1;
export const TOKEN = 2;
export const ASSIGNMENT = 4;
export const CREDENTIAL = 8;
export const CONTEXT = 16;
/** Half a surrogate pair may be alone. */
export const SURROGATE = 32;
const COMMAND = 64;
const OPTION = 128;
const FLAG = 256;

/** No token is shorter than this in its longest part. */
const LONG_WORD = 16;
/** Characters before a long word in which its token's prefix may be: some tokens contain dots, dollars or slashes. */
const SIGN_REACH = 48;
/** Key files, and hashes of passwords, which are no long words. */
const KEY_WORDS = [
  ..."PRIVATE KEY|Private-Lines:|OpenVPN Static|pbkdf2|scrypt:|SCRAM-SHA|otpauth:|ANSIBLE_VAULT|{SHA|{SSHA".split(
    "|",
  ),
  ..."$1$ $2$ $2a$ $2b$ $2x$ $2y$ $5$ $6$ $7$ $y$ $P$ $H$ $S$ $apr1$ $argon2".split(" "),
];
/** Addresses whose path is the secret. */
const WEBHOOK = /hooks\.slack|webhooks\/|webhookb2\//;

/** A flag such as `--api-key`, whose value may follow after a space. */
const SECRET_FLAG = /--(?=[A-Za-z])[\w-]{0,40}?(?:pass|pwd|secret|token|key|auth|credential)/i;
const SLASH = 0x2f;

/** What a character is, in the low bits of its class; its symbol is in the high ones. */
const SEPARATOR = 1;
const CONTROL_CHARACTER = 2;
const IN_WORD = 128;
/** The first symbol of letters, digits and what else goes into words. */
const FIRST_LETTER = 4;
/** Characters that share a symbol, from common to rare; all others have the first. */
const SYMBOLS =
  "\n - =: /{}($ eE tT aA oO iI nN sS rR lL cC dD pP uU mM fF gG hH _> bB 0123456789 vV yY kK wW xX jJ qQ zZ".split(
    " ",
  );

/** A word that some pattern needs, found by its first or last three characters, the last of them `back` behind its start. */
interface Needed {
  word: string;
  back: number;
  bit: number;
}

interface Tables {
  classes: Uint8Array;
  /** For each three symbols in a row the number of a group, 0 for none. */
  trigrams: Uint8Array;
  groups: { bits: number; words: Needed[] }[];
}

let tables: Tables | undefined;

// Plain loops: this runs before the first text of every process, prompt hooks included.
function buildClasses(): Uint8Array {
  const classes = new Uint8Array(128).fill(CONTROL_CHARACTER, 0, 0x20);
  classes[0x7f] = CONTROL_CHARACTER;
  for (let symbol = 0; symbol < SYMBOLS.length; symbol++) {
    const characters = SYMBOLS[symbol] ?? "";
    for (let i = 0; i < characters.length; i++) {
      const character = characters.charAt(i);
      const kind = character === ":" || character === "=" ? SEPARATOR : 0;
      const isInWord = symbol >= FIRST_LETTER ? character !== ">" : character === "-";
      classes[characters.charCodeAt(i)] = kind | (symbol << 2) | (isInWord ? IN_WORD : 0);
    }
  }
  classes[0x09] = 0;
  return classes;
}

function buildTables(): Tables {
  const classes = buildClasses();
  const trigrams = new Uint8Array(1 << 15);
  const groups: Tables["groups"] = [{ bits: 0, words: [] }];
  const symbolAt = (word: string, at: number) => ((classes[word.charCodeAt(at)] ?? 0) >> 2) & 31;
  const trigramAt = (word: string, end: number) =>
    (symbolAt(word, end - 2) << 10) | (symbolAt(word, end - 1) << 5) | symbolAt(word, end);
  const rarityOf = (trigram: number) => (trigram >> 10) + ((trigram >> 5) & 31) + (trigram & 31);
  const needed: [bit: number, words: readonly string[]][] = [
    [TOKEN | CREDENTIAL, KEY_WORDS],
    [CONTEXT, CONTEXT_WORDS],
    [COMMAND, COMMAND_WORDS],
    [CREDENTIAL, ["mysql"]],
  ];
  for (const [bit, words] of needed) {
    for (const word of words) {
      const [first, last] = [trigramAt(word, 2), trigramAt(word, word.length - 1)];
      const isLast = rarityOf(last) > rarityOf(first);
      const at = isLast ? last : first;
      const back = isLast ? word.length - 1 : 2;
      trigrams[at] ||= groups.push({ bits: 0, words: [] }) - 1;
      groups[trigrams[at] ?? 0]?.words.push({ word, back, bit });
    }
  }
  const [options, flags] = [
    groups.push({ bits: OPTION, words: [] }) - 1,
    groups.push({ bits: FLAG, words: [] }) - 1,
  ];
  const bitsAt = (at: number, plain: number) => {
    const group = groups[trigrams[at] ?? 0];
    if (trigrams[at] && group) group.bits |= groups[plain]?.bits ?? 0;
    else trigrams[at] = plain;
  };
  const [dash, slash] = [symbolAt("-", 0), symbolAt("/", 0)];
  for (let symbol = dash; symbol < SYMBOLS.length; symbol++) {
    bitsAt((dash << 5) | symbol, options);
    bitsAt((slash << 5) | symbol, options);
    bitsAt((dash << 10) | (dash << 5) | symbol, flags);
  }
  return { classes, trigrams, groups };
}

/** Returns which kinds of patterns to try, as bits. */
export function inspect(text: string): number {
  tables ??= buildTables();
  const { classes, trigrams, groups } = tables;
  let found = 0;
  let trigram = 0;
  let start = 0;
  const length = text.length;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    const is = code < 128 ? (classes[code] ?? 0) : classBeyond(code);
    trigram = ((trigram << 5) | ((is >> 2) & 31)) & 0x7fff;
    const group = trigrams[trigram];
    if (group) found |= bitsOf(groups[group], text, i);
    if (is & IN_WORD) continue;
    if (i - start >= LONG_WORD && !(found & TOKEN) && isTokenSign(text, start, i))
      found |= TOKEN | CREDENTIAL;
    start = i + 1;
    if (is & CONTROL_CHARACTER) found |= CONTROL;
    else if (is & SEPARATOR) found |= afterSeparator(text, i, found);
    if (code >= 0x400) found |= beyondLatin(code);
  }
  if (length - start >= LONG_WORD && !(found & TOKEN) && isTokenSign(text, start, length))
    found |= TOKEN | CREDENTIAL;
  if (found & COMMAND && found & OPTION) found |= CONTEXT;
  if (found & FLAG && SECRET_FLAG.test(text)) found |= ASSIGNMENT;
  if (found & CREDENTIAL && WEBHOOK.test(text)) found |= TOKEN;
  return found & (CONTROL | TOKEN | ASSIGNMENT | CREDENTIAL | CONTEXT | SURROGATE);
}

/** Returns what a character beyond Latin may begin: a word for a password in another script, or half a pair. */
function beyondLatin(code: number): number {
  if (code >= 0xd800 && code <= 0xdfff) return SURROGATE;
  return code === 0x43f || code === 0x41f || code === 0x5bc6 || code === 0x30d1 ? CONTEXT : 0;
}

function bitsOf(group: Tables["groups"][number] | undefined, text: string, at: number): number {
  let bits = group?.bits ?? 0;
  for (const { word, back, bit } of group?.words ?? []) if (text.startsWith(word, at - back)) bits |= bit;
  return bits;
}

function afterSeparator(text: string, at: number, found: number): number {
  if (text.charCodeAt(at + 1) === SLASH && text.charCodeAt(at + 2) === SLASH) return CREDENTIAL;
  return !(found & ASSIGNMENT) && !isSeparator(text, at - 1) && endsSensitiveName(text, at) ? ASSIGNMENT : 0;
}

/** `key :=` and `key ===` are looked at once. */
function isSeparator(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x3a || code === 0x3d;
}

/** Returns whether a long word may be part of a token. */
function isTokenSign(text: string, start: number, end: number): boolean {
  const isLong = isUnusual(text, start, end);
  if (!isLong && !isShuffled(text, start, end)) return false;
  return mayBeToken(text.slice(Math.max(0, start - (isLong ? SIGN_REACH : 8)), end + 1));
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

function classBeyond(code: number): number {
  return isControl(code) ? CONTROL_CHARACTER : 0;
}
