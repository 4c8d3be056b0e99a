/** Reads tables of patterns, a row for each: what it is called, a blank, the pattern, in which `@x` stands for a part. */

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
