/** What the sessions of each host cost to search, against Claude Code's of the same content; opencode's copies. CPU time. */

import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TemporaryHome, temporaryHome } from "../support/home.ts";
import { HOST_WRITERS, type HostSession, openOpencode, putOpencode, type Step } from "../support/hosts.ts";
import { seeded } from "../support/random.ts";
import { uuidFrom } from "../support/rows.ts";
import { ROOT, scriptPath } from "../support/run.ts";
import { atMost, type BenchRow, bun, interleaved, median, timeProcess, times } from "./measure.ts";

const SESSIONS = 500;
const COPIED = 2000;
const WORDS =
  "gateway limit retry queue deploy zebra index cursor session branch ticket cache worker schema column timeout".split(
    " ",
  );

export async function rows(): Promise<BenchRow[]> {
  return [...(await searches()), ...(await copies())];
}

/** Sessions of some twenty steps, with words, commands with output, and edits. */
function conversation(home: TemporaryHome, agent: string, number: number): HostSession {
  const random = seeded(number);
  const words = (count: number) =>
    Array.from({ length: count }, () => WORDS[random.integer(0, WORDS.length - 1)] ?? "").join(" ");
  const steps = Array.from({ length: 6 }, (_, i): Step[] => [
    { says: "user", text: `${words(30)}?` },
    { says: "assistant", text: `${words(120)}.` },
    { runs: `make ${words(2)}`, output: `${words(150)}\n`, exit: i % 3 === 0 ? 1 : 0 },
    { edits: join(home.project, `${words(1)}.ts`), from: words(20), to: words(20) },
  ]).flat();
  const id = agent === "opencode" ? `ses_${String(number).padStart(6, "0")}` : uuidFrom(`bench ${number}`);
  return {
    id,
    cwd: home.project,
    title: words(4),
    steps,
    at: new Date(1.77e12 + number * 60_000).toISOString(),
  };
}

async function searches(): Promise<BenchRow[]> {
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
  const searching = await interleaved(
    Object.fromEntries(
      agents.map((agent) => [
        agent,
        () => run(agent, "search", "zebra gateway timeout", "retry queue limit"),
      ]),
    ),
    9,
  );
  for (const home of Object.values(homes)) home.remove();
  const others = agents.filter((agent) => agent !== "claude");
  const measured = searching as Record<string, number>;
  const { claude = 0 } = measured;
  return others.map((agent) => {
    const ms = measured[agent] ?? 0;
    const what = `search over ${SESSIONS} sessions of ${agent} / of claude`;
    return atMost(what, ms / claude, 1.3, { detail: times(ms, claude) });
  });
}

/** The copies of opencode's sessions, against reading the same rows and no more. */
async function copies(): Promise<BenchRow[]> {
  using home = temporaryHome();
  const db = openOpencode(home);
  db.transaction(() => {
    for (let i = 0; i < COPIED; i++) putOpencode(db, conversation(home, "opencode", i));
  })();
  const database = db.filename;
  db.close();
  const folder = join(home.root, "copies");
  const bare = join(home.root, "bare.ts");
  writeFileSync(bare, BARE);
  const copy = join(home.root, "copy.ts");
  writeFileSync(copy, COPY);
  const ms = async (script: string) => Number((await timeProcess(bun(script, database, folder))).stdout);
  const { first, loop } = (await interleaved(
    {
      first: () => {
        rmSync(folder, { recursive: true, force: true });
        return ms(copy);
      },
      loop: () => ms(bare),
    },
    5,
  )) as { first: number; loop: number };
  const again = median([await ms(copy), await ms(copy), await ms(copy)]);
  return [
    atMost(`first copy of ${COPIED} sessions of opencode / a loop over their rows`, first / loop, 2, {
      detail: `${times(first, loop)}, ${(statSync(database).size / 1e6).toFixed(0)} MB`,
    }),
    atMost("copying again where nothing changed", again, 20, { unit: "ms" }),
  ];
}

const BARE = `
import { Database } from "bun:sqlite";
const db = new Database(process.argv[2], { readonly: true });
const before = process.cpuUsage();
let bytes = 0;
for (const { id } of db.query("SELECT * FROM session").all()) {
  for (const { data } of db.query("SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id").all(id)) bytes += JSON.stringify(JSON.parse(data)).length;
  for (const { data } of db.query("SELECT * FROM part WHERE session_id = ? ORDER BY id").all(id)) bytes += JSON.stringify(JSON.parse(data)).length;
}
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
`;
const COPY = `
import { copySessions } from "${ROOT}/lib/transcripts/opencode.ts";
import { ownRules } from "${ROOT}/lib/transcripts/rules.ts";
const rules = ownRules();
const before = process.cpuUsage();
await copySessions(process.argv[2], process.argv[3], rules);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
`;
