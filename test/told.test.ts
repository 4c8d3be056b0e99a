import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { homePerTest, write } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { starting } from "./support/run.ts";
import { lay } from "./support/world.ts";

setDefaultTimeout(30_000);

const ID = "41111111-aaaa-4aaa-8aaa-000000000001";
const home = homePerTest();

function tell(at: string, text: string, more: object = {}): void {
  const row = { at, event: "injected", ok: true, session: ID, text, ...more };
  write(
    home.paths.log,
    `${existsSync(home.paths.log) ? readFileSync(home.paths.log, "utf8") : ""}${JSON.stringify(row)}\n`,
  );
}

describe("session-memory alone at a terminal", () => {
  const overview = async () => {
    let said = "";
    const [shell = "", starter = ""] = starting("health");
    const data = (_: unknown, bytes: Uint8Array) => {
      said += new TextDecoder().decode(bytes);
    };
    const child = Bun.spawn([shell, starter], { env: home.env, cwd: home.project, terminal: { data } });
    expect(await child.exited).toBe(0);
    return said.replaceAll("\r", "").split("Usage: ")[0];
  };
  const next =
    '\nNext: session-memory session-reader last --outline\n      session-memory search "what did we decide about …"\n\n';

  test("asks next what came of the last session of the project that has a name of its own", async () => {
    const titled = (id: string, customTitle: string, at: string) => {
      const title = JSON.stringify({ type: "custom-title", customTitle });
      lay(home, `@claude ${id} ${at} 10:00\nUser: hello there\n${title}`);
    };
    titled(ID, "the user's zebra exporter", "2026-02-03");
    titled(uuidFrom("by rule"), '"hello" in shop on 2026-02-04', "2026-02-04");
    await home.ok("embed", "--quiet");
    expect(await overview()).toBe(
      `2 sessions known here.\n\nNext: session-memory session-reader last --outline\n      session-memory search 'what came of "the user'\\''s zebra exporter"?'\n\n`,
    );
  });

  test("says what is known, what agents were told today with the last texts, and what to ask next", async () => {
    expect(await overview()).toBe(
      "No sessions are known yet: session-memory setup indexes what is there.\n\n",
    );
    lay(home, `@claude ${ID} 2026-02-03 14:30\nUser: hello there`);
    await home.ok("embed", "--quiet");
    expect(await overview()).toBe(`1 session known here.\n${next}`);
    tell("2026-02-03T10:00:00.000Z", "first");
    const shown = "The last (session-memory health --told shows more):\n";
    const first = "2026-02-03 10:00 · session 41111111\n  first\n";
    expect(await overview()).toBe(
      `1 session known here.\n\nNo text told to agents today. ${shown}${first}${next}`,
    );
    const at = new Date().toISOString();
    tell(at, "[Session Activity] two\n- lines");
    const last = `${at.slice(0, 16).replace("T", " ")} · session 41111111\n  [Session Activity] two\n  - lines\n`;
    expect(await overview()).toBe(
      `1 session known here.\n\n1 text told to agents today. ${shown}${first}${last}${next}`,
    );
  });
});

test("the day's word names the command by its name where that is on PATH", async () => {
  lay(home, `@claude ${ID} 0s ago\nUser: hello`);
  await home.ok("embed", "--quiet");
  const word = async () => {
    rmSync(join(home.paths.home, "daily"), { force: true });
    const me = { session_id: uuidFrom("me"), transcript_path: join(home.root, "me.jsonl") };
    const { stdout } = await home.hook("session-start", { ...me, source: "startup", cwd: home.project });
    return JSON.parse(stdout).systemMessage;
  };
  const known = "session-memory: 1 session known here";
  expect(await word()).toBe(`${known} · sh ${starting("")[1]} session-reader last`);
  write(join(home.root, "bin", "session-memory"), "");
  chmodSync(join(home.root, "bin", "session-memory"), 0o755);
  home.env.PATH = `${home.env.PATH}:${join(home.root, "bin")}`;
  expect(await word()).toBe(`${known} · session-memory session-reader last`);
});
