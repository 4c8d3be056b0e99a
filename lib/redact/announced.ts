/**
 * Finds the values that names announce: assigned, given as an option, in an element, as a sibling (`name`, `value`), or said.
 *
 * A name alone proves nothing (`password: string`, `token = getToken()`), so the value has to look like a secret, too.
 */

import {
  HASH,
  isFieldName,
  isPlaceholderWord,
  isUuid,
  isWords,
  longestPart,
  lookAt,
  MIXED,
  NONE,
  RANDOM,
  SCRAMBLED,
  WORD,
} from "./looks.ts";
import { type Name, PASSWORD, SECRET, TOKEN } from "./names.ts";
import { contentStart } from "./plain.ts";
import type { Found } from "./secrets.ts";

/** How a value is given: it can be nothing else, it may be code, it is said in a sentence, or it only follows. */
type Given = "certain" | "written" | "said" | "near";

const CLOSE = String.raw`["'\`\])*_]{0,5}[?!]?(?: (?:\[[^\]\n]{0,40}\]|\([\w .-]{1,30}\)))?`;
const QUOTE = "[\"'`“„«「]";
const STRING = `[bfruLN@$]{0,2}${QUOTE}`;
/** `: &str =`, `: SecretStr =`, `{ get; set; } =`, `<const> =`, `[] =`. */
const TYPE = String.raw`(?:\s{0,4}:\s{0,4}[^\n="'\`:;,]{1,50}|\s?\{[^{}\n=]{1,40}\}|\s?<\w{1,20}>|\[\w{0,6}\])\s{0,4}=\s{0,4}`;
/** A call or a list around the value: `Buffer.from(`, `[]byte(`, `Field(default=`, `[`. */
const WRAPPER = String.raw`(?:(?:new )?[\w.:[\]<>]{1,40}!?\(\s{0,2}(?:\w{1,12} ?[=:] ?)?|[{[(]\s{0,12})`;
const SCHEME = String.raw`(?:(?:bearer|basic|token|apikey|digest|negotiate)[ \t]{1,4})?`;
const ONE_SIBLING = String.raw`(?:["']?\w{1,20}["']? ?[:=] ?["'][^"'\n]{0,60}["'],?\s{0,20})?`;
const REST_OF_PHRASE = String.raw`(?: (?:for|of|to|on|at|in|für|zu|de|pour|para) [\w@.'/-]{1,40}(?: [\w@.'/-]{1,40}){0,3}?)`;
const VERB =
  "(?:has|is|was|are|been|now|be|should|will|set|changed|changes|reset|rotated|updated|to|still|called|ist|war|lautet|est|es|é|är|er|jest|je)";

/** The ways from a name to its value, each with what it makes of it. */
const WAYS: [given: Given, way: RegExp][] = [
  ["certain", new RegExp(`${CLOSE}${TYPE}${WRAPPER}?(?=${STRING})${STRING}`, "y")],
  // a default for a missing variable, or the second argument
  [
    "certain",
    new RegExp(`["'\`\\])]{0,3}\\s{0,4}(?:,|\\|\\||\\?\\?|\\bor\\b)\\s{0,8}${STRING}${SCHEME}`, "iy"),
  ],
  ["certain", /:[-=]|=["']?\$\((?:echo|printf) (?:-\w{1,3} |["']%s["'] )?["']?/y],
  [
    "certain",
    new RegExp(
      `["']?(?:,\\s{0,40}|\\s{1,40}|\\s?\\{[^{}]{0,200}?)${ONE_SIBLING}["']?(?:[Vv]alue|default)["']?\\s{0,4}[:=]\\s{0,4}["']?`,
      "y",
    ),
  ],
  ["certain", /["']?(?:\s[^<>\n]{0,100})?>\s{0,8}|<\/\w{1,20}>\s{0,20}<\w{1,20}>/y],
  [
    "certain",
    new RegExp(`${CLOSE}\\s{0,24}(?::=|=>|[:=]={0,2})\\s{0,24}${WRAPPER}?${STRING}${SCHEME}`, "iy"),
  ],
  [
    "written",
    new RegExp(`${CLOSE}\\s{0,8}(?::=|=>|->|→|[:=]={0,2}|：)(?:\\*{1,3}|__)?\\s{0,24}${SCHEME}`, "iy"),
  ],
  ["said", new RegExp(`\\(\\s{0,4}${STRING}`, "y")],
  [
    "said",
    new RegExp(
      `${CLOSE}(?:${REST_OF_PHRASE}?(?: ${VERB}){1,4}:?|${REST_OF_PHRASE}:)\\s{1,2}${QUOTE}{0,2}`,
      "y",
    ),
  ],
  ["said", /\s{0,2}(?:是|为|は|가|는|은)\s{0,2}["'`«「]{0,2}/y],
  ["near", /(?:\s{0,8}\|\s{0,8}|["'`]?[ \t]{1,8})["'`]?/y],
];
const [, ARGUMENT, , , ELEMENT] = WAYS.map(([, way]) => way);
/** A value is judged by its first part and then consumed, so that many names in one long run stay linear. */
const BARE = /(?:[^\s"'`,;<>()[\]{}|&，。、」»]|&(?![\w.-]{1,40}=|&)){1,128}/y;
const REST = /(?:[^\s"'`,;<>()[\]{}|&，。、」»]|&(?![\w.-]{1,40}=|&))*/y;

/** Reports the value that a name announces, and returns where it ends. */
export function findAnnounced(text: string, name: Name, found: Found): number {
  for (const [given, way] of WAYS) {
    way.lastIndex = name.end;
    if (!way.test(text) || !fits(text, name, way)) continue;
    const value = readValue(text, name, { given, start: way.lastIndex });
    if (!value || !isSecret(text, name, value)) continue;
    REST.lastIndex = value.end;
    const isCut = !value.isQuoted && value.text.length === 128 && REST.test(text);
    const end = isCut ? REST.lastIndex : value.end;
    found(value.start, end, name.kind);
    return end;
  }
  return name.end;
}

/** A second argument follows a first one, an element's content its tag. */
function fits(text: string, name: Name, way: RegExp): boolean {
  const before = text.slice(Math.max(0, name.start - 100), name.start);
  if (way === ELEMENT)
    return /<[^<>\n]*$|<key>$/.test(before) && /<\//.test(text.slice(way.lastIndex, way.lastIndex + 500));
  if (way === ARGUMENT && text.slice(name.end, way.lastIndex).includes(","))
    return /[([]\s*["'`]$/.test(before) && (before.includes("(") || name.kind === "authorization");
  if (
    /\($/.test(text.slice(name.end, way.lastIndex).trimEnd().slice(0, 1)) &&
    /^(?:get|read|find|has|load|is|t$)/i.test(name.text)
  )
    return false;
  if (/sig(?:nature)?$/i.test(name.text)) return /[?&;]$/.test(before);
  return true;
}

interface Value {
  text: string;
  start: number;
  end: number;
  given: Given;
  isQuoted: boolean;
}

const CLOSING: Record<string, string> = { "“": "”", "„": "“", "«": "»", "「": "」" };

function readValue(
  text: string,
  name: Name,
  { given, start }: { given: Given; start: number },
): Value | undefined {
  const quote = text.charAt(start - 1);
  if (/["'`“„«「]/.test(quote) && start > name.end) {
    const close = text.indexOf(CLOSING[quote] ?? quote, start);
    const end = close === -1 || close - start > 4096 ? -1 : close;
    if (end !== -1 && !text.slice(start, end).includes("\n"))
      return { text: text.slice(start, end), start, end, given, isQuoted: true };
  }
  BARE.lastIndex = start;
  if (!BARE.test(text)) return undefined;
  const end = BARE.lastIndex;
  return { text: text.slice(start, end), start, end, given, isQuoted: false };
}

/** Environment variables and npm's `_authToken`: no code follows `=`, but the value itself. */
const VARIABLE = /^(?:[A-Z0-9_]+|_[a-z]\w*)$/;
/** What makes sure of a value that only follows after a blank: a command that sets a variable, a login. */
const BEFORE_BLANK = /(?:\b(?:ENV|setx|setenv)|\blogin\s+\S{1,100})\s+$/;

/** A line that tells the user, before one that tells the password. */
const AFTER_USER = /\b(?:user(?:name)?|login|email|host|port|database)["']?\s?[:=]\s?\S*(\s+)$/i;

function isSecret(text: string, name: Name, value: Value): boolean {
  const between = text.slice(name.end, value.start);
  const before = text.slice(Math.max(0, name.start - 120), name.start);
  const isVariable =
    VARIABLE.test(name.text) &&
    (between.startsWith("=") ||
      value.given === "certain" ||
      (value.given === "near" && /\b(?:ENV|setx|setenv) +$/.test(before)));
  const isSetting = /^(?:requirepass|masterauth|rootpw)$/.test(name.text) || BEFORE_BLANK.test(before);
  const hasScheme = /(?:bearer|basic|token|apikey|digest|negotiate)[ \t]+$/i.test(between);
  const isCertain =
    value.given === "certain" ||
    isVariable ||
    /^-|^(?:\w+\.)*set[A-Z_]/.test(name.text) ||
    (value.given === "near" && isSetting) ||
    (/^[:=]/.test(between) && /[?&]$|\$\{$/.test(before)) ||
    (between === "=" && (name.text.includes(".") || AFTER_USER.test(before) || isLine(text, name, value))) ||
    ((/\*\*|__/.test(between) || AFTER_USER.test(before)) && isLine(text, name, value)) ||
    hasScheme;
  if (!isCertain) trimEnd(value);
  const { text: v, isQuoted, given } = value;
  if (/\s/.test(v)) return isQuoted && isPhrase(v, { name, isVariable, given });
  if (!isQuoted && /[([]/.test(text.charAt(value.end))) return false;
  const look = lookAt(v);
  if (name.level === TOKEN) {
    if (look === HASH && !/^0x[0-9a-f]{64}$/i.test(v))
      return (
        isCertain &&
        (hasScheme ||
          name.kind === "token" ||
          (!isUuid(v) && v.length >= 32 && (isVariable || /[?&]$/.test(before))))
      );
    const part = lookAt(longestPart(v));
    return look === HASH || part === RANDOM || (isCertain && part === SCRAMBLED && v.length >= 16);
  }
  if (look === RANDOM) return true;
  if (isVariable && look !== NONE && v.length >= 8) return !(v.includes("/") && isWords(v));
  if (name.level === SECRET) {
    const isGiven = isCertain || given === "written";
    if (look === HASH || !isGiven) return look === HASH && isGiven;
    return (
      look === MIXED && v.length >= 8 && !isFieldName(v) && (isCertain ? !isWords(v) : /[^\w.:/|-]/.test(v))
    );
  }
  if (isCertain) return look >= WORD;
  // `call({ password: input1, host: db1 })` is code
  if (given === "written")
    return (
      look >= MIXED &&
      (look > MIXED || isQuoted || !/^[A-Za-z_]\w*$/.test(v) || !/[,)};]/.test(text.charAt(value.end)))
    );
  if (look < MIXED || v.length < 5 || /[/\\]|\w\.\w|::/.test(v)) return false;
  if (between.includes("|")) return isFirst(text, name);
  return given === "said" || (!/^pass$/i.test(name.text) && (isQuoted || (/\d/.test(v) && !isWords(v))));
}

function trimEnd(value: Value): void {
  const trimmed = value.text.replace(/[.,:;!?*]+$/, "");
  if (!value.isQuoted) value.end -= value.text.length - trimmed.length;
  value.text = trimmed;
}

/** Several words are a passphrase where a variable or a sentence can mean nothing else. */
function isPhrase(
  v: string,
  { name, isVariable, given }: { name: Name; isVariable: boolean; given: Given },
): boolean {
  if (v.length > 200 || name.level < SECRET || isFieldName(v) || isPlaceholderWord(v)) return false;
  return (
    isVariable ||
    (name.level === PASSWORD &&
      given !== "near" &&
      (/\d/.test(v) || !/[A-Z.,]/.test(v)) &&
      v.split(/\s+/).length <= 8)
  );
}

/** `password=sqlroot`, alone on its line as in a file of settings. */
function isLine(text: string, name: Name, { end }: Value): boolean {
  return isFirst(text, name) && /^["'`*\]}\s]{0,8}?(?:\n|$)/.test(text.slice(end, end + 9));
}

/** Returns whether a name is the first on its line, or in the first cell of a row. */
function isFirst(text: string, name: Name): boolean {
  const line = text.lastIndexOf("\n", name.start - 1) + 1;
  return /^[\s*_`|-]*$/.test(text.slice(contentStart(text, line), name.start));
}
