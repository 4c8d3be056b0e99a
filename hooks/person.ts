/** Tells the person of what is known when a session begins, and of rules that were kept, in hosts that show it. */

import { existsSync } from "node:fs";
import { dueFile } from "../lib/activity/look.ts";
import { statPath } from "../lib/base/files.ts";
import { ROOT } from "../lib/base/runtime.ts";
import { findHost } from "../lib/hosts/hosts.ts";
import type { Answer, Asked } from "./asked.ts";

/** Returns what keeps us from working here, else the rules that were kept and the day's word. */
export async function tellPerson(asked: Asked): Promise<(Answer | undefined)[]> {
  const lack = lackOfPackages(asked);
  if (lack !== undefined) return [{ toPerson: lack, delivered() {} }];
  return findHost(asked.host)?.hooks?.showsPerson ? [await keptWord(asked), await dayWord(asked)] : [];
}

async function dayWord({ env, paths, settings, isStarted }: Asked): Promise<Answer | undefined> {
  if (!isStarted || !settings.activity.daily) return undefined;
  const { dailyWord } = await import("../lib/activity/daily.ts");
  const word = await dailyWord(paths, { timezone: settings.timezone, now: new Date(), path: env.PATH ?? "" });
  return word && { toPerson: word.text, delivered: word.shown };
}

/** Returns the rules that were kept of this session since its last prompt, or of the folder's last one where it starts. */
async function keptWord({ paths, settings, session, text }: Asked): Promise<Answer | undefined> {
  const key = text === undefined ? session.cwd : session.id;
  if (!settings.activity.rules || !statPath(dueFile(paths, key))) return undefined;
  const { clearDue, readDue } = await import("../lib/activity/due.ts");
  const { describeKept } = await import("../lib/observe/standing-rules.ts");
  const kept = await describeKept(readDue(paths, key), session.cwd, paths);
  if (kept.length === 0) return undefined;
  return { toPerson: kept.join("\n"), delivered: () => clearDue(paths, key) };
}

/** Returns what to run in a clone without the packages that read config.json: what follows would fail unseen. */
function lackOfPackages({ paths }: Asked): string | undefined {
  if (!existsSync(paths.config)) return undefined;
  try {
    import.meta.resolve("zod");
    return undefined;
  } catch {
    return `session-memory keeps nothing yet: its packages are not installed (bun install --cwd ${ROOT})`;
  }
}
