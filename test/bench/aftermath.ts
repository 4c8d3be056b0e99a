/** The user's refusals of what was said, on pairs that were read in the real transcripts, and on rows that only look like it. */

import { shortId } from "../../lib/base/text.ts";
import { withAftermath } from "../../lib/history/aftermath.ts";
import { type IndexedSession, SESSION_COLUMNS, toIndexedSession } from "../../lib/index/index-state.ts";
import type { ShownRow } from "../../lib/search/rows.ts";
import type { Store } from "../../lib/store/store.ts";
import { atLeast, atMost, type BenchRow } from "./measure.ts";
import { hasTranscripts, withIndex } from "./replay.ts";

/** A row, and the line in which the user took it back. */
const PAIRS = [
  ...["5fd1e58c:288 289", "2638daee:720 721"],
  ...["2638daee:867 870", "2638daee:893 894", "d703a1a9:374 375", "d703a1a9:458 459"],
  ...["d703a1a9:494 499", "d703a1a9:808 809", "ffae836b:541 546"],
  ...["ffae836b:549 550", "ffae836b:958 959"],
];

/** Rows behind which stands a no, a removal or a checkout that takes nothing back. */
const LOOK_ALIKES = [
  ...["5fd1e58c:277", "5fd1e58c:410", "2638daee:424", "2638daee:434", "2638daee:809", "2638daee:833"],
  ...["d703a1a9:336", "d703a1a9:762", "subagent:32", "3b64e48c:148", "e256147e:28", "0d3a8e6f:17"],
  ...["f852ad25:87", "phase0-m:274", "37f83ec9:293", "fe869ecb:47", "4d5611e5:1250", "61d299fc:101"],
  ...["85307e10:261", "8ebc42a2:38"],
];

/** Returns the lines that are said to have taken a row back. */
function takenBack(store: Store, session: IndexedSession, line: number): number[] {
  const rows = store.db
    .prepare("SELECT who, text, tool, target FROM rows WHERE session = ? AND line = ? ORDER BY nth")
    .all(session.number, line)
    .map(({ who, text, tool, target }): ShownRow => {
      if (who === "tool") return { line, who, tool: `[${tool} ${target}]`, text: "" };
      return { line, who: who as "user" | "assistant", text: String(text) };
    });
  const options = { store, session, cwd: "/nowhere", clean: (text: string) => text };
  return rows
    .flatMap((row) => withAftermath([row], options)[0] ?? [])
    .flatMap(({ takenBack }) => takenBack ?? [])
    .map((place) => Number(place.slice(1)));
}

export async function rows(): Promise<BenchRow[]> {
  if (!hasTranscripts) return [];
  return await withIndex((store) => {
    const all = store.db.prepare(`SELECT ${SESSION_COLUMNS} FROM sessions`).all().map(toIndexedSession);
    const said = (place: string) => {
      const [id, line] = place.split(":");
      const session = all.find((each) => shortId(each.id) === id || each.id.startsWith(id ?? ""));
      if (!session) throw new RangeError(`Expected a session ${id}`);
      return takenBack(store, session, Number(line));
    };
    const missed = PAIRS.filter((pair) => {
      const [place = "", line] = pair.split(" ");
      return !said(place).includes(Number(line));
    });
    const wrong = LOOK_ALIKES.filter((place) => said(place).length > 0);
    for (const place of missed) console.error(`not said: ${place}`);
    for (const place of wrong) console.error(`said wrongly: ${place}`);
    return [
      atLeast(`pairs said, of ${PAIRS.length}`, PAIRS.length - missed.length, PAIRS.length, {
        unit: "pairs",
      }),
      atMost(`look-alikes said, of ${LOOK_ALIKES.length}`, wrong.length, 0, { unit: "rows" }),
    ];
  });
}
