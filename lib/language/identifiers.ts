/**
 * Words the full-text tokenizer does not see: the parts of `camelCase` names, and pairs of characters in scripts that
 * write no spaces. The tokenizer itself splits at every other mark (`snake_case`, `dotted.name`, `some/path`).
 */

/** Most texts have nothing to split; this check is faster than looking at each word. */
const MAY_BE_JOINED = /[a-z][A-Z]|[A-Z]{2}[a-z]|[\u0e00-\uffff]/;

/** Returns the parts of joined names and the character pairs in one or more texts, each once, separated by spaces. */
export function splitJoined(...texts: string[]): string {
  const found = new Set<string>();
  for (const text of texts) if (MAY_BE_JOINED.test(text)) collect(text, found);
  return found.size === 0 ? "" : [...found].join(" ");
}

/** `parseHTMLFile2` → parse HTML File2. One part: it is no joined name. */
export function splitName(name: string): string[] {
  return name.match(/\p{Lu}+(?!\p{Ll})[\d]*|\p{Lu}?\p{Ll}+[\d]*|\d+/gu) ?? [];
}

/** Returns whether a script writes words without spaces between them. */
export function isUnspaced(unit: number): boolean {
  if (unit < 0xe00) return false;
  if (unit < 0x1100) return unit < 0xf00 || unit >= 0x1000; // Thai, Lao; Myanmar
  return (
    (unit >= 0x3040 && unit <= 0x30ff) || // kana
    (unit >= 0x3400 && unit <= 0x9fff) || // ideographs
    (unit >= 0xac00 && unit <= 0xd7a3) || // Hangul
    (unit >= 0xf900 && unit <= 0xfaff) || // compatibility ideographs
    (unit >= 0x1780 && unit <= 0x17ff) // Khmer
  );
}

/** 数据库 → 数据, 据库; a single character stays one. */
export function characterPairs(run: string): string[] {
  if (run.length < 2) return [run];
  return Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2));
}

function collect(text: string, found: Set<string>): void {
  let wordStart = -1;
  let joined = false;
  let before = 0;
  for (let i = 0; i <= text.length; i++) {
    const unit = i < text.length ? text.charCodeAt(i) : 32;
    const upper = unit >= 65 && unit <= 90;
    const lower = unit >= 97 && unit <= 122;
    if (upper || lower || (unit >= 48 && unit <= 57)) {
      if (wordStart < 0) wordStart = i;
      // fooBar, or the last capital of HTTPServer
      else if (
        upper ? before >= 97 && before <= 122 : lower && before >= 65 && before <= 90 && i - wordStart > 1
      )
        joined = true;
    } else {
      if (joined) addParts(text.slice(wordStart, i), found);
      wordStart = -1;
      joined = false;
      if (unit >= 0xe00 && isUnspaced(unit)) i = addPairs(text, i, found);
    }
    before = unit;
  }
}

/** Longer runs are data, not names. */
const NAME_MAX = 80;

function addParts(name: string, found: Set<string>): void {
  if (name.length > NAME_MAX) return;
  for (const part of splitName(name)) if (part.length > 1) found.add(part);
}

/** Adds the pairs of the run that starts at `from`; returns the position of its last character. */
function addPairs(text: string, from: number, found: Set<string>): number {
  let end = from + 1;
  while (end < text.length && isUnspaced(text.charCodeAt(end))) end++;
  for (const pair of characterPairs(text.slice(from, end))) found.add(pair);
  return end - 1;
}
