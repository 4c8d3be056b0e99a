/** What our hooks add to a prompt in the real clients: time to the first request, with and without us. */

import { join } from "node:path";
import { claudeHome, runClaude } from "../clients/claude.ts";
import { startFakeAnthropic } from "../clients/fake-anthropic.ts";
import { startFakeChat } from "../clients/fake-chat.ts";
import { CLIENTS, installed } from "../clients/install.ts";
import { piHome, runPi } from "../clients/pi.ts";
import { atMost, type BenchRow, figure, interleaved, times } from "./measure.ts";

const REPETITIONS = 9;

export async function rows(): Promise<BenchRow[]> {
  return [...(await inClaude()), ...(await inPi())];
}

async function inClaude(): Promise<BenchRow[]> {
  const modules = await installed(CLIENTS.claude);
  if (!modules) return [];
  const model = startFakeAnthropic(() => undefined);
  const home = claudeHome(model.url);
  try {
    const run = async (plugin: boolean) => {
      const started = Date.now();
      await runClaude(join(modules, CLIENTS.claude.file), home, { args: ["-p", "hello"], plugin });
      return firstRequestAfter(model.requests, started);
    };
    const { ours, bare } = await interleaved({ ours: () => run(true), bare: () => run(false) }, REPETITIONS);
    return [ratio("first request of Claude Code, with us / without", ours, bare)];
  } finally {
    model.stop();
    home.remove();
  }
}

async function inPi(): Promise<BenchRow[]> {
  const modules = await installed(CLIENTS.pi);
  if (!modules) return [];
  const model = startFakeChat(() => undefined);
  const command = [
    join(modules, "node/bin/node"),
    join(modules, "@earendil-works/pi-coding-agent/dist/cli.js"),
  ];
  // As an installer lays the published package.
  const home = await piHome({ command, url: model.url, underModules: true, isBuilt: true });
  try {
    const run = async (flags: string[]) => {
      const started = Date.now();
      await runPi(command, home, [...flags, "-p", "hello"]);
      return firstRequestAfter(model.requests, started);
    };
    const whole = async (flags: string[]) => {
      const started = performance.now();
      await runPi(command, home, [...flags, "-p", "hello"]);
      return performance.now() - started;
    };
    const without = ["--no-extensions", "--no-skills"];
    await whole(without); // pi's own first start after its installation is not ours
    const afterInstall = (await whole([])) - (await whole(without));
    const { ours, bare } = await interleaved({ ours: () => run([]), bare: () => run(without) }, REPETITIONS);
    const runs = await interleaved({ ours: () => whole([]), bare: () => whole(without) }, REPETITIONS);
    return [
      ratio("first request of pi -p, with us / without", ours, bare),
      atMost("a whole pi -p takes longer with us by", runs.ours - runs.bare, 350, {
        unit: "ms",
        detail: times(runs.ours, runs.bare),
      }),
      atMost("  the first one after the installation", afterInstall, 1000, { unit: "ms" }),
    ];
  } finally {
    model.stop();
    home.remove();
  }
}

function firstRequestAfter(requests: readonly { at: number }[], started: number): number {
  const first = requests.find(({ at }) => at >= started);
  if (!first) throw new Error("The client sent no request");
  return first.at - started;
}

function ratio(name: string, ours: number, bare: number): BenchRow {
  return figure(name, ours / bare, { unit: "x", detail: times(ours, bare) });
}
