/** Removes sessions from the marks. */

import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { namesIn, readIfExists, readJson, remove, replaceFile } from "../base/files.ts";
import { isRecord, type JsonRecord, recordOf } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { type ForgetIn, type Forgetting, WRITER_WAIT_MS } from "../store/forgetting.ts";
import { OWN_MARKS } from "./look.ts";

/** Removes a forgotten session's own file, and the marks about it in the others'. Returns how many marks. */
export async function forgetMarks(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Promise<number> {
  if (!("ids" in forgetting)) return 0;
  const { ids } = forgetting;
  let count = 0;
  for (const name of namesIn(paths.cursors).filter((each) => /\.json(\.own|\.broken)?$/.test(each))) {
    const file = join(paths.cursors, name);
    const { kept, removed } = withoutMarks(file, ids);
    count += removed;
    if (dryRun || removed === 0) continue;
    await withLock(`${file}.lock`, WRITER_WAIT_MS, () =>
      rewriteMarks(file, withoutMarks(file, ids).kept ?? kept),
    );
  }
  return count;
}

function withoutMarks(
  file: string,
  ids: ReadonlySet<string>,
): { kept: JsonRecord | undefined; removed: number } {
  const value = readJson(file);
  if (!isRecord(value)) {
    const text = readIfExists(file) ?? "";
    return { kept: undefined, removed: [...ids].some((id) => text.includes(JSON.stringify(id))) ? 1 : 0 };
  }
  let removed = 0;
  const kept: JsonRecord = {};
  for (const [viewer, marks] of Object.entries(value)) {
    const about = Object.entries(recordOf(marks));
    const others = about.filter(([id]) => !ids.has(id));
    // What a session has of itself is one mark, not several.
    if (ids.has(viewer)) removed += file.endsWith(OWN_MARKS) ? 1 : about.length;
    else {
      removed += about.length - others.length;
      kept[viewer] = Object.fromEntries(others);
    }
  }
  return { kept, removed };
}

/** Keeps the file's time, which is that of its session's last look. */
function rewriteMarks(file: string, kept: JsonRecord | undefined): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return;
  if (!kept || Object.keys(kept).length === 0) {
    remove(file);
    return;
  }
  replaceFile(file, JSON.stringify(kept), { durable: false });
  utimesSync(file, stat.atime, stat.mtime);
}
