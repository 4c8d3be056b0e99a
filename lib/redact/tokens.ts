/** Finds and replaces tokens known by their own form. */

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
  if (!anyLiteral.test(text)) return text.includes("earer ") || BOT_TOKEN.test(text);
  return (
    formats().some(({ literals, start }) =>
      literals.some((literal) => holds(text, literal, start === "bounded literal")),
    ) ||
    text.includes("earer ") ||
    BOT_TOKEN.test(text)
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

function escapeLiteral(text: string): string {
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
