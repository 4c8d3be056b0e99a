/** Splits a shell line into its commands, and a command into words, as far as histories of commands and files need it. */

/** One command of a line and the separator after it. */
interface ShellPart {
  text: string;
  separator: string;
}

/** A longer line is data: it is left in one part. */
const READ_MAX = 20_000;
/** What stays with its command: escapes, quotes, here-documents, joined streams; then parentheses and separators. */
const TOKEN =
  /\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"?|'[^']*'?|`[^`]*`?|<<<|<<-?\s*["']?([\w-]+)["']?[\s\S]*?\n\s*\1\s*(?=\n|$)|>&|&>|([()])|(&&|\|\||\|&|;;|[;|\n&])/g;

/** Splits a line into commands. Quotes, parentheses and here-documents stay with their command. */
export function shellParts(line: string): ShellPart[] {
  if (line.length > READ_MAX) return [{ text: line, separator: "" }];
  const parts: ShellPart[] = [];
  let [start, depth] = [0, 0];
  for (const { 0: token, 2: parenthesis, 3: separator, index } of line.matchAll(TOKEN)) {
    if (parenthesis) depth = Math.max(0, depth + (parenthesis === "(" ? 1 : -1));
    if (separator === undefined || depth > 0) continue;
    parts.push({ text: line.slice(start, index).trim(), separator: separator === "|&" ? "|" : separator });
    start = index + token.length;
  }
  parts.push({ text: line.slice(start).trim(), separator: "" });
  return parts.filter(({ text }) => text !== "");
}

/** Splits a command into words, without their quotes. */
export function shellWords(command: string): string[] {
  const words =
    command.slice(0, READ_MAX).match(/(?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|[^\s"'\\])+/g) ?? [];
  return words.map((word) =>
    word.replace(/"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])/g, (_, double, single, escaped) =>
      double === undefined ? (single ?? escaped ?? "") : double.replace(/\\(["\\$`])/g, "$1"),
    ),
  );
}
