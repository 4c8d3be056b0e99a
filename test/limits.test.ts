/** What somebody else's text, file or program may cost: time in proportion, memory within bounds, and no waiting. */

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { constants, createZstdCompress, zstdCompressSync } from "node:zlib";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { hostileTexts } from "./support/hostile.ts";
import { layHost } from "./support/hosts.ts";
import { contentOf, indexHome, openHomeStore, openNewStore } from "./support/index.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { starting } from "./support/run.ts";

const ID = uuidFrom("limits");

/** Writes a session in which a command prints each of these texts. */
function writePrinted(home: TemporaryHome, ...texts: string[]): string {
  const calls = texts.flatMap((content, i) => [
    ...claudeAssistant({ sessionId: ID, tools: [{ id: `t${i}`, name: "Bash", input: { command: "cat" } }] }),
    claudeToolResult({ sessionId: ID, toolUseId: `t${i}`, content: content.toWellFormed() }),
  ]);
  return writeClaude(home, {
    id: ID,
    rows: chain([claudeUser({ sessionId: ID, text: "print it" }), ...calls]),
  });
}

test("outputs of any shape that are twice as long take at most twice the time and a bit", async () => {
  const repeated =
    ' |\t|\n|"|\'|`|[|(|{|<|\\|=|-|%|key=|password=|password: |"key":|://a:|eyJ|a=b; |{"a":|-----END '.split(
      "|",
    );
  const shapes = new Set(repeated.map((form) => JSON.stringify(form)));
  const texts = hostileTexts({ tokens: false }).filter(
    ({ name }) => shapes.has(name) || /^(?:random|base64|hexadecimal|digits)/.test(name),
  );
  expect(texts.length).toBeGreaterThanOrEqual(30);
  using home = temporaryHome();
  const cost = async (length: number) => {
    writePrinted(home, ...texts.map(({ of }) => of(length)));
    const started = process.cpuUsage();
    await home.ok("session-reader", ID, "--lines", "999");
    const { user, system } = process.cpuUsage(started);
    return (user + system) / 1000;
  };
  // The least of several counts: others may be at work on the machine. Which shape it is, `bun run bench hostile` says.
  let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const isInProportion = () => many < 2.7 * few;
  for (let round = 0; round < 9 && !isInProportion(); round++) {
    many = Math.min(many, await cost(200_000));
    few = Math.min(few, await cost(100_000));
  }
  expect({ few, many, isInProportion: isInProportion() }).toMatchObject({ isInProportion: true });
});

describe("a compressed session that holds more than any conversation", () => {
  const blanks = Buffer.alloc(100 * 1024 * 1024, " ");
  const file = (home: TemporaryHome) =>
    join(home.home, ".codex/sessions/2026/02/03", `rollout-2026-02-03T14-30-00-${ID}.jsonl.zst`);
  const unsized = async () => {
    const packing = createZstdCompress({ params: { [constants.ZSTD_c_contentSizeFlag]: 0 } });
    packing.end(blanks);
    return Buffer.concat(await Array.fromAsync(packing));
  };

  test.each([
    ["says its size", async () => zstdCompressSync(blanks)],
    ["does not say its size", unsized],
  ])(
    "and %s is too large: named, never unpacked, and not tried again while it is the same",
    async (_, make) => {
      using home = temporaryHome();
      const packed = file(home);
      mkdirSync(dirname(packed), { recursive: true });
      writeFileSync(packed, await make());
      const reason = `Cannot read "${packed}": too large (over 64 MiB)`;
      expect((await home.run("session-reader", "--list")).exitCode).toBe(0);
      expect(await home.run("session-reader", ID)).toEqual({
        stdout: "",
        stderr: `error: PARSE_ERROR: ${reason}\nhint: make it smaller, or move it away\n`,
        exitCode: 1,
      });
      const failed = `warning: cannot read ${packed.slice(0, -4)}: ${reason}\n`;
      expect((await home.run("embed")).stderr).toBe(failed);
      expect((await home.run("embed")).stderr).toBe("");
      expect((await home.run("health")).stdout).toContain(`1 transcript could not be read (${reason})`);
      const rows = [
        codexMeta({ id: ID, cwd: home.project }),
        ...codexPrompt({ text: "where do lanterns hang?" }),
      ];
      writeFileSync(packed, zstdCompressSync(jsonl(...rows)));
      await home.ok("embed");
      expect(await home.ok("search", "lanterns")).toContain("User: where do lanterns hang?");
    },
  );
});

test.each([
  ["800 MB", (path: string) => truncateSync(path, 800_000_000), "too large (over 8 MiB)"],
  ["newlines", (path: string) => writeFileSync(path, "\n".repeat(9_000_000)), "too large (over 8 MiB)"],
])("search --file refuses a place in a file of %s", async (_, fill, why) => {
  using home = temporaryHome();
  const path = write(join(home.project, "big.txt"), "");
  fill(path);
  expect(await home.run("search", "--file", "big.txt:5")).toEqual({
    stdout: "",
    stderr: `error: PARSE_ERROR: Cannot read "${path}": ${why}\nhint: make it smaller, or move it away\n`,
    exitCode: 1,
  });
});

test.skipIf(process.platform !== "linux").each(["mem", "pagemap", "environ"])(
  "search --file names what the system only shows as a file: /proc/self/%s",
  async (name) => {
    using home = temporaryHome();
    const path = `/proc/self/${name}`;
    expect(await home.run("search", "--file", `${path}:1`)).toEqual({
      stdout: "",
      stderr:
        `error: NOT_FOUND: Cannot find line 1 of ${path}: it has 0 lines\n` +
        `hint: search --file ${path} lists the sessions that had to do with it\n`,
      exitCode: 1,
    });
    const given = await home.run("search", "lantern", "--sessions", path);
    expect([given.exitCode, given.stderr.split("\n")[0]]).toEqual([0, "nothing relevant found"]);
  },
);

test("another program's database that is held is not waited for, named, and read when it is free", async () => {
  using home = temporaryHome();
  const words = { "Raise the zebra limit to 20, please": "where do lanterns hang?" };
  const [path = ""] = layHost(home, "opencode", "zebra", { cwd: home.project, words });
  using holder = new Database(path);
  holder.query("PRAGMA locking_mode = EXCLUSIVE").get();
  holder.exec("UPDATE session SET title = 'held'");
  holder.exec("BEGIN EXCLUSIVE");
  const warning = `warning: Cannot read "${path}": database is locked\n`;
  const started = performance.now();
  expect(await home.run("session-reader", "--list")).toEqual({
    stdout: "",
    stderr: `${warning}no sessions found\n`,
    exitCode: 0,
  });
  expect((await home.run("search", "lanterns")).stderr).toStartWith(warning);
  expect(performance.now() - started).toBeLessThan(10_000); // the driver's own patience is ten seconds for each
  holder.close();
  expect(await home.ok("session-reader", "--list")).toContain("ses_limit");
  expect(existsSync(`${path}.damaged`)).toBe(false);
});

test("a run is stopped within a session, and the next one goes on", async () => {
  using home = temporaryHome();
  const printed = Array.from({ length: 2000 }, (_, i) => `lantern ${i} words go by, password=abcDEF123 `);
  writePrinted(home, ...printed.map((line) => line.repeat(50)));
  const child = Bun.spawn([...starting("embed"), "--json"], {
    env: home.env,
    stdout: "pipe",
    stderr: "ignore",
  });
  while (!existsSync(join(home.paths.home, "index.lock"))) await Bun.sleep(2);
  child.kill("SIGTERM");
  const report = JSON.parse(await new Response(child.stdout).text());
  expect([await child.exited, report.newChunks]).toEqual([143, 0]);
  await home.ok("embed");
  const [store, alone] = [openHomeStore(home), openNewStore()];
  await indexHome(home, alone);
  expect(contentOf(store)).toEqual(contentOf(alone));
  alone.close();
});
