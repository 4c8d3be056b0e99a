/** What is left of a session when the host has deleted its transcript: the index answers, and says so. */

import { expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { ledgerFile } from "../lib/observe/ledger.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

const ID = uuidFrom("gone session");
const LEFT = "the transcript is gone, its observations are left\n";
const HOPS = Array.from(
  { length: 150 },
  (_, i) => `then hop ${i} forwards to host ${(i * 7919) % 1000}`,
).join(", ");
const LONG = `The gateway listens on port 8443, ${HOPS}, as agreed.`;

/** A session that was indexed and observed, and named where `isNamed`, before its transcript was deleted. */
async function deleted({ isNamed }: { isNamed: boolean }): Promise<{ home: TemporaryHome; file: string }> {
  const home = temporaryHome();
  const context = { sessionId: ID, cwd: home.project };
  const call = claudeAssistant({
    ...context,
    text: "I will run the tests.",
    tools: [{ name: "Bash", input: { command: "npm test" } }],
  });
  const toolUseId = /"id":"(toolu[^"]*)"/.exec(JSON.stringify(call))?.[1] ?? "";
  const rows = [
    claudeUser({ ...context, text: "Always use port 8443 for the gateway, never 8080." }),
    ...call,
    claudeToolResult({ ...context, toolUseId, content: "2 tests failed", isError: true }),
    ...claudeAssistant({ ...context, text: LONG }),
    claudeUser({ ...context, text: "Thanks, write that into docs/ports.md" }),
    ...claudeAssistant({ ...context, text: "Done, docs/ports.md says it." }),
  ];
  const file = writeClaude(home, { id: ID, rows });
  await home.run("embed");
  await home.run("observe-compact", ID, "--observe");
  if (isNamed) await home.run("index-meta", ID, "--force");
  rmSync(file);
  await home.run("embed");
  return { home, file };
}

test.each([[true], [false]])(
  "an observation leads back to its lines (named: %p)",
  async (isNamed) => {
    const { home } = await deleted({ isNamed });
    using _ = home;
    const ledger = readFileSync(ledgerFile(home.paths, ID), "utf8");
    const observations = ledger
      .trim()
      .split("\n")
      .flatMap((line) => JSON.parse(line).observations ?? []);
    const { id, sources } = observations.find(({ text }: { text: string }) => text.includes("8443"));
    for (const reference of [ID, ID.slice(0, 8)]) {
      const recalled = await home.run("observe-compact", reference, "--recall", id);
      expect([recalled.exitCode, recalled.stderr]).toEqual([0, LEFT]);
      const [, remark, ...lines] = recalled.stdout.trim().split("\n");
      expect(remark).toBe("its transcript is gone: these lines are from the index");
      expect(lines.join("\n")).toContain(`${sources[0]}: `);
      expect(lines.join("\n")).toContain("Always use port 8443 for the gateway, never 8080.");
    }
    const rendered = await home.run("observe-compact", ID, "--render", "--status");
    expect([rendered.exitCode, rendered.stderr]).toEqual([0, LEFT]);
    expect(rendered.stdout).toContain("8443");
  },
  30_000,
);

test("a hit says so as soon as the transcript is gone, whether or not the index was brought up to date", async () => {
  using home = temporaryHome();
  const file = writeClaude(home, {
    id: ID,
    rows: [claudeUser({ text: "Always use port 8443 for the gateway." })],
  });
  await home.run("embed");
  const gone = async (...args: string[]) =>
    JSON.parse((await home.run("search", ...args, "--json")).stdout).results[0].source_gone;
  expect(await gone("port of the gateway")).toBe(false);
  rmSync(file);
  expect(await gone("port of the gateway")).toBe(true);
  expect(await gone("port of the gateway", "--session", ID)).toBe(true);
});

test.each([[true], [false]])(
  "the reader reads from the index and says so (named: %p)",
  async (isNamed) => {
    const { home, file } = await deleted({ isNamed });
    using _ = home;
    const found = JSON.parse((await home.run("search", "port of the gateway", "--json")).stdout);
    expect(found.results[0]).toMatchObject({ session_id: ID, source_gone: true });
    for (const form of [[], ["--by-session"]]) {
      const { stdout } = await home.run("search", "port of the gateway", ...form);
      expect(stdout.split("\n", 1)[0]).toMatch(/^1\. .* · strong · transcript gone/);
    }
    for (const reference of [ID, ID.slice(0, 8), file]) {
      const { stdout, stderr, exitCode } = await home.run("session-reader", reference, "--full");
      expect([reference, exitCode, stderr]).toEqual([
        reference,
        0,
        "its transcript is gone: this is what the index holds of it\n",
      ]);
      const texts = stdout.replace(/\s+/g, " ");
      expect(texts).toContain("User: Always use port 8443 for the gateway, never 8080.");
      expect(texts).toContain("[Bash npm test] failed");
      expect(texts).toContain(LONG);
      expect(texts).toContain("User: Thanks, write that into docs/ports.md");
    }
    const { entries } = JSON.parse((await home.run("session-reader", ID, "--json")).stdout);
    const lines = entries.map(({ line }: { line: number }) => line);
    expect(lines).toEqual([...lines].sort((a, b) => a - b));
    const last = entries.at(-1);
    const place = await home.run("session-reader", `${ID.slice(0, 8)}:${last.line}-${last.line}`);
    expect(place.stdout).toContain("Done, docs/ports.md says it.");
    expect(place.stdout).not.toContain("User: Always use port");
    const some = await home.run("session-reader", ID, "--speaker", "user", "--grep", "thanks");
    expect(some.stdout.split("\n").filter((line) => line.startsWith("L"))).toHaveLength(1);
  },
  30_000,
);
