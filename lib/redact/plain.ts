/** Takes escapes off a text once, so that everything else judges plain lines, and maps places back; compiles tables. */

/** Escapes of JSON, shells, addresses and markup, however often they were escaped again. */
const ESCAPE =
  /\\+(?:u00([2-7][0-9a-f])|([nrtv])|\r?\n|(["'`/$!]))|%(?:25)*(2[0-9a-f]|3[a-f]|5[bd]|7[bd])|&(?:amp;)*(quot|apos|lt|gt|amp|#34|#39);/gi;
const MAY_BE_ESCAPED = /\\|%(?:25)*[2-7][0-9a-f]|&(?:amp|quot|apos|lt|gt|#3)/i;
const NAMED: Record<string, string> = {
  quot: '"',
  apos: "'",
  lt: "<",
  gt: ">",
  amp: "&",
  "#34": '"',
  "#39": "'",
};

interface Plain {
  text: string;
  /** Returns the place in the original text of a place in this one. */
  original: (at: number) => number;
}

const same = (at: number): number => at;

/** Returns a text without escapes. A continued line becomes one. */
export function unescapeText(text: string): Plain {
  if (!MAY_BE_ESCAPED.test(text)) return { text, original: same };
  let plain = "";
  let done = 0;
  const places: number[] = [];
  const shifts: number[] = [];
  for (const match of text.matchAll(ESCAPE)) {
    const [whole, unicode, control, sign, percent, named = ""] = match;
    const code = unicode ?? percent;
    let character = sign ?? NAMED[named.toLowerCase()] ?? "";
    if (code !== undefined) character = String.fromCharCode(Number.parseInt(code, 16));
    else if (control !== undefined) character = /[tv]/i.test(control) ? "\t" : "\n";
    plain += text.slice(done, match.index) + character;
    done = match.index + whole.length;
    places.push(plain.length);
    shifts.push(done - plain.length);
  }
  if (places.length === 0) return { text, original: same };
  plain += text.slice(done);
  return { text: plain, original: (at) => at + (shifts[lastAtMost(places, at)] ?? 0) };
}

/** Returns the index of the last number that is not greater. */
function lastAtMost(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** No line with a secret begins further back; a text of one long line is not gone through from each place. */
const LINE_REACH = 400;

/** Returns where the line of a place begins. */
export function lineStart(text: string, at: number): number {
  const from = Math.max(0, at - LINE_REACH);
  return from + text.slice(from, at).lastIndexOf("\n") + 1;
}

/** What editors, diffs, quotes and tools put before a line: numbers, `+`, `>`, `|`. */
const PREFIX =
  /[ \t]{0,80}(?:(?:\d{1,6}(?:→|[:|\t-])|L\d{1,6}[: ]|[+>|-](?=[ \t+>|]|$)|[+>](?=\S))[ \t]{0,80}){0,4}/y;

/** Returns where the content of the line that begins here begins. */
export function contentStart(text: string, line: number): number {
  PREFIX.lastIndex = line;
  return PREFIX.test(text) ? PREFIX.lastIndex : line;
}

/** Compiles a table. */
export function compileTable(
  table: string,
  parts: Record<string, string>,
  flags: string,
): [string, RegExp][] {
  return table
    .trim()
    .split("\n")
    .map((row) => {
      const at = row.indexOf(" ");
      const source = row.slice(at + 1).replace(/@[a-z]/g, (part) => parts[part] ?? part);
      return [row.slice(0, at), new RegExp(source, flags)];
    });
}
