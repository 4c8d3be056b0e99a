/**
 * Replaces secrets by three questions asked of a text without its escapes: does a part have a known shape, is it near a name
 * that announces a secret, does it look random by itself?
 */

import { findAnnounced, findForeign } from "./announced.ts";
import { matches } from "./features.ts";
import { type CharacterRun, ESCAPED, FOREIGN, findFormat, findShapes, type Scan, scan } from "./formats.ts";
import { kindOfRun } from "./judge.ts";
import { decode, looksRandom, type ReportSecret } from "./looks.ts";

interface Span {
  start: number;
  end: number;
  kind: string;
  /** True for a span that was found by its looks alone. */
  isGuess?: boolean;
}

const TOKEN = /[A-Za-z0-9+][A-Za-z0-9+/_-]{15,}={0,2}/g;
/** Nearly all long runs of ordinary text are names and paths in small letters, or without a digit. */
const UNUSUAL = /^(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?:\D*\d|.*?[a-z][A-Z][a-z]?[A-Z])/;
/** `pw=` and four characters. */
const SHORTEST = 7;

/** Replaces every secret of a text by a marker of its kind. A value found by its looks alone is not looked for elsewhere. */
export function replaceSecrets(
  text: string,
  seen: Scan,
  taken?: (value: string, kind: string) => void,
): string {
  if (text.length < SHORTEST) return text;
  const plain = seen.bits & ESCAPED ? unescapeText(text) : { text, original: (at: number) => at };
  const spans = findSecrets(plain.text, plain.text === text ? seen : scan(plain.text));
  if (spans.length === 0) return text;
  if (taken)
    for (const { start, end, kind, isGuess } of spans)
      if (!isGuess) taken(plain.text.slice(start, end), kind);
  let result = "";
  let done = 0;
  for (const { start, end, kind } of merge(spans)) {
    const from = Math.max(done, plain.original(start));
    const to = plain.original(end);
    if (to <= from) continue;
    result += `${text.slice(done, from)}[redacted:${kind}]`;
    done = to;
  }
  return result + text.slice(done);
}

/** Puts spans in order; of two that overlap, a guess goes, else the one that begins first grows. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (!last || span.start >= last.end) merged.push({ ...span });
    else if (last.isGuess && !span.isGuess) merged[merged.length - 1] = { ...span };
    else if (!span.isGuess) last.end = Math.max(last.end, span.end);
  }
  return merged;
}

function findSecrets(text: string, { bits, words, prefixes, runs }: Scan): Span[] {
  const spans: Span[] = [];
  const found = (start: number, end: number, kind: string) => spans.push({ start, end, kind });
  const blocks = findKeyBlocks(text, prefixes, found).reverse();
  let from = 0;
  for (const at of prefixes)
    if (at >= from)
      from = text.startsWith("://", at) ? findInAddress(text, at, found) : findFormat(text, at, found);
  findAnnounced(text, words, found);
  if (bits & FOREIGN) findForeign(text, found);
  findShapes(text, runs, found);
  spans.push(...guess(text, runs, blocks));
  return spans;
}

/** Returns tokens that look like secrets, but not those within a block, which its label names, and of a key's lines the first. */
function guess(text: string, runs: readonly CharacterRun[], blocks: CharacterRun[]): Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (const run of runs) {
    const characters = text.slice(run.start, run.end);
    if (!UNUSUAL.test(characters)) continue;
    for (const { index, 0: token } of characters.matchAll(TOKEN)) {
      const start = run.start + index;
      for (; (blocks.at(-1)?.start ?? run.end) <= start; blocks.pop())
        from = Math.max(from, blocks.at(-1)?.end ?? 0);
      const kind = start < from ? undefined : kindOfToken(text, start, start + token.length);
      if (kind === undefined) continue;
      from = kind === "private-key" ? endOfBody(text, start) : start + token.length;
      spans.push({ start, end: from, kind, isGuess: true });
    }
  }
  return spans;
}

/** Returns the kind of a token that looks random, or is base64 of a text that holds a secret. */
function kindOfToken(text: string, start: number, end: number): string | undefined {
  const inner = decode(text.slice(start, end));
  if (inner === undefined) return kindOfRun(text, { start, end });
  return findSecrets(inner, scan(inner)).length > 0 ? "secret" : undefined;
}

const BEGIN = /(?<=-----)BEGIN ([A-Za-z0-9 ]{0,60}?)-----|Private-Lines: \d{1,3}\s/y;
const PRIVATE = /PRIVATE KEY(?: BLOCK)?$|^OpenVPN Static key/i;
/** A long piece of base64, which only a key's body contains. */
const MATERIAL = /[A-Za-z0-9+/=]{20}/;
/** Signs of editors, diffs, quotes and code around a line. */
const AROUND = "(?:[\\s\"'`+>|,\\\\#*;]|\\d{1,5}(?:[→:|-]|\\t)){0,80}";
/** A line of base64 or a key's header. */
const BODY_LINE = new RegExp(
  `${AROUND}(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\\n]{0,200}|[A-Za-z0-9+/=_-]{16,})`,
  "y",
);
/** The last, shorter line and the end line, if they are there. */
const BODY_END = new RegExp(
  `(?:["'\`,]?\\s?\\n${AROUND}(?=[a-z]*[A-Z0-9+/=])=?[A-Za-z0-9+/]{1,76}={0,2}(?=["',]?\\s*?(?:\\n|$)))?(?:${AROUND}-----END [\\w ]{1,60}-----)?`,
  "y",
);

/** The longest body that a block with an end is believed to have: a 16 Ki bit RSA key is 13 KB. */
const BODY_MAX = 40_000;

/** Reports private key blocks and returns the places of all blocks. A mere mention of a `BEGIN` line stays. */
function findKeyBlocks(text: string, places: readonly number[], found: ReportSecret): CharacterRun[] {
  const blocks: CharacterRun[] = [];
  for (const at of places) {
    BEGIN.lastIndex = at;
    const [begin, label] = BEGIN.exec(text) ?? [];
    if (begin === undefined || at < (blocks.at(-1)?.end ?? 0)) continue;
    const body = at + begin.length;
    const end = Math.max(endOfBody(text, body), label === undefined ? 0 : endOfBlock(text, body));
    const start = label === undefined ? body : at - 5;
    if (PRIVATE.test(label ?? "PRIVATE KEY") && MATERIAL.test(text.slice(body, end)))
      found(start, end, "private-key");
    blocks.push({ start, end });
  }
  return blocks;
}

/** Returns the end of a block by its own end line, whatever a log put before the lines between; 0 for a line of another block. */
function endOfBlock(text: string, body: number): number {
  const inner = text.slice(body, body + BODY_MAX);
  const { index = 0, 0: line = "" } = /-----(?:BEGIN|END [\w ]{1,60}-----)/.exec(inner) ?? {};
  const isOwn = line.startsWith("-----END") && MATERIAL.test(inner.slice(0, index));
  return isOwn ? body + index + line.length : 0;
}

/** Returns where a body that begins here ends. */
function endOfBody(text: string, from: number): number {
  let end = from;
  // a step for each line: an engine that holds all of them to go back on gets slow with thousands
  for (BODY_LINE.lastIndex = from; BODY_LINE.test(text); ) end = BODY_LINE.lastIndex;
  BODY_END.lastIndex = end;
  return BODY_END.test(text) ? BODY_END.lastIndex : end;
}

/** A line of nothing but base64, after what editors and diffs put before it: of some length, or the last, padded one. */
const KEY_LINE =
  /^([ \t]*(?:\d{1,6}[→:|\t-]|[+>|-](?=[\sA-Za-z0-9+/]))?[ \t]*)((?=[^\n]*[A-Z])(?=[^\n]*[a-z])[A-Za-z0-9+/]{16,76}|[A-Za-z0-9+/]{2,75}={1,2})(?=[ \t"',]*$)/gm;

/** Returns a text that follows one in which a key was open, without the lines of that key. */
export function replaceKeyLines(text: string): string {
  return text.replace(KEY_LINE, "$1[redacted:private-key]");
}

const KEY_EDGES = /-----(?:END |BEGIN [\w ]{0,60}PRIVATE KEY(?: BLOCK)?-----)/g;

/** Returns whether a key is open where a text ends; undefined if the text says nothing of it. */
export function leavesKeyOpen(text: string): boolean | undefined {
  // Every text is asked, and hardly one has such a line.
  const edges = text.includes("-----") ? text.match(KEY_EDGES) : null;
  if (edges) return edges.at(-1) !== "-----END ";
  const tail = text.slice(-120).trimEnd();
  const last = tail.slice(tail.lastIndexOf("\n") + 1);
  return last.length <= 100 && /^.{0,24}[A-Za-z0-9+/]{60,76}$/s.test(last) ? true : undefined;
}

/** Escapes of JSON, shells, addresses and markup, however often they were escaped again. */
const ESCAPE =
  /(?<!\\)\\+(?:u00([2-7][0-9a-f])|([nrtv])|\r?\n|(["'`/$!]))|%(?:25)*(2[1-9a-f]|3[a-f]|5[bd]|7[bd])|&(?:amp;)*(quot|apos|lt|gt|amp|#34|#39);/gi;
const CHARACTERS: Record<string, string> = {
  n: "\n",
  r: "\n",
  t: "\t",
  v: "\t",
  quot: '"',
  apos: "'",
  lt: "<",
  gt: ">",
  amp: "&",
  "#34": '"',
  "#39": "'",
};

/** Returns a text without escapes, and what gives the original of a place in it, asked in order. A continued line becomes one. */
function unescapeText(text: string): { text: string; original: (at: number) => number } {
  const shifts: [at: number, by: number][] = [];
  let removed = 0;
  const shorten = (
    whole: string,
    unicode?: string,
    control?: string,
    sign?: string,
    percent?: string,
    named?: string,
    at = 0,
  ) => {
    const code = unicode ?? percent;
    const character = code
      ? String.fromCharCode(Number.parseInt(code, 16))
      : (sign ?? CHARACTERS[(control ?? named ?? "").toLowerCase()] ?? "");
    removed += whole.length - character.length;
    shifts.push([at + whole.length - removed, removed]);
    return character;
  };
  const plain = text.replace(ESCAPE, shorten);
  let next = 0;
  const original = (at: number) => {
    while ((shifts[next]?.[0] ?? Infinity) <= at) next++;
    return at + (shifts[next - 1]?.[1] ?? 0);
  };
  return { text: plain, original };
}

const USER = /:\/\/([^\s:@/?#"'`<>[\\]{0,256})(?::([^\s"'`<>\\]{1,256})@|@(?=[\w[$]))/y;
const PORT = /^\d{1,5}(?:[/?#]|$)/;
/** Keys as user names, as in a clone URL or the address of an error collector. */
const HEX_USER = /^[0-9a-f]{32,64}$/;

/** Reports the user and the password of the address that begins here, and returns where they end. */
function findInAddress(text: string, at: number, found: ReportSecret): number {
  USER.lastIndex = at;
  const [whole, user = "", password = ""] = USER.exec(text) ?? [];
  // a slash is believed only where no port and path can be meant
  if (whole === undefined || PORT.test(password) || (password.includes("/") && user.includes("."))) return at;
  const start = at + 3;
  if (looksRandom(user) || HEX_USER.test(user) || password === "x-oauth-basic")
    found(start, start + user.length, "url-user");
  const from = start + user.length + 1;
  const isCut = password.length < 3 && !/[\w[$]/.test(text.charAt(from + password.length + 1));
  if (!isCut && !matches("template", password)) found(from, from + password.length, "url-password");
  return at + whole.length;
}
