/**
 * Secrets by their own form: tokens with a known prefix, private key blocks, and values that look like one rather than
 * like an identifier, a word, a path, a placeholder or a hash.
 */

import { type Format, LEFT, listFormats } from "./token-formats.ts";

let known: readonly Format[] | undefined;

/** Built on first use: a prompt hook loads this file every time and rarely needs it. */
function formats(): readonly Format[] {
  known ??= listFormats();
  return known;
}

/** A Discord bot's token has no literal, only three parts of known lengths. */
const BOT_TOKEN = /[MNO][A-Za-z0-9_-]{23,27}\./;

let anyLiteral: RegExp | undefined;

/** Returns whether a long word, with some characters before it, may be part of a token. A cheap prefilter. */
export function mayBeToken(text: string): boolean {
  anyLiteral ??= new RegExp(
    [...new Set(formats().flatMap(({ literals }) => literals)).difference(new Set(["."]))]
      .map(escapeLiteral)
      .join("|"),
  );
  if (text.includes("earer ") || BOT_TOKEN.test(text)) return true;
  return (
    anyLiteral.test(text) &&
    formats().some(({ literals, start }) =>
      literals.some((literal) => holds(text, literal, start === "bounded literal")),
    )
  );
}

function holds(text: string, literal: string, bounded: boolean): boolean {
  if (literal === ".") return false;
  for (let at = text.indexOf(literal); at !== -1; at = text.indexOf(literal, at + 1)) {
    if (!bounded || isLeft(text, at)) return true;
  }
  return false;
}

/** Tests `LEFT` at one position. */
function isLeft(text: string, at: number): boolean {
  return !/[A-Za-z0-9]/.test(text.charAt(at - 1)) || /\\[nrt]/.test(text.slice(Math.max(0, at - 2), at));
}

/** Returns whether a token without a digit consists of words: `sk-getServerSideProps`. */
function isName(token: string): boolean {
  if (/[0-9]/.test(token)) return false;
  const parts = token.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  return parts.join("").length / parts.length >= 4.5;
}

const compiled = new Map<Format, RegExp>();

function patternOf(format: Format): RegExp {
  const ready = compiled.get(format);
  if (ready) return ready;
  const { literals, start, rest } = format;
  const left = start === "bounded literal" ? LEFT : "";
  const begin = start === "anything" ? "" : `${left}(?:${literals.map(escapeLiteral).join("|")})`;
  const pattern = new RegExp(begin + rest, "g");
  compiled.set(format, pattern);
  return pattern;
}

/** Escapes a literal for a pattern. */
export function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Replaces every token. */
export function replaceTokens(text: string, mark: (kind: string) => string): string {
  let result = text;
  for (const format of formats()) {
    if (format.literals.some((literal) => result.includes(literal))) {
      const replaced = mark(format.kind);
      result = result.replace(patternOf(format), (token: string) =>
        format.random && isName(token) ? token : replaced,
      );
    }
  }
  return result;
}

const BEGIN = /-----BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----/g;
const END = "-----END";
const END_LINE = /-----END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----/y;
/** PuTTY states how many lines of key follow; a command shown on one line has them folded. */
const PUTTY =
  /(Private-Lines: \d{1,3}(?:\r?\n|\\r\\n|\\n| ))((?:[A-Za-z0-9+/=]{4,64}(?:\r?\n|\\r\\n|\\n| |…|$)){1,200})/g;
/** The longest body that a block with an end is believed to have: a 16 Ki bit RSA key is 13 KB. */
const BODY_MAX = 40_000;
/** A long piece of base64, which only a key's body contains. */
const MATERIAL = /[A-Za-z0-9+/=]{20}/;
/** Lines of base64 or of key headers, each after a line end (real or escaped) and what editors put before a line. */
const CUT_BODY =
  /(?:(?:\s|\\[nrt]|["'`+>|,]|\d{1,5}(?:[→:|]|\t)){0,40}(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\n\\]{0,200}|[A-Za-z0-9+/=]{16,}))*(?:(?:\n|\\n)[A-Za-z0-9+/=]{1,15}(?![A-Za-z0-9+/=]))?/y;

/** Replaces every private key block. A mere mention of the `BEGIN` line stays. */
export function replacePrivateKeys(whole: string, mark: string): string {
  const text = whole.includes("Private-Lines:")
    ? whole.replace(
        PUTTY,
        (_, lines: string, key: string) => lines + mark + (/(?:\n|\\n| |…)$/.exec(key)?.[0] ?? ""),
      )
    : whole;
  let result = "";
  let done = 0;
  let end = -2;
  BEGIN.lastIndex = 0;
  for (let begin = BEGIN.exec(text); begin; begin = BEGIN.exec(text)) {
    const body = BEGIN.lastIndex;
    // looked for once and kept, so that many beginnings without an end stay linear
    if (end !== -1 && end < body) end = text.indexOf(END, body);
    const until = blockEnd(text, body, end);
    if (until === undefined) continue;
    result += text.slice(done, begin.index) + mark;
    done = until;
    BEGIN.lastIndex = until;
  }
  return done === 0 ? text : result + text.slice(done);
}

function blockEnd(text: string, body: number, end: number): number | undefined {
  if (end !== -1 && end - body <= BODY_MAX) {
    END_LINE.lastIndex = end;
    const inner = text.slice(body, end);
    if (END_LINE.test(text) && !inner.includes("-----BEGIN") && MATERIAL.test(inner))
      return END_LINE.lastIndex;
  }
  CUT_BODY.lastIndex = body;
  CUT_BODY.exec(text);
  return MATERIAL.test(text.slice(body, CUT_BODY.lastIndex)) ? CUT_BODY.lastIndex : undefined;
}

interface ValueContext {
  /** The name says secret by itself (`password`, `apiKey`), not only perhaps (`key`, `token`). */
  strong: boolean;
  /** The value is a literal: quoted, given to a flag or written into an environment file. */
  literal: boolean;
  /** The value can be nothing but a literal: `DB_PASSWORD=…`, `Authorization: Bearer …`. */
  exact: boolean;
  /** The name says token, and the value is a literal: an id or a hash counts too. */
  token?: boolean;
}

/** Placeholders: templates, variables, masks. */
const PLACEHOLDER =
  /^(?:\$[A-Za-z_{(]|\$\d\b|%[A-Za-z_(]|[<{[(]|[-*•.…_#?]+$|x+$)|example|placeholder|changeme|redacted|_here$|-here$|^abcdef|[*•xX]{4}|\.{3}|…|\$\{|\{\{/i;
/** Placeholders that are words. */
const PLACEHOLDER_WORD =
  /^(?:your|my|the|some|any|no|new|old|test|dummy|fake|sample|demo|mock|change|insert|enter|put|null|undefined|true|false|none|required|optional|string|number|boolean|unknown|object|postgres|rabbitmq|mongodb|minioadmin|localhost|development|production)(?:$|[_-]|me)/i;
/** Code that gets the value from elsewhere: a chain of names. */
const NAME_CHAIN = /^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[!?]?$/;
const PATH =
  /^(?:~|\.{1,2})?\/[^\s]*[/.]|^[A-Za-z]:[\\/]|^[\w.-]+(?:\/[\w.-]+)+\.[A-Za-z]{1,5}$|^[\w.-]+\.(?:json|ya?ml|toml|pem|key|crt|p12|txt|env)$|:\/\//;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const HEX = /^(?:0x|sha\d{1,3}[:-])?[0-9a-f]+$/i;
const HEX_SECRET_MIN = 24;
const RANDOM_MIN = 16;

/** Returns whether a value after a name such as `password` is a secret. */
export function looksSecret(value: string, { strong, literal, exact, token }: ValueContext): boolean {
  const text = literal ? value : value.replace(/[.,:;!?]+$/, "");
  if (text.length < 6 || PLACEHOLDER.test(text) || PATH.test(text)) return false;
  if (NAME_CHAIN.test(text) && !looksRandom(text.replaceAll(".", ""))) return false;
  if (strong && exact && text.length >= 8) {
    // `prod/db/main` says where a secret lies
    return looksRandom(text) || !(PLACEHOLDER_WORD.test(text) || (text.includes("/") && isWords(text)));
  }
  if (/^[\d.,_-]+$/.test(text)) return false;
  if (UUID.test(text)) return strong || (token === true && exact);
  if (HEX.test(text))
    return (strong && text.length >= HEX_SECRET_MIN) || (token === true && text.length >= 32);
  if (looksRandom(strong ? text : longestPart(text))) return true;
  if (token && exact && text.length >= RANDOM_MIN && isScrambled(text)) return true;
  if (!strong || PLACEHOLDER_WORD.test(text)) return false;
  const mixed = /[A-Za-z]/.test(text) && /[0-9]/.test(text);
  const odd = /[^\w.:/|-]/.test(text);
  const shuffled = text.length >= RANDOM_MIN && countChanges(text) / text.length >= 0.3;
  if (literal) return ((mixed || odd || shuffled) && !isWords(text)) || isScrambled(text);
  return (text.length >= 8 && mixed && odd) || (text.length >= RANDOM_MIN && isScrambled(text));
}

/** Algorithms and encodings are named in the same sentences. */
const ALGORITHM =
  /^(?:sha-?\d+|md5|base(?:32|58|64)|utf-?\d+|argon2\w*|p?bkdf2|b?crypt|scrypt|aes-?\d*\w*|oauth2?|x25519|ed25519|\d+(?:-?\w+)?)$/i;
const STAND_IN =
  /^(?:[<{[(*•…_-]|\$|%\w|\[redacted:|x{3,}|\.{3})|[*•]{3}|…|\.{3}|example|placeholder|changeme|redacted/i;
const STAND_IN_WORD =
  /^(?:your|my|the|new|old|some|any|this|that|password|passwd|passphrase|secret|token|pass|null|none|true|false|undefined|string|required|optional)(?:$|[\s_-]|word|here)/i;

/** What the value in a context has to be, besides no placeholder. */
export type Value = "any" | "exact" | "literal" | "mixed" | "word";

/** Words that say something about a field called password, and names of variables. */
export const FIELD_WORD =
  /pass|pwd|word|secret|token|user|login|input|field|text|hash|crypt|valid|correct|require|missing|empty|option|hidden|string|value|^(?:true|false|null|none|number|bytes|boolean|changeme|unset|redacted|postgres)$/;

/** Returns whether what a context gives is a secret: whatever it is, a literal, or a word that mixes letters and digits. */
export function isGiven(value: string, wanted: Value): boolean {
  if (STAND_IN.test(value) || STAND_IN_WORD.test(value)) return false;
  if (wanted === "any") return true;
  if (wanted === "word") return !FIELD_WORD.test(value);
  if (wanted !== "mixed") {
    if (/^[A-Z][A-Z0-9]*_[A-Z0-9_]+$/.test(value)) return false; // another variable
    const exact = wanted === "exact" && !/\s/.test(value);
    return looksSecret(value, { strong: true, literal: true, exact });
  }
  if (ALGORITHM.test(value) || /[/\\]|\w\.\w|\(|::/.test(value)) return false;
  return /[0-9]/.test(value) && /[A-Za-z\u0080-\uffff]/.test(value) && /^\S{5,}$/.test(value);
}

/** Returns whether a text is long and mixes letters, digits and signs as no name does. */
export function looksRandom(text: string): boolean {
  if (text.length < RANDOM_MIN || UUID.test(text) || HEX.test(text) || isWords(text)) return false;
  const changes = countChanges(text);
  const ratio = changes / text.length;
  if (new Set(text).size < 9) return false;
  return /[0-9]/.test(text) ? changes >= 5 && ratio >= 0.25 : ratio >= 0.42;
}

/** Returns whether letters alone are random: case changes more often than in words, or no vowel occurs for long. */
function isScrambled(text: string): boolean {
  if (!/^[A-Za-z]{10,}$/.test(text)) return false;
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) {
    return /[bcdfghjklmnpqrstvwxz]{6}/i.test(text) || countRarePairs(text) >= 2;
  }
  if (/[A-Z]{3}|[A-Z]$|[bcdfghjklmnpqrstvwxz]{5}/.test(text)) return true;
  return text.length / (text.match(/[A-Z]?[a-z]+|[A-Z]+/g)?.length ?? 1) < 4;
}

/** Pairs of letters that hardly any word has, not even where two words meet. */
const RARE_PAIRS =
  /(?=(?:b[fkqxz]|c[gjvx]|d[xz]|f[jqvxz]|g[qjvxz]|h[jxz]|j[bcdfghjklmnpqrtvwxyz]|k[jqxz]|m[jqxz]|p[jqvxz]|q[a-tv-z]|s[xz]|t[jqx]|v[bcdfghjklmnpqtwxz]|w[jqvxz]|x[bdgjkrvz]|y[jq]|z[bcdfgjkmnpqrstvwx]))/gi;

function countRarePairs(text: string): number {
  return text.match(RARE_PAIRS)?.length ?? 0;
}

/** Cache keys and the like are words, versions and hashes in a row; a random value has a long piece of its own. */
function longestPart(text: string): string {
  return text.split(/[-_.:/]/).reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

/** `my-secret-name-2`, `getServerSideProps`, `v1.2.3`: words and small numbers joined in the usual ways. */
function isWords(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? [];
  const words = parts.filter((part) => /[A-Za-z]/.test(part));
  const numbers = parts.length - words.length;
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const joined = /[-_./:|]/.test(text) || numbers === 0;
  return joined && !/[^\w./:@|-]/.test(text) && numbers <= 2 && letters / Math.max(1, words.length) >= 3.5;
}

function countChanges(text: string): number {
  let changes = 0;
  for (let i = 1; i < text.length; i++) if (classOf(text, i) !== classOf(text, i - 1)) changes++;
  return changes;
}

function classOf(text: string, index: number): number {
  const code = text.charCodeAt(index);
  if (code >= 97 && code <= 122) return 0;
  if (code >= 65 && code <= 90) return 1;
  return code >= 48 && code <= 57 ? 2 : 3;
}
