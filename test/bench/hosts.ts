/** What the sessions of each host cost to search, against Claude Code's of the same content. CPU time. */

import { join } from "node:path";
import { type TemporaryHome, temporaryHome } from "../support/home.ts";
import { HOST_WRITERS, type HostSession, hostId, type Step } from "../support/hosts.ts";
import { seeded } from "../support/random.ts";
import { scriptPath } from "../support/run.ts";
import { sentence } from "./corpus.ts";
import { atMost, type BenchRow, bun, interleaved, times } from "./measure.ts";

const SESSIONS = 500;

/** Sessions of some twenty steps, with words, commands with output, and edits. */
function conversation(home: TemporaryHome, agent: string, number: number): HostSession {
  const random = seeded(number);
  const words = (count: number) => sentence(random, count).slice(0, -1);
  const steps = Array.from({ length: 6 }, (_, i): Step[] => [
    { says: "user", text: `${words(30)}?` },
    { says: "assistant", text: `${words(120)}.` },
    { runs: `make ${words(2)}`, output: `${words(150)}\n`, exit: i % 3 === 0 ? 1 : 0 },
    { edits: join(home.project, `${words(1)}.ts`), from: words(20), to: words(20) },
  ]).flat();
  return {
    id: hostId(agent, `bench${number}`),
    cwd: home.project,
    title: words(4),
    steps,
    at: new Date(1.77e12 + number * 60_000).toISOString(),
  };
}

export async function rows(): Promise<BenchRow[]> {
  const homes = Object.fromEntries(
    Object.entries(HOST_WRITERS).map(([agent, write]) => {
      const home = temporaryHome();
      for (let i = 0; i < SESSIONS; i++) write(home, conversation(home, agent, i));
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
