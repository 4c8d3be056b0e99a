/**
 * Finds the values that may be secrets, each with its place and the name that announces it: assigned, given as an option, in an
 * element, as a sibling (`name`, `value`), said, given to a command, in a column. The table of features judges them.
 */

import { FOREIGN_NAMES, NAME_ENDS, type Name, PASSWORD, PASSWORD_NAME, readName } from "./names.ts";
import { COMMANDS, PARTS, PLACE_PARTS, PLACE_WORDS, SENTENCES, TABLES, WAYS } from "./ways.ts";

/** A value that may be a secret, and where it stands. */
export interface Candidate {
  start: number;
  end: number;
  kind: string;
  /** What its name makes of it. */
  level: number;
  /** The way it is given. */
  way: string;
  isQuoted: boolean;
  /** Where the name begins and ends: for values without one, at the value. */
  name: { text: string; start: number; end: number };
}

/** Judges a candidate and returns whether it is a secret. */
export type Judge = (candidate: Candidate) => boolean;

/** Compiles the rows of a table: a word, and the source of a pattern in which parts are put. */
function compile(table: string, parts: Record<string, string>, flags: string): [string, RegExp][] {
  return table
    .trim()
    .split("\n")
    .map((row) => {
      const at = row.indexOf(" ");
      const source = row.slice(at + 1).replace(/@[a-z]/g, (part) => parts[part] ?? part);
      return [row.slice(0, at), new RegExp(source, flags)];
    });
}

const COMPILED_WAYS = compile(WAYS, PARTS, "iy");
const COMPILED_TABLES = compile(TABLES, {}, "dgim");
/** What has to stand before the name for a way to be one: a call or a list, a tag. */
const BEFORE_NAME: Record<string, RegExp> = {
  argument: /\([^()]*["'\x60][^"'\x60()]{0,30}$|\[["'\x60](?:Authorization)?$|\["[^[\]]*"-*$/,
  element: /<[^<>\n]*$|<key>$/,
};
/** A value is judged by its first part and then consumed, so that many names in one long run stay linear. */
const BARE = /(?:[^\s"'\x60,;<>()[\]{}|&，。、」»]|&(?![\w.-]{1,40}=|&)){1,128}/y;
const REST = new RegExp(BARE.source.replace("{1,128}", "*"), "y");

const CLOSING: Record<string, string> = { "“": "”", "„": "“", "«": "»", "「": "」" };
/** In lists of pairs a value in braces may hold anything, a closing brace twice; a bare name in them is a variable. */
const BRACED = /\{((?=[^}]*[^\w.}])(?!\w+[!:])[^{}\s$]{3,100}(?:\}\}[^{}\s]{0,100})*)\}(?=[;"']|\s|$)/y;
/** What an element holds besides others. */
const ELEMENT = /[^\s<>][^<>\n]{2,198}(?=<)/y;
/** Quoted values are not longer. */
const QUOTED_MAX = 4096;
/** A value given before its name: `value: x`, then `name: PASSWORD`. */
const VALUE_BEFORE = new RegExp(
  `\\bvalue["']?\\s?[:=]\\s?["']?([^\\s"'\`]{4,80}?)(["']?,?(?:${PARTS["@n"]})?["']?(?:name|key)["']?\\s?[:=]\\s?["']?)$`,
  "i",
);
const IN_OTHER_LANGUAGE =
  /[^\0-\x7f]|(?:wort|passe|senha|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|passord|parola|lozinka|geslo|jelszo|parool|lykilord|kodeord|sandi)$/i;
/** Letters that go on behind a value without a blank, and such letters at the beginning of a value that goes on as no word does. */
const UNSPACED = "\\u3000-\\u9fff\\uac00-\\ud7af";
const WITHOUT_BLANK = new RegExp(
  `^(?:[${UNSPACED}]{1,6}(?=[!-~]{0,20}[!#$%^&*@~+?])(?=[!-~]{0,20}\\d)(?=[!-~]{5}))?[^${UNSPACED}\\uff00-\\uffef]*`,
);

/** Offers the values that a name announces until one is a secret, and returns where that ends. */
function findNamed(text: string, name: Name, judge: Judge): number {
  const before = text.slice(Math.max(0, name.start - 120), name.start);
  const [, earlier = "", rest = ""] = VALUE_BEFORE.exec(before) ?? [];
  const at = name.start - earlier.length - rest.length;
  const given = { kind: name.kind, level: name.level, name };
  if (earlier) judge({ ...given, start: at, end: at + earlier.length, way: "certain", isQuoted: true });
  const isForeign = IN_OTHER_LANGUAGE.test(name.text);
  for (const [way, pattern] of COMPILED_WAYS) {
    if (!isForeign && (way === "foreign" || way === "beside")) continue;
    pattern.lastIndex = name.end;
    if (BEFORE_NAME[way]?.test(before) === false || !pattern.test(text)) continue;
    const value = readValue(text, { start: pattern.lastIndex, way, name });
    if (value && judge({ ...given, ...value, way })) return endOfValue(text, value);
  }
  return name.end;
}

type Place = { start: number; way: string; name: Name };

/** Reads the value that begins here. */
function readValue(text: string, place: Place) {
  return readEnclosed(text, place) ?? readQuoted(text, place) ?? readBare(text, place);
}

const quoted = (start: number, end: number) => ({ start, end, isQuoted: true });

/** Reads what an element holds, or what stands in braces. */
function readEnclosed(text: string, { start, way }: Place) {
  const inside = way === "element" ? ELEMENT : text[start - 1] === "=" ? BRACED : undefined;
  if (!inside) return undefined;
  inside.lastIndex = start;
  const [whole, braced] = inside.exec(text) ?? [];
  if (braced) return quoted(start + 1, start + 1 + braced.length);
  return whole ? quoted(start, start + whole.length) : undefined;
}

/** Reads what stands in quotes, or is quoted together with its name. */
function readQuoted(text: string, { start }: Place) {
  const quote = text.charAt(start - 1);
  if (/["'\x60“„«「]/.test(quote)) {
    const end = text.indexOf(CLOSING[quote] ?? quote, start);
    if (end !== -1 && end - start <= QUOTED_MAX && !text.slice(start, end).includes("\n"))
      return quoted(start, end);
  }
  const whole = /(["'])[A-Z0-9_]{1,60}=$/.exec(text.slice(Math.max(0, start - 62), start))?.[1];
  const close = whole === undefined ? -1 : text.slice(start, start + 200).search(`${whole}|[\\s$\\\\]`);
  return close > 0 && text[start + close] === whole ? quoted(start, start + close) : undefined;
}

/** Reads up to a blank or a bracket. */
function readBare(text: string, { start, name }: Place) {
  BARE.lastIndex = start;
  let bare = BARE.exec(text)?.[0];
  if (bare === undefined) return undefined;
  if (/[^\0-\u2fff]/.test(name.text)) bare = WITHOUT_BLANK.exec(bare)?.[0] ?? bare;
  // a sentence ends behind it
  else if (!/[=-]/.test(text.charAt(start - 1)) && bare.length < 128) bare = bare.replace(/[.,:;!?*]+$/, "");
  return { start, end: start + bare.length, isQuoted: false };
}

/** Returns where a value ends that was judged by its first part. */
export function endOfValue(
  text: string,
  { start, end, isQuoted }: Pick<Candidate, "start" | "end" | "isQuoted">,
): number {
  REST.lastIndex = end;
  return !isQuoted && end - start === 128 && REST.test(text) ? REST.lastIndex : end;
}

/** The places of a table, and a pattern for any of them: most words are at none. */
interface Places {
  way: string;
  any: RegExp;
  /** Compiled once a text is at one of them. */
  each: () => readonly [string, RegExp][];
}

function compilePlaces(way: string, table: string, flags: string): Places {
  // between arguments is a blank, or what separates them in a list
  const spaced = table.replace(/(?<!^\w+) (?![^[\]\n]*\])/gm, `(?: |["'], ?["'])`);
  let compiled: [string, RegExp][] | undefined;
  const any = compile(spaced, PLACE_PARTS, flags).map(([, { source }]) => source);
  return {
    way,
    any: new RegExp(any.join("|"), flags),
    each: () => (compiled ??= compile(spaced, PLACE_PARTS, `d${flags}`)),
  };
}

let places: readonly Places[] | undefined;

/** Offers what is given at this place, and returns where it ends. */
function findPlaced(text: string, at: number, judge: Judge): number {
  // compiled with the first word that may be at one: many runs meet none
  places ??= [compilePlaces("command", COMMANDS, "y"), compilePlaces("sentence", SENTENCES, "iy")];
  for (const { way, any, each } of places) {
    any.lastIndex = at;
    if (!any.test(text)) continue;
    for (const [kind, pattern] of each()) {
      pattern.lastIndex = at;
      const [start, end] = pattern.exec(text)?.indices?.slice(1).find(Boolean) ?? [0, 0];
      if (end === 0) continue;
      const isQuoted = /["']/.test(text.charAt(start - 1));
      const name = { text: "", start, end: start };
      if (judge({ start, end, kind, level: PASSWORD, way: `${way} ${kind}`, isQuoted, name }))
        return Math.max(at, end);
    }
  }
  return at;
}

/** Every word that may announce a secret: of a name, a sentence, a command. */
const ANNOUNCING = new RegExp(`${NAME_ENDS}|${PLACE_WORDS}`, "iy");
const IN_ROW_MAX = 8;

/** Offers what words announce. */
export function findAnnounced(text: string, words: readonly number[], judge: Judge): void {
  let from = 0;
  let inRow = 0;
  let isHeading = false;
  for (const at of words) {
    ANNOUNCING.lastIndex = at;
    const word = at < from ? undefined : ANNOUNCING.exec(text)?.[0];
    if (word === undefined) continue;
    inRow = at - from < 6 ? inRow + 1 : 0;
    from = at + word.length;
    isHeading ||= PASSWORD_NAME.test(word) && ENDS_CELL.test(text.slice(from, from + 41));
    // a run made of names would be judged again from each of them
    const end = inRow > IN_ROW_MAX ? 0 : findValue(text, at, word, judge);
    if (end <= from) continue;
    inRow = 0;
    from = end;
  }
  if (isHeading) findInColumns(text, judge);
}

/** Offers what names beyond ASCII announce. */
export function findForeign(text: string, judge: Judge): void {
  for (const { index, 0: name } of text.matchAll(FOREIGN_NAMES)) findValue(text, index, name, judge);
}

function findValue(text: string, at: number, word: string, judge: Judge): number {
  const end = findPlaced(text, at, judge);
  const name = end > at ? undefined : readName(text, at, word);
  return name ? findNamed(text, name, judge) : end;
}

const ENDS_CELL = /^["\x60* ]{0,40}[,;|\n)]/;

/** Offers what stands in a column of passwords. */
function findInColumns(text: string, judge: Judge): void {
  for (const [separator, table] of COMPILED_TABLES) {
    for (const { indices, 1: heading = "", 2: rows = "" } of text.matchAll(table)) {
      const isSecret = heading.split(separator).map((cell) => PASSWORD_NAME.test(cell));
      let at = indices?.[2]?.[0] ?? 0;
      for (const row of isSecret.includes(true) ? rows.split("\n") : []) {
        for (const [i, cell] of row.split(separator).entries()) {
          const value = cell.replace(/^[\s\x60*"']+|[\s\x60*"']+$/g, "");
          const start = at + cell.indexOf(value);
          const name = { text: "", start, end: start };
          const given = { kind: "password", level: PASSWORD, way: "column", name };
          const isQuoted = /["']/.test(text.charAt(start - 1));
          if (isSecret[i] && value) judge({ ...given, start, end: start + value.length, isQuoted });
          at += cell.length + 1;
        }
      }
    }
  }
}
