/**
 * Secrets that are known by where they stand: after a telling name, in a URL, in an authorization header.
 *
 * A name alone proves nothing (`password: string`, `token = getToken()`), so the value has to look like a secret, too.
 */

import { looksRandom, looksSecret } from "./entropy.ts";

/** Names whose value is a secret whatever it looks like, as long as it is a value. */
const STRONG =
  /(?:pass(?:word|wd|phrase|code)|pwd|(?<![a-z])(?:pass|PASS)|(?<=[a-z])Pass|secrets?|credentials?|(?:api|access|secret|private|auth|encryption|signing|account|shared|master|app|service|client|consumer|deploy|bot|webhook|license)[_. -]?key|(?:access|auth|refresh|bearer|id|api|bot|oauth|security|personal|deploy|secret|private)[_. -]?token|authorization)$/i;
/** Names that end like these but hold nothing secret. */
const HARMLESS =
  /(?:public|primary|foreign|cache|partition|sort|idempotency|dedup\w*|lookup|object|map|query|row|unique|group|hash|site|publishable|page|next|continuation|sync|cursor|delta|design)[_. -]?(?:keys?|tokens?)$/i;
const NAME =
  /(?:password|passwd|passphrase|passcode|pwd|pass|secrets?|credentials?|authorization|auth|token|key|signature|sig)(?:[_-]?(?:base|value|prod|production|dev|staging|test|live|old|new|primary|secondary|\d{1,2}))?(?![A-Za-z0-9_])/gi;
const SEPARATOR = /\\{0,3}["'`]?\]?[ \t]{0,8}(?::=|=>|[:=]={0,2})\s{0,8}/y;
const FLAG_SEPARATOR = /[ \t]{1,4}/y;
const SCHEME = /(?:bearer|basic|token|apikey|digest|negotiate)[ \t]{1,4}/iy;
const OPEN_QUOTE = /\\{0,3}["'`]/y;
/** A value is judged by its first part, then consumed to its end: many names in one long run stay linear. */
const QUOTED_START = /(?:[^\s"'`\\<>]|\\(?!["'`nrt\\])){1,512}/y;
const BARE_START = /(?:[^\s"'`\\,;<>()[\]{}|&]|&(?![\w.-]{1,40}=|&)|\\(?!["'`nrt\\])){1,512}/y;
const QUOTED_REST = /(?:[^\s"'`\\<>]|\\(?!["'`nrt\\]))*/y;
const BARE_REST = /(?:[^\s"'`\\,;<>()[\]{}|&]|&(?![\w.-]{1,40}=|&)|\\(?!["'`nrt\\]))*/y;
const NAME_MAX = 60;

const BEARER = /(?<![A-Za-z])(bearer[ \t]{1,4})([A-Za-z0-9._~+/=-]{16,})/gi;
/** `curl -u name:password` */
const CURL_USER =
  /((?:^|\s)(?:-u|--user|--proxy-user)[ =]{1,2}["']?[^\s:"'$]{1,100}:)([^\s"'$<{][^\s"']{3,})/g;
const URL_USER = /:\/\/([^\s:@/?#"'`<>\\]{0,256})(?::([^\s/"'`<>\\]{1,256}))?@/g;

/** Whether the name before a separator at `at` may be followed by a secret. A cheap first look. */
export function endsSensitiveName(text: string, at: number): boolean {
  let end = at;
  while (end > 0 && at - end < 12 && isBetween(text.charCodeAt(end - 1))) end--;
  const tail = text.slice(Math.max(0, end - 3), end).toLowerCase();
  const possible = NAME_TAILS.has(tail) || /[0-9]$/.test(tail);
  return possible && NAME_END.test(text.slice(Math.max(0, end - 28), end));
}

const NAME_END = new RegExp(`(?:${NAME.source})$`, "i");
/** The last three letters of all names and suffixes. */
const NAME_TAILS = new Set(
  "ord swd ase ode pwd ass ret ets ial als ion uth ken key ure sig lue rod dev ing est ive old new ary".split(
    " ",
  ),
);

/** White space, quotes, escapes, brackets and halves of longer separators. */
function isBetween(code: number): boolean {
  return (
    code === 0x20 ||
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

/** The text with the values of telling names replaced. */
export function replaceAssigned(text: string, mark: (kind: string) => string): string {
  let result = "";
  let done = 0;
  NAME.lastIndex = 0;
  for (let name = NAME.exec(text); name; name = NAME.exec(text)) {
    const found = valueAfter(text, name.index, NAME.lastIndex);
    if (!found) continue;
    result += text.slice(done, found.start) + mark(found.kind);
    done = found.end;
    NAME.lastIndex = found.end;
  }
  return done === 0 ? text : result + text.slice(done);
}

interface Found {
  kind: string;
  start: number;
  end: number;
}

function valueAfter(text: string, keyword: number, nameEnd: number): Found | undefined {
  const name = wholeName(text, keyword, nameEnd);
  if (!isName(text, keyword, name) || HARMLESS.test(name)) return undefined;
  const flag = name.startsWith("--");
  let start = skip(SEPARATOR, text, nameEnd);
  const separated = start > nameEnd;
  if (!separated && flag) start = skip(FLAG_SEPARATOR, text, nameEnd);
  if (start === nameEnd) return undefined;
  const open = skip(OPEN_QUOTE, text, start);
  const quoted = open > start;
  const afterScheme = skip(SCHEME, text, open);
  const value = skip(quoted ? QUOTED_START : BARE_START, text, afterScheme);
  const sample = text.slice(afterScheme, value);
  // a call or an index is code that gets the value from elsewhere
  if (!quoted && /[([]/.test(text[value] ?? "")) return undefined;
  const strong = STRONG.test(name.replace(SUFFIX, "")) || (flag && name.endsWith("token"));
  const exact = /^(?:[A-Z0-9_]+|_[a-z]\w*)$/.test(name) && text[nameEnd] === "=" && start === nameEnd + 1;
  const literal = quoted || flag || exact || afterScheme > open;
  if (!looksSecret(sample, { strong, literal, exact: exact || afterScheme > open })) return undefined;
  const end = skip(quoted ? QUOTED_REST : BARE_REST, text, value);
  return { kind: kindOf(name), start: afterScheme, end: trimEnd(text, afterScheme, end, quoted) };
}

const SUFFIX =
  /[_-]?(?:base|value|prod|production|dev|staging|test|live|old|new|primary|secondary|\d{1,2})$/i;

/** The name with what stands before the keyword: `DB_PASSWORD`, `client.secret`, `--api-key`. */
function wholeName(text: string, keyword: number, end: number): string {
  let start = keyword;
  while (start > 0 && keyword - start < NAME_MAX && /[\w.-]/.test(text[start - 1] ?? "")) start--;
  return text.slice(start, end);
}

/** Short keywords end ordinary words (`monkey`, `compass`), so they must stand alone, after a joint or as a hump. */
function isName(text: string, keyword: number, name: string): boolean {
  const before = text[keyword - 1] ?? "";
  const first = text[keyword] ?? "";
  if (!/[A-Za-z]/.test(before)) return true;
  if (/[A-Z]/.test(first) && /[a-z]/.test(before)) return true;
  if (before === "n" && text[keyword - 2] === "\\") return true;
  return /(?:password|passwd|passphrase|secret|token|apikey)(?:[_-]?\w+)?$/i.test(name);
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

function trimEnd(text: string, start: number, end: number, quoted: boolean): number {
  let last = end;
  while (!quoted && last > start && /[.:!?]/.test(text[last - 1] ?? "")) last--;
  return last;
}

/** The text with passwords in URLs, bearer tokens and `-u name:password` replaced. */
export function replaceCredentials(text: string, mark: (kind: string) => string): string {
  return text
    .replace(URL_USER, (whole, user: string, password: string | undefined) => {
      const hidden = looksRandom(user) || password === "x-oauth-basic" ? mark("url-user") : user;
      if (password === undefined) return `://${hidden}@`;
      return isTemplate(password) ? whole : `://${hidden}:${mark("url-password")}@`;
    })
    .replace(BEARER, (whole, scheme: string, token: string) =>
      looksSecret(token, { strong: true, literal: false, exact: false })
        ? scheme + mark("bearer-token")
        : whole,
    )
    .replace(CURL_USER, (_, before: string) => before + mark("password"));
}

/** `${PASSWORD}`, `$PASS`, `{password}`, `%PASS%`, `***`, or a marker of ours. */
function isTemplate(value: string): boolean {
  return /^(?:\$[\w{(].*|\{.*\}|%\w+%|\*+|\[redacted:[a-z0-9-]+\]|x{3,}|\.{3,}|…)$/i.test(value);
}
