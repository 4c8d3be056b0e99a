/**
 * Finds secrets by their position: after a name such as `password`, in a URL, in an authorization header.
 *
 * A name alone proves nothing (`password: string`, `token = getToken()`), so the value has to look like a secret, too.
 */

import { FIELD_WORD, looksRandom, looksSecret } from "./tokens.ts";

/** Names whose value is a secret whatever it looks like, as long as it is a value. */
const STRONG =
  /(?:pass(?:word|wort|wd|phrase|code)|pwd|(?<![a-z])(?:pass|PASS)|(?<=[a-z])Pass|secrets?|credentials?|(?:api|access|secret|private|auth|encryption|signing|account|shared|master|app|service|client|consumer|deploy|bot|webhook|license)[_. -]?key|(?:access|auth|refresh|bearer|id|api|bot|oauth|security|personal|deploy|secret|private)[_. -]?token|authorization)$/i;
/** Names that end like these but hold nothing secret. */
const HARMLESS =
  /(?:public|primary|foreign|cache|partition|sort|idempotency|dedup\w*|lookup|object|map|query|row|unique|group|hash|site|publishable|page|next|continuation|sync|cursor|delta|design)[_. -]?(?:keys?|tokens?)$/i;
const NAME =
  /(?:password|passwort|passwd|passphrase|passcode|pwd|pass|secrets?|credentials?|authorization|auth|token|key|signature|sig)(?:[_-]?(?:base|data|value|prod|production|dev|staging|test|live|old|new|primary|secondary|\d{1,2}))?(?![A-Za-z0-9]|_(?!_(?:[:\s]|$)))/gi;
const SEPARATOR =
  /\\{0,3}["'`]?\]?(?:\*{1,3}|_{1,3})?(?: \[[^\]\n]{0,40}\])?[ \t]{0,8}(?::=|=>|[:=]={0,2})(?:\*{1,3}(?!\w)|__(?!\w))?\s{0,8}/y;
/** A quoted value with blanks. */
const PHRASE = /[^"'`\\\n<>]{1,200}(?=["'`])/y;
const FLAG_SEPARATOR = /[ \t]{1,4}/y;
const SCHEME = /(?:bearer|basic|token|apikey|digest|negotiate)[ \t]{1,4}/iy;
const OPEN_QUOTE = /\\{0,3}["'`]/y;
/** A value is judged by its first part and then consumed, so that many names in one long run stay linear. */
const QUOTED_START = /(?:[^\s"'`\\<>]|\\(?!["'`nrt\\])){1,512}/y;
const BARE_START = /(?:[^\s"'`\\,;<>()[\]{}|&]|&(?![\w.-]{1,40}=|&)|\\(?!["'`nrt\\])){1,512}/y;
const QUOTED_REST = /(?:[^\s"'`\\<>]|\\(?!["'`nrt\\]))*/y;
const BARE_REST = /(?:[^\s"'`\\,;<>()[\]{}|&]|&(?![\w.-]{1,40}=|&)|\\(?!["'`nrt\\]))*/y;
const NAME_MAX = 60;

const BEARER = /(?<![A-Za-z])(bearer[ \t]{1,4})([A-Za-z0-9._~+/=-]{16,})/gi;
/** Keys as user names, as in a clone URL or the address of an error collector. */
const HEX_USER = /^[0-9a-f]{32,64}$/;
/** `curl -u name:password`, on the line of the command's name. */
const CURL = /\b(?:curl|wget|https?|xh|hurl)\b[^\n]*$/;
const CURL_USER =
  /((?:^|\s)(?:-u|--user|--proxy-user)[ =]{1,2}["']?[^\s:"'$]{1,100}:)([^\s"'$<{][^\s"']{3,})/g;
/** `mysql -pX`, the one client whose password hangs on a letter. */
const MYSQL_PASSWORD = /(\bmysql(?:dump|admin)?\b[^\n|;&]{0,200}?\s-p["']?)([^\s"'$<{-][^\s"']{2,})/g;
const COOKIE = /\b((?:set-)?cookie["']?[ \t]{0,4}:[ \t]{0,4}["']?)([^\n"']{1,4096})/gi;
const COOKIE_VALUE = /(=)([^\s;,"']{16,})/g;
const URL_USER = /:\/\/([^\s:@/?#"'`<>[\\]{0,256})(?::([^\s/"'`<>\\]{1,256}))?@/g;

/** Returns whether the name before the separator at `at` may introduce a secret. A cheap prefilter. */
export function endsSensitiveName(text: string, at: number): boolean {
  let end = at;
  while (end > 0 && at - end < 12 && isBetween(text.charCodeAt(end - 1))) end--;
  return NAME_TAILS.has(tailCode(text, end)) && NAME_END.test(text.slice(Math.max(0, end - 28), end));
}

const DIGIT_TAIL = -1;
const NAME_END = new RegExp(`(?:${NAME.source}|cookie)$`, "i");
/** The last three letters of all names and suffixes, as numbers. */
const NAME_TAILS = new Set(
  "kie ata ord ort swd ase ode pwd ass ret ets ial als ion uth ken key ure sig lue rod dev ing est ive old new ary"
    .split(" ")
    .map((tail) => tailCode(tail, 3))
    .concat(DIGIT_TAIL),
);

/** Packs the three characters before `end` into a number, without allocating a string; any digit maps to one code. */
function tailCode(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  if (last >= 0x30 && last <= 0x39) return DIGIT_TAIL;
  return ((text.charCodeAt(end - 3) | 0x20) << 16) | ((text.charCodeAt(end - 2) | 0x20) << 8) | (last | 0x20);
}

/** White space, quotes, escapes, emphasis, brackets and halves of longer separators. */
function isBetween(code: number): boolean {
  return (
    code === 0x20 ||
    code === 0x2a ||
    code === 0x5f ||
    code === 0x22 ||
    code === 0x27 ||
    code === 0x5c ||
    code === 0x5d ||
    code === 0x60 ||
    code === 0x09 ||
    code === 0x3a ||
    code === 0x3d
  );
}

/** Replaces the values of names such as `password` or `apiKey`. */
export function replaceAssigned(whole: string, mark: (kind: string) => string): string {
  const text = replaceCookies(whole, mark);
  let result = "";
  let done = 0;
  let runEnd = 0;
  let tries = 0;
  NAME.lastIndex = 0;
  for (let name = NAME.exec(text); name; name = NAME.exec(text)) {
    tries = name.index < runEnd ? tries + 1 : 0;
    if (tries > TRIES_MAX) {
      NAME.lastIndex = runEnd;
      continue;
    }
    const value = valueAfter(text, name.index, NAME.lastIndex);
    if (!value) continue;
    runEnd = Math.max(runEnd, value.end);
    if (!value.secret) continue;
    result += text.slice(done, value.start) + mark(value.kind);
    done = value.end;
    NAME.lastIndex = value.end;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** Attempts within one value made of names (`key=key=key=…`). */
const TRIES_MAX = 8;

interface Value {
  kind: string;
  start: number;
  end: number;
  secret: boolean;
}

function valueAfter(text: string, keyword: number, nameEnd: number): Value | undefined {
  const name = wholeName(text, keyword, nameEnd);
  const inMarker = text.startsWith("[redacted:", nameEnd - name.length - 10);
  if (inMarker || !isName(text, keyword, name) || HARMLESS.test(name)) return undefined;
  const signature = /sig(?:nature)?$/i.test(name);
  // a model's signature under its thinking is no secret, one in an address opens it
  if (signature && !/[?&;]/.test(text[nameEnd - name.length - 1] ?? "")) return undefined;
  const flag = name.startsWith("--");
  let afterName = skip(SEPARATOR, text, nameEnd);
  if (afterName === nameEnd && flag) afterName = skip(FLAG_SEPARATOR, text, nameEnd);
  if (afterName === nameEnd) return undefined;
  const open = skip(OPEN_QUOTE, text, afterName);
  const quoted = open > afterName;
  const start = skip(SCHEME, text, open);
  const sampleEnd = skip(quoted ? QUOTED_START : BARE_START, text, start);
  // a call or an index is code that gets the value from elsewhere
  if (!quoted && /[([]/.test(text[sampleEnd] ?? "")) return undefined;
  const before = text[nameEnd - name.length - 1] ?? "";
  const isAssigned = text[nameEnd] === "=" && afterName === nameEnd + 1;
  const exact =
    start > open ||
    (isAssigned && isExact(name, before)) ||
    (isPassword(name) && isGivenWord(text, { name, nameEnd, open, quoted, sampleEnd }));
  const full = qualified(text, { name, nameEnd });
  const strong = STRONG.test(full) || (flag && name.endsWith("token")) || signature;
  if (quoted && exact && strong && text[sampleEnd] === " ") {
    const phraseEnd = skip(PHRASE, text, start);
    if (phraseEnd > sampleEnd && looksSecret(text.slice(start, phraseEnd), { strong, literal: true, exact }))
      return { kind: kindOf(name), start, end: phraseEnd, secret: true };
  }
  const sample = text.slice(start, sampleEnd);
  const end = skip(quoted ? QUOTED_REST : BARE_REST, text, sampleEnd);
  const secret = looksSecret(sample, {
    // between words `access key: Alt+Shift+1` is none
    strong: strong && (!full.includes(" ") || sample.length >= 16),
    literal:
      quoted || flag || exact || (/[0-9]/.test(sample) && isPasswordLine(text, { name, nameEnd, end })),
    exact,
    token: /token$/i.test(name) && (quoted || exact),
  });
  return { kind: kindOf(name), start, end: quoted ? end : trimEnd(text, start, end), secret };
}

/** Environment variables, npm's `_authToken`, addresses and connection strings: no code follows, but the value itself. */
function isExact(name: string, before: string): boolean {
  if (before === "?" || before === "&") return true;
  return before === ";" ? /^(?:Password|Pwd)$/.test(name) : EXACT_NAME.test(name);
}

const EXACT_NAME = /^(?:[A-Z0-9_]+|_[a-z]\w*)$/;

/** `password: hunter2` as a line of its own, as in YAML or a message. */
function isPasswordLine(
  text: string,
  { name, nameEnd, end }: { name: string; nameEnd: number; end: number },
): boolean {
  const start = nameEnd - name.length;
  return (
    /(?:password|passwort|passwd|passphrase|pwd)$/i.test(name) &&
    /(?:^|\n)[ \t>|*-]{0,40}$/.test(text.slice(Math.max(0, start - 42), start)) &&
    /^[ \t]*(?:\r?\n|$)/.test(text.slice(end, end + 40))
  );
}

function isPassword(name: string): boolean {
  return /(?:password|passwort|passwd|passphrase|pwd)$/i.test(name);
}

/** `"password":"tigerlily"`, `--password=tigerlily`, `**Password:** tigerlily`: a word, but no code's and no form's. */
function isGivenWord(
  text: string,
  {
    name,
    nameEnd,
    open,
    quoted,
    sampleEnd,
  }: { name: string; nameEnd: number; open: number; quoted: boolean; sampleEnd: number },
): boolean {
  const value = text.slice(open, sampleEnd);
  if (!/^[a-z]{8,40}$/.test(value) || FIELD_WORD.test(value)) return false;
  if (quoted) return /["'`\\]/.test(text[sampleEnd] ?? "");
  if (name.startsWith("--")) return text[nameEnd] === "=";
  return (
    /\*\*/.test(text.slice(nameEnd, open)) &&
    /^[`*]{0,3}[ \t]*(?:\r?\n|$)/.test(text.slice(sampleEnd, sampleEnd + 40))
  );
}

const SUFFIX =
  /[_-]?(?:base|data|value|prod|production|dev|staging|test|live|old|new|primary|secondary|\d{1,2})$/i;

/** In `API key` and the like the word before belongs to the name. */
const QUALIFIER =
  /\b(?:api|access|secret|private|auth|client|account|service|encryption|signing|bot|bearer|refresh) $/i;

function qualified(text: string, { name, nameEnd }: { name: string; nameEnd: number }): string {
  const start = nameEnd - name.length;
  const word = /^(?:key|token)$/i.test(name)
    ? (QUALIFIER.exec(text.slice(Math.max(0, start - 12), start))?.[0] ?? "")
    : "";
  return (word + name).replace(SUFFIX, "");
}

/** Returns the keyword with its prefix: `DB_PASSWORD`, `client.secret`, `--api-key`. */
function wholeName(text: string, keyword: number, end: number): string {
  let start = keyword;
  while (start > 0 && keyword - start < NAME_MAX && /[\w.-]/.test(text[start - 1] ?? "")) start--;
  return text.slice(start, end);
}

/** Short keywords end ordinary words (`monkey`, `compass`), so they count only alone, after a joint or in camel case. */
function isName(text: string, keyword: number, name: string): boolean {
  const before = text[keyword - 1] ?? "";
  const first = text[keyword] ?? "";
  if (!/[A-Za-z]/.test(before)) return true;
  if (/[A-Z]/.test(first) && /[a-z]/.test(before)) return true;
  if (before === "n" && text[keyword - 2] === "\\") return true;
  return /(?:password|passwort|passwd|passphrase|secret|token|apikey)(?:[_-]?\w+)?$/i.test(name);
}

function kindOf(name: string): string {
  if (/pass|pwd/i.test(name)) return "password";
  if (/token/i.test(name)) return "token";
  if (/key/i.test(name)) return "key";
  return /authorization|auth$/i.test(name) ? "authorization" : "secret";
}

function skip(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

function trimEnd(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && /[.:!?]/.test(text[last - 1] ?? "")) last--;
  return last;
}

/** Replaces passwords in URLs and commands, and bearer tokens. */
export function replaceCredentials(text: string, mark: (kind: string) => string): string {
  return text
    .replace(URL_USER, (whole, user: string, password: string | undefined) => {
      const hidden =
        looksRandom(user) || HEX_USER.test(user) || password === "x-oauth-basic" ? mark("url-user") : user;
      if (password === undefined) return `://${hidden}@`;
      return isTemplate(password) ? whole : `://${hidden}:${mark("url-password")}@`;
    })
    .replace(BEARER, (whole, scheme: string, token: string) =>
      looksSecret(token, { strong: true, literal: false, exact: false })
        ? scheme + mark("authorization")
        : whole,
    )
    .replace(CURL_USER, (whole, before: string, _password, offset: number, all: string) =>
      CURL.test(all.slice(Math.max(0, offset - 300), offset)) ? before + mark("password") : whole,
    )
    .replace(MYSQL_PASSWORD, (_, before: string) => before + mark("password"));
}

function replaceCookies(text: string, mark: (kind: string) => string): string {
  const hidden = (whole: string, equals: string, value: string) =>
    looksRandom(value) || /^[0-9a-f]{24,}$/i.test(value) ? equals + mark("cookie") : whole;
  return text.replace(
    COOKIE,
    (_, name: string, values: string) => name + values.replace(COOKIE_VALUE, hidden),
  );
}

/** `${PASSWORD}`, `$PASS`, `{password}`, `%PASS%`, `***`, or a marker of ours. */
function isTemplate(value: string): boolean {
  return /^(?:\$[\w{(].*|\{.*\}|%\w+%|\*+|\[redacted:[a-z0-9-]+\]|x{3,}|\.{3,}|…)$/i.test(value);
}
