/** What a person is told when a session begins, in hosts that show it. */

import { existsSync } from "node:fs";
import { ROOT } from "../lib/base/runtime.ts";
import type { Paths } from "../lib/config/config.ts";
import { findHost } from "../lib/hosts/hosts.ts";
import type { Asked } from "./asked.ts";

interface Word {
  text: string;
  /** Is called once it was shown. */
  shown(): void;
}

/** Returns what keeps us from working here, else the day's word. */
export async function tellPerson({
  host,
  env,
  paths,
  settings,
  isStarted,
}: Asked): Promise<Word | undefined> {
  const lack = lackOfPackages(paths);
  if (lack !== undefined) return { text: lack, shown() {} };
  if (!isStarted || !findHost(host)?.hooks?.showsPerson || !settings.activity.daily) return undefined;
  const { dailyWord } = await import("../lib/activity/daily.ts");
  return dailyWord(paths, { timezone: settings.timezone, now: new Date(), path: env.PATH ?? "" });
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
