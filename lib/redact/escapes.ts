/** Reads through escapes. */

/** Escapes of JSON, shells, addresses and markup, however often they were escaped again. */
const ESCAPE =
  /\\+(?:u00([2-7][0-9a-f])|([nrtv])|\r?\n|(["'\x60/$!]))|%(?:25)*(2[1-9a-f]|3[a-f]|5[bd]|7[bd])|&(?:amp;)*(quot|apos|lt|gt|amp|#34|#39);/gi;
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
