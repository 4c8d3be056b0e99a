/** Forgetting at a terminal, while other programs read and write, and after one that was killed. */

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { forgetSessions } from "../lib/index/forget-rows.ts";
import { heldSessions } from "../lib/index/held-sessions.ts";
import { claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { holding, MARK } from "./support/forget.ts";
import { homePerTest, write, writeClaude } from "./support/home.ts";
import { openHomeStore } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";
import { starting, startScript } from "./support/run.ts";

const home = homePerTest();
const server = serverPerFile({ dimensions: 64 });

/** Writes a session that says a word with the mark, or another. */
function session(name: string, word = `${MARK}user`): { id: string; file: string } {
  const id = uuidFrom(name);
  const rows = [claudeUser({ text: `fix the ${word} parser`, cwd: home.project, sessionId: id })];
  return { id, file: writeClaude(home, { id, rows }) };
}

describe("forget", () => {
  test("at a terminal asks, and forgets after a yes alone", async () => {
    const { id } = session("asked about");
    expect(await atTerminal([id], "n\n")).toMatchObject({ exitCode: 1 });
    expect(await atTerminal([id], "\x04")).toMatchObject({ exitCode: 1 });
    expect(existsSync(home.paths.config)).toBe(false);
    const { said, exitCode } = await atTerminal([id], "y\n");
    expect([exitCode, said.includes("Forget this? [y/N]"), said.includes("forgot 1 session")]).toEqual([
      0,
      true,
      true,
    ]);
    expect(JSON.parse(readFileSync(home.paths.config, "utf8")).exclude.sessions).toEqual([id]);
  }, 30_000);

  test("while indexing, embedding and observing go on, nothing comes back", async () => {
    const at = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY", model: "fake" };
    home.configure({ embedding: { ...at, dimensions: 64 } });
    const victims = [1, 2, 3, 4].map((i) => session(`victim ${i}`));
    for (const i of [1, 2, 3, 4]) session(`other ${i}`, "harmless");
    await home.ok("embed");
    let isOver = false;
    const keepOn = async (work: (round: number) => Promise<unknown>) => {
      for (let round = 0; !isOver; round++) await work(round);
    };
    const victim = (round: number) => victims[round % 4] as (typeof victims)[0];
    const started = (name: string, args: string[]) =>
      startScript(name, args, { env: home.env, cwd: home.project });
    const others = [
      keepOn(async (round) => {
        utimesSync(victim(round).file, new Date(), new Date());
        await started("embed", round % 2 ? ["--all"] : []);
      }),
      keepOn((round) => {
        const { id, file } = victim(round);
        return home.run("hooks/background.ts", "--session", id, "--file", file, "--cwd", home.project);
      }),
      keepOn((round) => started("search", [`${MARK}user ${round}`])),
    ];
    await Bun.sleep(300);
    const forget = () => home.run("forget", "--yes", ...victims.map(({ id }) => id));
    let forgot = await forget();
    // It says to run it again where a reader kept the database's log from being emptied.
    for (let time = 0; time < 20 && forgot.stderr.includes("error: BUSY"); time++) forgot = await forget();
    expect(forgot.exitCode).toBe(0);
    await Bun.sleep(300);
    isOver = true;
    await Promise.all(others);
    expect(holding(home, MARK)).toEqual([]);
    const store = openHomeStore(home);
    expect(store.prepare("SELECT count(*) AS n FROM sessions").get()).toEqual({ n: 4 });
    expect(store.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  }, 60_000);

  test("ends what a run that was killed has left in the files", async () => {
    const { id, file } = session("left");
    await home.ok("embed");
    rmSync(file);
    const store = openHomeStore(home);
    forgetSessions(store, heldSessions(store));
    const other = openHomeStore(home);
    store.close(); // the last one to close empties the log, which a kill does not
    expect(holding(home, MARK)).not.toEqual([]);
    other.close();
    write(join(home.paths.observations, `${id}.jsonl.999999.0123abcd.tmp`), `${MARK}torn`);
    expect((await home.run("forget", "--yes", id)).exitCode).toBe(1);
    expect(holding(home, MARK)).toEqual([
      `/home/.session-memory/observations/${id}.jsonl.999999.0123abcd.tmp`,
    ]);
    await home.ok("forget", "--yes", session("some other", "harmless").id);
    expect(holding(home, MARK)).toEqual([]);
  });
});

/** Runs forget at a terminal and types an answer once it asks. */
async function atTerminal(args: string[], answer: string): Promise<{ said: string; exitCode: number }> {
  let said = "";
  const child = Bun.spawn([...starting("forget"), ...args], {
    env: home.env,
    cwd: home.project,
    terminal: {
      data(terminal, bytes) {
        said += new TextDecoder().decode(bytes);
        if (answer !== "" && said.includes("[y/N] ")) {
          terminal.write(answer);
          answer = "";
        }
      },
    },
  });
  const exitCode = await child.exited;
  return { said, exitCode };
}
