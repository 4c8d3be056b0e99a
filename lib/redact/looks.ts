/** Judges by looks alone: whether a value is random, words, a placeholder or code, and what is random without a name near it. */

/** Templates, variables, masks and words that say that the value is elsewhere. */
const PLACEHOLDER =
  /^(?:\$[A-Za-z_{(]|\$\d\b|%[A-Za-z_(]|[<{[(]|[-*•.…_#?]+$|x+$)|example|placeholder|changeme|redacted|[_-]here$|^abcdef\w{0,10}$|[*•xX]{4}|\.{3}|…|\$\{|\{\{|^%\w+%$|^@\w+@$|^[*&][a-z_]+$|^(?:ctrl|alt|shift|cmd|meta|option|super|command)\+/i;
const PLACEHOLDER_WORD =
  /^(?:your|my|the|some|any|no|new|old|test|dummy|fake|sample|demo|mock|change|insert|enter|put|null|undefined|true|false|none|required|optional|string|number|boolean|unknown|object|postgres|rabbitmq|mongodb|minioadmin|localhost|development|production)(?:$|[\s_-]|me)/i;
/** A chain of names: `form.password.value`, `*flags.PWD`. */
const CHAIN =
  /^[*&!@:]?[A-Za-z_$][\w$]*(?:(?:\.|::|->|[?!]\.)[A-Za-z_$][\w$]*)+[!?]?$|^[&@:!]{1,2}[A-Za-z_]+$/;
/** A path, a file, an address, a reference to a store. */
const ELSEWHERE =
  /^~\/|^(?:\.{1,2})?\/[^\s]*[/.]|^[A-Za-z]:[\\/]|^[\w.-]+(?:\/[\w.-]+)+\.[A-Za-z]{1,5}$|^[\w.-]+\.(?:json|ya?ml|toml|pem|key|crt|p12|txt|env)$|:\/\/|^(?:vault|ref|arn|ENC|required|sha\d+)[:+|[]/;
/** Algorithms, protocols and sizes are named in the same sentences as passwords. */
const ALGORITHM =
  /^(?:sha-?\d+|md5|base(?:32|58|64)|utf-?\d+|argon2\w*|p?bkdf2(?:with\w+)?|b?crypt|scrypt|scram-\S+|aes-?\d*\w*|oauth2?|x?ed?25519|v?\d+(?:[.-]?[a-z]{1,5})?)$/i;
/** Words that say something about a field, and names of variables. */
const FIELD_WORD =
  /pass|pwd|word|secret|token|user|login|input|field|text|hash|crypt|valid|correct|require|missing|empty|option|hidden|string|value|^(?:true|false|null|none|number|bytes|boolean|unset|redacted|postgres|include|inherit|basic)$/i;
/** Words of sentences about passwords and about the place of a value. */
export const ABOUT_FIELD =
  /pass|pwd|secret|token|credential|kennw|wachtw|contrase|senha|\b(?:must|should|cannot|please|required|invalid|incorrect|enter|your|least|characters?|see|ask|same|field|value|hint|string|option|missing|empty)\b/i;
/** Words of any sentence. */
export const SENTENCE = new RegExp(
  `${ABOUT_FIELD.source}|\\b(?:is|are|be|not|the|at|as|in|of|to|for|from|with|and|or|but|if|when|so|by|on|that|this|which|because|was|has|have|will|can|used|stored|never|user|input|text|insert|put|change|now|before|after|must|should|via|into|then|also|no)\\b`,
  "i",
);
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const HEX = /^(?:0x|sha\d{1,3}[:-])?[0-9a-f]+$/i;
/** Shorter hashes are as often numbers. */
const HASH_MIN = 24;
/** Shorter values are as often words in an unusual spelling. */
export const RANDOM_MIN = 16;

/** Reports a secret by its place and kind. */
export type ReportSecret = (start: number, end: number, kind: string) => void;

export const isUuid = (text: string): boolean => UUID.test(text);
export const isHex = (text: string): boolean => HEX.test(text);

/** Looks of a value: not one, words, letters of no word, letters mixed with digits or signs, a hash or id, random. */
export const LOOKS = ["none", "word", "scrambled", "mixed", "hash", "random"] as const;
export type Look = (typeof LOOKS)[number];

export function lookAt(value: string, isQuoted = false): Look {
  if (value.length < 4 || isStandIn(value, isQuoted) || /^[\d.,_-]+$/.test(value)) return "none";
  if (UUID.test(value) || (HEX.test(value) && value.length >= HASH_MIN)) return "hash";
  if (looksRandom(value)) return "random";
  if (PLACEHOLDER_WORD.test(value) || ALGORITHM.test(value)) return "none";
  if (isMixed(value)) return "mixed";
  if (isScrambled(value)) return "scrambled";
  return WORDS.test(value) && !isFieldName(value) && !ADJECTIVE.test(value) ? "word" : "none";
}

/** Words as people join them to a password: `celadonMug`, `panda-Ladder`. All capitals stand for a value. */
const WORDS = /^(?=.*\p{Ll})(?=.{6,60}$)(?!\w+\.(?:com|net|org|io|dev)$)\p{L}+(?:[_.-]\p{L}+){0,3}$/u;
/** `case-sensitive`, `base64-encoded`, `read-only`. */
const ADJECTIVE =
  /[-_](?:[a-z]+(?:ed|ing|ive|able|ible)|only|free|less|set|date|time|side|safe|based|specific)$/;
/** Returns whether words are joined as a name in a text is not: no camel case, no underscore. */
export const isJoined = (text: string): boolean => /\p{L}-\p{L}/u.test(text);

/** Returns whether a text stands for a value that is not written here. In quotes two names are not a chain. */
export function isStandIn(text: string, isQuoted = false): boolean {
  if (PLACEHOLDER.test(text) || ELSEWHERE.test(text)) return true;
  if (isQuoted && !/\w\.\w+\.\w|::|->/.test(text)) return false;
  return CHAIN.test(text) && !looksRandom(text.replaceAll(".", ""));
}

/** `${PASSWORD}`, `$PASS`, `{password}`, `%PASS%`, `***`, or a marker of ours. */
const TEMPLATE = /^(?:\$[\w{(].*|\{.*\}|%\w+%|\*+|\[redacted:[a-z0-9-]+\]|x{3,}|\.{3,}|…|)$/i;
export const isTemplate = (text: string): boolean => TEMPLATE.test(text);

/** Returns whether a text begins as one that asks for a value. */
export const asksForValue = (text: string): boolean => PLACEHOLDER_WORD.test(text);

/** Returns whether a text names a field or a variable: `passwordInput`, `meta[name=csrf-token]`. */
export const isFieldName = (text: string): boolean => FIELD_WORD.test(text);

/** Returns whether all parts of a text could be words, and no more than two are numbers: `getServerSideProps`. */
export function isName(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|\d+|[^-_./]/g) ?? [];
  const words = parts.filter((part) => /^(?=.{1,20}$)[A-Z]?[a-z]*[aeiouy][a-z]*$/.test(part));
  const numbers = parts.filter((part) => /^\d/.test(part));
  if (numbers.length > 2 || words.length === 0 || words.length + numbers.length < parts.length) return false;
  return words.join("").length >= 4.5 * words.length && !/[-_./]{2}|[-_./]$/.test(text);
}

/** Returns whether most letters are in pieces that could be words: `TestColor256Fallback`. */
function isMostlyWords(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  const words = parts.filter((part) => /^(?=.*[aeiouy])[A-Z]?[a-z]{2,}$/.test(part));
  const letters = parts.join("").length;
  return letters >= 3 * parts.length && words.join("").length >= 0.6 * letters;
}

/** Returns whether a text mixes letters with digits or signs as few words do. */
function isMixed(text: string): boolean {
  return /\p{L}/u.test(text) && /[0-9]|[^\p{L}\p{N}_.:/|\s-]/u.test(text);
}

/** Returns whether a text is long and mixes letters, digits and signs as no name does. */
export function looksRandom(text: string): boolean {
  if (text.length < RANDOM_MIN || UUID.test(text) || HEX.test(text) || isWords(text) || ALGORITHM.test(text))
    return false;
  const changes = countChanges(text);
  const ratio = changes / text.length;
  if (new Set(text.slice(0, 200)).size < 9) return false;
  if (/[0-9]/.test(text)) return changes >= 5 && ratio >= 0.25;
  return ratio >= 0.42 && !(/^[a-z]+(?:[A-Z][a-z]+)+$/.test(text) && isMostlyWords(text));
}

/** Pairs of letters that hardly any word has, not even where two words meet. */
const RARE_PAIRS =
  /(?=(?:b[fkqxz]|c[gjvx]|d[xz]|f[jqvxz]|g[qjvxz]|h[jxz]|j[bcdfghjklmnpqrtvwxyz]|k[jqxz]|m[jqxz]|p[jqvxz]|q[a-tv-z]|s[xz]|t[jqx]|v[bcdfghjklmnpqtwxz]|w[jqvxz]|x[bdgjkrvz]|y[jq]|z[bcdfgjkmnpqrstvwx]))/gi;

/** Returns whether letters alone are random: case changes more often than in words, or no vowel occurs for long. */
function isScrambled(text: string): boolean {
  if (!/^[A-Za-z]{10,}$/.test(text)) return false;
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) {
    return /[bcdfghjklmnpqrstvwxz]{6}/i.test(text) || (text.match(RARE_PAIRS)?.length ?? 0) >= 2;
  }
  if (/[A-Z]{3}|[A-Z]$|[bcdfghjklmnpqrstvwxz]{5}/.test(text)) return true;
  return text.length / (text.match(/[A-Z]?[a-z]+|[A-Z]+/g)?.length ?? 1) < 4;
}

/** Returns the longest part between joints: cache keys are words, versions and hashes in a row. */
export function longestPart(text: string): string {
  return text.split(/[-_.:/]/).reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

/** `my-secret-name-2`, `getServerSideProps`, `v1.2.3`: words and small numbers joined in the usual ways. */
export function isWords(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? [];
  const words = parts.filter((part) => /[A-Za-z]/.test(part));
  const numbers = parts.length - words.length;
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const joined = /[-_./:|]/.test(text) || numbers === 0;
  return joined && !/[^\w./:@|-]/.test(text) && numbers <= 2 && letters / Math.max(1, words.length) >= 3.5;
}

/** Returns how often small letters, capitals, digits and signs take turns. */
const countChanges = (text: string): number =>
  (text.match(/[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+/g)?.length ?? 1) - 1;

/** Shorter ones are mostly ids. */
const MIN = 20;
/** Longer ones are pictures, certificates, source maps and signatures. */
const MAX = 200;
/** Lines of a key's body are this long. */
const [BODY_MIN, BODY_MAX] = [60, 76];

/** Matches what precedes a value that is public: a checksum, an id, a public key, a place in a list. */
const PUBLIC_BEFORE =
  /(?:\bsha\d{1,3}(?:[-:=_ ]|sum)|SHA256:|\bmd5[-:=]|\bh1:|base64,|nonce[-=]|["'][xyne]["']\s?:\s?["']|ssh-\w+ |ecdsa-\S{1,30} |W\/"|(?:id|hash|digest|checksum|integrity|fingerprint|etag|nonce|commit|sha|rev|cursor|uuid|ref|guid|version|sum|md5|thumbprint|mappings|public_?key|pubkey|name|class(?:Name)?|type|file|path|url|href|src)["'`]?\s{0,2}[:=>]{1,2}\s{0,2}["'`]?)$/i;
/** `toolu_01…`, `chatcmpl-9a…`, `cus_N…`: what a short word begins is an id. */
const ID = /^(?:[A-Za-z]{1,12}[_-]){1,3}[A-Za-z0-9]+$|^[0-9a-f]{6,}(?:-[0-9A-Za-z]{1,12})+$/;
/** Certificates, public keys and sums say so at their beginning. */
const PUBLIC = /^(?:MII.{3}CC|MII.{3}ANBgkq|MFkwEwYH|MCowBQYDK2V|AAAA[BCE]|sha\d{1,3}-|h1:)/;
const ADDRESS_OF_SECRET = /reset|invite|magic|verif|confirm|token|hook|unsubscribe|auth|secret/i;

/** Returns whether a run of base64 characters is a secret by its looks, and where that ends. */
export function isRandom(text: string, { start, end }: { start: number; end: number }): boolean {
  const length = end - start;
  if (length < MIN || length > MAX) return false;
  const token = text.slice(start, end);
  if (!/[A-Z]/.test(token) || !/[a-z]/.test(token) || !/[0-9]/.test(token)) return false;
  if (isHex(token) || isUuid(token) || ID.test(token) || PUBLIC.test(token) || isMostlyWords(token))
    return false;
  if (!looksRandom(token.replace(/[+/=]/g, "")) || isPath(token)) return false;
  if (/^(?:\.[A-Za-z]\w{0,4}\b|@)/.test(text.slice(end, end + 7))) return false;
  if (PUBLIC_BEFORE.test(text.slice(Math.max(0, start - 40), start))) return false;
  return !isInAddress(text, start);
}

/** A path has segments that are words; base64 has a slash in about one of 64 characters. */
function isPath(token: string): boolean {
  if (!/[/_-]/.test(token)) return false;
  if (/^(?:[a-z]{2,}|[A-Z][a-z]+)\//.test(token)) return true;
  const parts = token.split(/[/_-]/);
  const words = parts.filter((part) =>
    /^(?:(?:[A-Z]?[a-z]{2,}){1,6}\d*|\d+|[A-Z]{2,}|[0-9a-f]{7,40})$/.test(part),
  );
  return (
    words.join("").length > token.length / 4 || !parts.some((part) => looksRandom(part) || part.length >= 12)
  );
}

/** Returns whether a place is in the path of an address: only its parameters hold secrets. */
function isInAddress(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 300), start);
  const address = /[\w+.-]{2,20}:\/\/[^\s"'<>]*$/.exec(before)?.[0];
  if (address === undefined) return /[\w.-]\/$|@$/.test(before);
  return !/[?#&;]/.test(address) && !ADDRESS_OF_SECRET.test(address);
}

/** No line with a secret begins further back; a text of one long line is not gone through from each place. */
const LINE_REACH = 400;

function lineStart(text: string, at: number): number {
  const from = Math.max(0, at - LINE_REACH);
  return from + text.slice(from, at).lastIndexOf("\n") + 1;
}

/** Signs that editors, diffs, quotes and tools put before a line: numbers, `+`, `>`, `|`. */
const PREFIX =
  /[ \t]{0,80}(?:(?:\d{1,6}(?:→|[:|\t-])|L\d{1,6}[: ]|[+>|-](?=[ \t+>|]|$)|[+>](?=\S))[ \t]{0,80}){0,4}/y;

/** Returns where the content of the line that begins here begins. */
function contentStart(text: string, line: number): number {
  PREFIX.lastIndex = line;
  return PREFIX.test(text) ? PREFIX.lastIndex : line;
}

/** Returns whether a run is one whole line of a key's body. */
export function isBodyLine(text: string, { start, end }: { start: number; end: number }): boolean {
  if (end - start < BODY_MIN || end - start > BODY_MAX) return false;
  return (
    start - contentStart(text, lineStart(text, start)) <= 1 &&
    /^["',]?\s*?(?:\n|$)/.test(text.slice(end, end + 8))
  );
}

/** Returns the text that a run of base64 hides, if it hides one. */
export function decode(run: string): string | undefined {
  if (run.length < 16 || run.length > 16_384 || !/[A-Z]/.test(run) || !/[a-z]/.test(run)) return undefined;
  try {
    if (!/^[\t\n\r -~]+$/.test(atob(run.slice(0, 16).replaceAll("-", "+").replaceAll("_", "/"))))
      return undefined;
    const text = atob(run.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/"));
    return /^[\t\n\r -~]+$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
