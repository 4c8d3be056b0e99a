/** The ends of long texts, cut before they are redacted so that no secret is cut: at words, and never inside a key. */

/** Far more than is kept of either end, since redaction shortens. */
const HEAD_CHARS = 2500;
const TAIL_CHARS = 1200;
/** Of a result that went well less is kept. */
const DONE_CHARS = 700;
/** A word goes no further than this over an end. */
const WORD_MAX = 8000;
/** Secrets of many lines: only their first line gives them away. */
const MANY_LINES = /PRIVATE KEY|Private-Lines/;
const BETWEEN_WORDS = /[\s"'`,;<>()[\]{}]/;

/** Returns the beginning of a text. */
export function headOf(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS || MANY_LINES.test(text)) return text;
  return copyOf(text.slice(0, wordEnd(text, HEAD_CHARS)));
}

/** Returns the end of a text. */
export function tailOf(text: string): string {
  if (text.length <= 2 * DONE_CHARS || MANY_LINES.test(text)) return text;
  return copyOf(text.slice(wordStart(text, text.length - DONE_CHARS)));
}

/** Returns both ends of a text, on lines of their own. */
export function bothEnds(text: string): string {
  if (text.length <= 2 * HEAD_CHARS || MANY_LINES.test(text)) return text;
  const [head, tail] = [wordEnd(text, HEAD_CHARS), wordStart(text, text.length - TAIL_CHARS)];
  return head < tail ? copyOf(`${text.slice(0, head)}\n…\n${text.slice(tail)}`) : text;
}

function wordEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && at - from < WORD_MAX && !BETWEEN_WORDS.test(text[at] ?? "")) at++;
  return at;
}

function wordStart(text: string, from: number): number {
  let at = from;
  while (at > 0 && from - at < WORD_MAX && !BETWEEN_WORDS.test(text[at - 1] ?? "")) at--;
  return at;
}

/** Copies a text: a slice would keep the whole string in memory. */
function copyOf(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
