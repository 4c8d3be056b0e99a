/** Homes larger than `npm test` has time for (`npm run soak`): nothing is lost in them, and memory does not grow with them. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { sessionText } from "./bench/corpus.ts";
import { bun, peakMemory, timeProcess } from "./bench/measure.ts";
import { claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { SOAK, seeded } from "./support/random.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { scriptPath } from "./support/run.ts";

setDefaultTimeout(7_200_000);

/** The soak that nobody shortens plays thirty times the rounds: 20,000 sessions, and one of 1 GB. */
const PART = SOAK / 30;
const SESSIONS = Math.round(20_000 * PART);
const MEGABYTES = Math.round(1024 * PART);

const BIRDS = ["heron", "ibis", "egret"] as const;
const planted = (bird: string) => `the lamp of the ${bird} is lit by hand`;

/** Runs a script in a process of its own, which must end well, and returns what it prints. */
async function run({ env, project }: TemporaryHome, name: string, ...args: string[]): Promise<string> {
  return (await timeProcess(bun(scriptPath(name), ...args), { env, cwd: project })).stdout;
}

/** The most memory of a script's process, in MiB. */
function memoryOf({ env, project }: TemporaryHome, name: string, ...args: string[]): Promise<number> {
  return peakMemory(bun(scriptPath(name), ...args), { env, cwd: project });
}

/** Where each planted sentence is found first. */
async function foundIn(home: TemporaryHome): Promise<string[]> {
  const places: string[] = [];
  for (const bird of BIRDS) {
    const found = await run(home, "search", "--quiet", "--json", `how is the lamp of the ${bird} lit`);
    places.push(JSON.parse(found).results[0]?.session_id);
  }
  return places;
}

test(`${SESSIONS} sessions are listed and searched, each of them, and a forgotten one is gone`, async () => {
  using home = temporaryHome();
  const random = seeded(3);
  const id = (number: number) => uuidFrom(`many ${number}`);
  const homes = [0, SESSIONS >> 1, SESSIONS - 1];
  for (let number = 0; number < SESSIONS; number++) {
    const bird = BIRDS[homes.indexOf(number)];
    const rows = sessionText(random, { number, rows: 6, bytes: 4_000 });
    const row = bird && claudeUser({ sessionId: id(number), text: planted(bird) });
    writeClaude(home, { id: id(number), rows: row ? rows + jsonl(row) : rows });
  }
  await run(home, "embed", "--quiet");
  const list = await run(home, "session-reader", "--list", "--json", "-n", String(SESSIONS * 2));
  expect(JSON.parse(list).sessions).toHaveLength(SESSIONS);
  expect(JSON.parse(await run(home, "embed", "--status", "--json")).sessions).toHaveLength(SESSIONS);
  expect(await foundIn(home)).toEqual(homes.map(id));
  await run(home, "forget", id(homes[1] ?? 0), "--yes", "--quiet");
  const [first, second, third] = await foundIn(home);
  expect([first, third]).toEqual([id(0), id(SESSIONS - 1)]);
  expect(second).not.toBe(id(homes[1] ?? 0));
});

test(`a session of ${MEGABYTES} MB is read from its end and found whole, in the memory that a small one takes`, async () => {
  using home = temporaryHome();
  const random = seeded(4);
  const sessionId = uuidFrom("large");
  const file = writeClaude(home, { id: sessionId, rows: "" });
  const lines: number[] = [];
  let line = 0;
  const append = (text: string) => {
    appendFileSync(file, text);
    line += text.split("\n").length - 1;
  };
  for (let number = 0; number < MEGABYTES; number++) {
    const bird = BIRDS[[0, MEGABYTES >> 1, MEGABYTES - 1].indexOf(number)];
    if (bird !== undefined) {
      append(jsonl(claudeUser({ sessionId, text: planted(bird) })));
      lines.push(line);
    }
    append(sessionText(random, { number, rows: 240, bytes: 1024 ** 2 }));
  }
  expect(await memoryOf(home, "embed", "--quiet")).toBeLessThan(200);
  for (const [at, bird] of BIRDS.entries()) {
    const place = `${sessionId}:${lines[at]}`;
    expect(await run(home, "session-reader", place, "--around", "0", "--quiet")).toContain(planted(bird));
  }
  expect(await foundIn(home)).toEqual([sessionId, sessionId, sessionId]);
  expect(await memoryOf(home, "session-reader", sessionId, "--lines", "5", "--quiet")).toBeLessThan(150);
});
