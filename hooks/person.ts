/** Tells the person of what is known when a session begins, and of rules that were kept, in hosts that show it. */

import { existsSync } from "node:fs";
import { dueFile } from "../lib/activity/look.ts";
import { statPath } from "../lib/base/files.ts";
import { ROOT } from "../lib/base/runtime.ts";
import type { Paths } from "../lib/config/config.ts";
import { findHost } from "../lib/hosts/hosts.ts";
import type { Asked } from "./asked.ts";

interface Word {
  text: string;
  /** Is called once it was shown. */
  shown(): void;
}

/** Returns what keeps us from working here, else the rules that were kept and the day's word. */
export async function tellPerson(asked: Asked): Promise<Word | undefined> {
  const lack = lackOfPackages(asked.paths);
  if (lack !== undefined) return { text: lack, shown() {} };
  if (!findHost(asked.host)?.hooks?.showsPerson) return undefined;
  const words = [await keptWord(asked), await dayWord(asked)].filter((word) => word !== undefined);
  if (words.length === 0) return undefined;
  return {
    text: words.map(({ text }) => text).join("\n"),
    shown() {
      for (const word of words) word.shown();
    },
  };
}

async function dayWord({ env, paths, settings, isStarted }: Asked): Promise<Word | undefined> {
  if (!isStarted || !settings.activity.daily) return undefined;
  const { dailyWord } = await import("../lib/activity/daily.ts");
  return dailyWord(paths, { timezone: settings.timezone, now: new Date(), path: env.PATH ?? "" });
}

/** Returns the rules that were kept of this session since its last prompt, or of the folder's last one where it starts. */
async function keptWord({ paths, settings, session, text }: Asked): Promise<Word | undefined> {
  const key = text === undefined ? session.cwd : session.id;
  if (!settings.activity.rules || !statPath(dueFile(paths, key))) return undefined;
  const { clearDue, readDue } = await import("../lib/activity/due.ts");
  const { describeKept } = await import("../lib/observe/standing-rules.ts");
  const kept = await describeKept(readDue(paths, key), session.cwd, paths);
  if (kept.length === 0) return undefined;
  return { text: kept.join("\n"), shown: () => clearDue(paths, key) };
}

/** Returns what to run in a clone without the packages that read config.json: what follows would fail unseen. */
function lackOfPackages({ config }: Pick<Paths, "config">): string | undefined {
  if (!existsSync(config)) return undefined;
  try {
    import.meta.resolve("zod");
    return undefined;
  } catch {
    return `session-memory keeps nothing yet: its packages are not installed (bun install --cwd ${ROOT})`;
  }
}
