import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claudeUser } from "./support/claude.ts";
import { homePerTest, write, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript, starting } from "./support/run.ts";

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

function start(fields: object = {}) {
  const file = join(home.root, "me.jsonl");
  const input = {
    hook_event_name: "SessionStart",
    source: "startup",
    session_id: uuidFrom("me"),
    cwd: home.project,
  };
  return home.hook("session-start", { ...input, transcript_path: file, ...fields });
}

async function startWord(fields: object = {}): Promise<string | undefined> {
  const { stdout } = await start(fields);
  return stdout === "" ? undefined : JSON.parse(stdout).systemMessage;
}

describe("health --told", () => {
  test("prints every text that was given to an agent, whole, with session and time, and no failure as told", async () => {
    tell("2026-02-03T10:00:00.000Z", "first");
    tell("2026-02-03T11:00:00.000Z", "[Session Activity] two\n- lines");
    tell("2026-02-03T12:00:00.000Z", "never arrived", { ok: false });
    expect(await home.ok("health", "--told")).toBe(
      "2026-02-03 10:00:00 · session 41111111\n  first\n2026-02-03 11:00:00 · session 41111111\n  [Session Activity] two\n  - lines\n",
    );
    expect(await home.ok("health", "--told", "-n", "1")).not.toContain("first");
    expect(JSON.parse(await home.ok("health", "--told", "--json"))).toEqual({
      told: [
        { at: "2026-02-03T10:00:00.000Z", session: ID, text: "first" },
        { at: "2026-02-03T11:00:00.000Z", session: ID, text: "[Session Activity] two\n- lines" },
      ],
    });
  });

  test("redacts by rules made later, and says where nothing was told", async () => {
    expect(await home.ok("health", "--told")).toBe("no text was given to an agent yet\n");
    tell("2026-02-03T10:00:00.000Z", "about project zeppelin");
    home.configure({ redact: { extra: ["zeppelin"] } });
    expect(await home.ok("health", "--told")).toContain("  about project [redacted:custom]");
    expect((await home.run("health", "-n", "3")).exitCode).toBe(2);
  });
});

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
    const titled = (id: string, title: string, at: string) =>
      writeClaude(home, {
        id,
        rows: [
          claudeUser({ sessionId: id, text: "hello there", cwd: home.project, at }),
          { type: "custom-title", customTitle: title, sessionId: id },
        ],
      });
    titled(ID, "the user's zebra exporter", "2026-02-03T10:00:00.000Z");
    titled(uuidFrom("by rule"), '"hello" in shop on 2026-02-04', "2026-02-04T10:00:00.000Z");
    await home.ok("embed", "--quiet");
    expect(await overview()).toBe(
      `2 sessions known here.\n\nNext: session-memory session-reader last --outline\n      session-memory search 'what came of "the user'\\''s zebra exporter"?'\n\n`,
    );
  });

  test("says what is known, what agents were told today with the last texts, and what to ask next", async () => {
    expect(await overview()).toBe(
      "No sessions are known yet: session-memory setup indexes what is there.\n\n",
    );
    writeClaude(home, { id: ID, rows: [claudeUser({ sessionId: ID, text: "hello there" })] });
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

describe("status-line", () => {
  const justNow = () => new Date().toISOString();
  const line = async (stdin: string) => {
    const { stdout, exitCode, stderr } = await runScript("status-line", [], {
      ...{ env: home.env, cwd: home.project, stdin },
    });
    expect([exitCode, stderr]).toEqual([0, ""]);
    return stdout;
  };

  test("says what is known, what is new for this session and what was told today, whatever it reads", async () => {
    expect(await line("")).toBe("0 sessions known\n");
    const file = writeClaude(home, {
      id: ID,
      rows: [claudeUser({ sessionId: ID, text: "hello there", cwd: home.project, at: justNow() })],
    });
    await home.ok("embed", "--quiet");
    expect(await line('{"session_id": "')).toBe("1 session known · 1 with news\n");
    tell(new Date().toISOString(), "x");
    const input = { session_id: "me", cwd: home.project, transcript_path: join(home.root, "me.jsonl") };
    expect(await line(JSON.stringify(input))).toBe("1 session known · 1 with news · 1 told today\n");
    expect(await line(JSON.stringify({ ...input, session_id: ID, transcript_path: file }))).toBe(
      "1 session known · 1 told today\n",
    );
  });

  test("counts the sessions that lists show: a fork too, and none in which nothing was said", async () => {
    const row = { sessionId: ID, text: "hello there", cwd: home.project, at: justNow() };
    const said = claudeUser(row);
    writeClaude(home, { id: ID, rows: [said] });
    writeClaude(home, { id: uuidFrom("fork"), rows: [said] });
    const silent = { type: "file-history-snapshot", messageId: uuidFrom("m"), snapshot: {} };
    writeClaude(home, { id: uuidFrom("silent"), rows: [silent] });
    await home.ok("embed", "--quiet");
    const { sessions } = JSON.parse(await home.ok("session-reader", "--list", "--json"));
    expect(sessions.length).toBe(2);
    expect(await line("")).toBe("2 sessions known · 2 with news\n");
  });

  test("counts no session whose file was copied here as news", async () => {
    const said = { text: "hello there", cwd: home.project };
    writeClaude(home, { id: ID, rows: [claudeUser({ ...said, sessionId: ID })] });
    const id = uuidFrom("live");
    writeClaude(home, { id, rows: [claudeUser({ ...said, sessionId: id, at: justNow() })] });
    await home.ok("embed", "--quiet");
    expect(await line("")).toBe("2 sessions known · 1 with news\n");
  });

  test("is empty where it is switched off, in the settings or for the process", async () => {
    home.configure({ activity: { statusLine: false } });
    expect(await line("{}")).toBe("");
    home.configure({ activity: { statusLine: "yes" } });
    expect(await line("{}")).toBe("");
    home.configure({});
    home.env.SESSION_MEMORY_DISABLE = "1";
    expect(await line("{}")).toBe("");
  });
});

describe("the day's word", () => {
  const index = async (id: string) => {
    writeClaude(home, {
      id,
      rows: [claudeUser({ sessionId: id, text: `hello ${id}`, at: new Date().toISOString() })],
    });
    await home.ok("embed", "--quiet");
  };
  const daily = () => join(home.paths.home, "daily");
  const typed = `sh ${starting("")[1]}`;

  test("names the command by its name where that is on PATH", async () => {
    await index(ID);
    const folder = join(home.root, "bin");
    mkdirSync(folder);
    writeFileSync(join(folder, "session-memory"), "", { mode: 0o755 });
    home.env.PATH = `${home.env.PATH}:${folder}`;
    expect(await startWord()).toBe(
      "session-memory: 1 session known here · session-memory session-reader last",
    );
  });

  test("comes at the first session of a day, to the person and not to the model", async () => {
    expect(await startWord()).toBeUndefined();
    await index(ID);
    expect(await startWord()).toBe(`session-memory: 1 session known here · ${typed} session-reader last`);
    expect(await startWord()).toBeUndefined();
    const before = new Date(Date.now() - 86_400_000).toISOString();
    writeFileSync(daily(), before);
    await index(uuidFrom("second"));
    const { stdout } = await start();
    expect(JSON.parse(stdout).systemMessage).toBe(
      `session-memory: 2 sessions known here · 2 new since yesterday · ${typed} session-reader last`,
    );
    expect(JSON.stringify(JSON.parse(stdout).hookSpecificOutput ?? {})).not.toContain("known here");
  });

  test("does not come to a session that goes on, in Codex, or where it is switched off; a damaged note is none", async () => {
    await index(ID);
    expect(await startWord({ source: "resume" })).toBeUndefined();
    expect(await startWord({ transcript_path: join(home.root, "rollout-x.jsonl") })).toBeUndefined();
    home.configure({ activity: { daily: false } });
    expect(await startWord()).toBeUndefined();
    home.configure({});
    appendFileSync(daily(), "not a time");
    expect(await startWord()).toContain(`1 session known here · ${typed} session-reader last`);
  });
});

describe("activity.digest", () => {
  test("false or a length of 0 leaves the digest out, and @@ answers as before", async () => {
    const rows = [
      claudeUser({ sessionId: ID, text: "deploy the shop", cwd: home.project, at: new Date().toISOString() }),
    ];
    writeClaude(home, { id: ID, rows });
    for (const activity of [{ digest: false }, { maxChars: 0 }]) {
      home.configure({ activity });
      expect(await home.prompt("hello")).toBe("");
      expect(await home.prompt(`see @@${ID.slice(0, 8)}`)).toStartWith("[Session References]");
    }
    home.configure({});
    expect(await home.prompt("hello")).toContain("Deploy the shop");
  });
});
