/** What the sessions of each host cost to search, against Claude Code's of the same content. CPU time. */

import { type TemporaryHome, temporaryHome } from "../support/home.ts";
import { AGENTS, hostId, layHost } from "../support/hosts.ts";
import { seeded } from "../support/random.ts";
import { scriptPath } from "../support/run.ts";
import { sentence } from "./corpus.ts";
import { atMost, type BenchRow, bun, interleaved, times } from "./measure.ts";

const SESSIONS = 500;

/** Lays a session of the conversation, each of its texts in some hundred other words. */
function lay(home: TemporaryHome, agent: string, number: number): void {
  const random = seeded(number);
  const words = (count: number) => sentence(random, count).slice(0, -1);
  layHost(home, agent, "zebra", {
    id: hostId(agent, `bench${number}`),
    cwd: home.project,
    at: new Date(1.77e12 + number * 60_000).toISOString(),
    words: {
      "Zebra limits": words(4),
      "Raise the zebra limit to 20, please": `${words(180)}?`,
      "Let me look where the limit is set.": `${words(300)}.`,
      "error: zebra quota exceeded in limits.conf": words(300),
      "The zebra limit is 20 now.": `${words(400)}.`,
    },
  });
}

export async function rows(): Promise<BenchRow[]> {
  const homes = Object.fromEntries(
    AGENTS.map((agent) => {
      const home = temporaryHome();
      for (let i = 0; i < SESSIONS; i++) lay(home, agent, i);
      return [agent, home] as const;
    }),
  );
  const run = async (agent: string, script: string, ...args: string[]) => {
    const { env, project: cwd } = homes[agent] as TemporaryHome;
    const child = Bun.spawn(bun(scriptPath(script), ...args, "--quiet"), { env, cwd, stdout: "ignore" });
    if ((await child.exited) !== 0) throw new Error(`Cannot measure ${script}: exit ${child.exitCode}`);
    return Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;
  };
  const agents = Object.keys(homes);
  for (const agent of agents) await run(agent, "embed");
  const words = ["worker queue timeout", "retry handler limit"];
  const searches = agents.map((agent) => [agent, () => run(agent, "search", ...words)] as const);
  const measured: Record<string, number> = await interleaved(Object.fromEntries(searches), 9);
  for (const home of Object.values(homes)) home.remove();
  const { claude = 0, ...others } = measured;
  return Object.entries(others).map(([agent, ms]) =>
    atMost(`search over ${SESSIONS} sessions of ${agent} / of claude`, ms / claude, 1.3, {
      detail: times(ms, claude),
    }),
  );
}
