/** Texts of several messages: cleaned message by message, with where each one then begins. */

/** A chunk's content, and where its messages begin and on which lines they are: `0:118 340:121`. */
interface Rows {
  content: string;
  rowLines: string;
}

/** Cleans each message by itself, and moves their beginnings with what that takes out. */
export function cleanRows({ content, rowLines }: Rows, clean: (text: string) => string): Rows {
  const places = [...rowLines.matchAll(/(\d+):(\d+)/g)].map(
    ([, start, line]) => [Number(start), Number(line)] as const,
  );
  let cleaned = clean(content.slice(0, places[0]?.[0] ?? content.length));
  const moved = places.map(([start, line], at) => {
    const begin = cleaned.length;
    cleaned += clean(content.slice(start, places[at + 1]?.[0]));
    return `${begin}:${line}`;
  });
  return { content: cleaned, rowLines: moved.join(" ") };
}
