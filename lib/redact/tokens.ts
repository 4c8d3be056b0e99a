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
