/** Lines as editors, diffs, quotes and tools print them: where one begins, and its content behind what they put before it. */

/** No line with a secret begins further back; a text of one long line is not gone through from each place. */
const LINE_REACH = 400;
/** Numbers, `+`, `>`, `|`. */
const PREFIX =
  /[ \t]{0,80}(?:(?:\d{1,6}(?:→|[:|\t-])|L\d{1,6}[: ]|[+>|-](?=[ \t+>|]|$)|[+>](?=\S))[ \t]{0,80}){0,4}/y;

/** Returns where the content of the line begins that holds a place. */
export function contentStart(text: string, at: number): number {
  const from = Math.max(0, at - LINE_REACH);
  PREFIX.lastIndex = from + text.slice(from, at).lastIndexOf("\n") + 1;
  return PREFIX.test(text) ? PREFIX.lastIndex : from;
}
