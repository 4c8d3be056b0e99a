/** A prompt waits for a second at most, whatever lies in the hosts' folders; what it could not read comes with the next ones. */

import { describe, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { reads } from "../lib/hosts/lines.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { eventually } from "./support/eventually.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { SOAK } from "./support/random.ts";
import { jsonl, secondsAgo, uuidFrom } from "./support/rows.ts";

const home = homePerTest();
/** The promise is one second; before it was kept these took 3 to 17. The time is that of this process: the machine may be busy. */
const CPU_MAX_MS = 2500;
/** A prompt that reads them all has to wait. */
const MANY = SOAK > 1 ? 1e6 : 3e5;
const MEGABYTE = 1024 * 1024;

function talk(sessionId: string, text = "hi"): string {
  const of = { sessionId, cwd: home.project, at: secondsAgo(60) };
  return jsonl(claudeUser({ ...of, text }), ...claudeAssistant({ ...of, text: "yes" }));
}

async function prompt(): Promise<string> {
  const before = process.cpuUsage();
  const injected = await home.prompt("hello");
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(CPU_MAX_MS);
  return injected;
}

test.each([
  ["empty lines after it", (said: string) => said + "\n".repeat(3 * MANY)],
  ["empty lines before it", (said: string) => "\n".repeat(3 * MANY) + said],
  ["torn rows", (said: string) => said + "{\n".repeat(MANY)],
])(
  "a prompt does not wait for a session with very many %s",
  async (_, rows) => {
    const id = uuidFrom("odd");
    writeClaude(home, { id, rows: rows(talk(id)) });
    // On a busy machine its time may be up before the first row: then one of the next ones tells.
    await eventually("a prompt that tells of it", async () => (await prompt()).includes('"hi"'));
  },
  30_000,
);

test("a prompt does not wait for a file of nothing but empty lines", async () => {
  writeClaude(home, { id: uuidFrom("odd"), rows: "\n".repeat(3 * MANY) });
  expect(await prompt()).toBe("");
}, 30_000);

describe("a file of one endless line", () => {
  /** One that begins as a row of the project's, newer than all others. */
  function writeEndless(first = ""): void {
    const start =
      first +
      JSON.stringify(claudeUser({ text: "", cwd: home.project })).replace('"content":""', '"content":"');
    const file = writeClaude(home, { id: uuidFrom("endless"), rows: start.replace(/"}.*$/, "") });
    for (let part = 0; part < 60; part++) appendFileSync(file, "a".repeat(MEGABYTE));
  }

  /** What is read of transcripts meanwhile. */
  async function bytesOf(work: () => Promise<string>): Promise<{ bytes: number; said: string }> {
    const before = reads.bytes;
    const said = await work();
    return { said, bytes: reads.bytes - before };
  }

  test.each([
    ["alone", ""],
    ["behind a row", `${JSON.stringify(claudeUser({ text: "", at: secondsAgo(9) }))}\n`],
  ])(
    "%s neither silences a prompt nor is read again by the next one",
    async (_, first) => {
      const id = uuidFrom("other");
      writeClaude(home, { id, rows: talk(id) });
      writeEndless(first);
      await eventually("a prompt that tells of the other", async () => (await prompt()).includes('"hi"'));
      await prompt();
      const again = await bytesOf(prompt);
      expect([again.said, again.bytes < MEGABYTE]).toEqual(["", true]);
    },
    30_000,
  );

  test("is read once by a command, up to the limit of a first line", async () => {
    const ids = Array.from({ length: 50 }, (_, i) => uuidFrom(`fresh ${i}`));
    for (const id of ids) writeClaude(home, { id, rows: talk(id) });
    writeEndless();
    for (const args of [
      ["activity-summary", "--current", ids[0] ?? "", "--since", "1d"],
      ["session-reader", "--list"],
      ["search", "hi"],
    ]) {
      const { bytes } = await bytesOf(() => home.ok(args[0] ?? "", ...args.slice(1)));
      expect([args[0], bytes < 64 * MEGABYTE]).toEqual([args[0], true]);
    }
  }, 60_000);
});

test("of thousands of fresh sessions a prompt tells of some, and the next ones of others", async () => {
  const ids = Array.from({ length: SOAK > 1 ? 20_000 : 3_000 }, (_, i) => uuidFrom(`fresh ${i}`));
  for (const id of ids) writeClaude(home, { id, rows: talk(id, `hi from ${id}`) });
  const named: string[] = [];
  for (let prompts = 0; prompts < 4; prompts++)
    named.push(...((await prompt()).match(/- [0-9a-f]{8} /g) ?? []));
  expect(named.length).toBeGreaterThan(0);
  expect(named).toEqual([...new Set(named)]);
}, 60_000);

test("lines are numbered as an editor numbers them, empty ones included", async () => {
  const id = uuidFrom("odd");
  writeClaude(home, { id, rows: `\n\n\n${talk(id).split("\n")[0]}\n\n \n\n${talk(id).split("\n")[1]}\n` });
  const lines = (await home.ok("session-reader", id)).split("\n").slice(1);
  expect(lines.map((line) => line.split(" ")[0]).filter(Boolean)).toEqual(["L4", "L8"]);
});
