/** Sessions of Claude Code of which nothing but the prompts is left, in the host's file of all prompts. */

import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, type TemporaryHome, write, writeClaude } from "./support/home.ts";
import { seeded } from "./support/random.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";
import { secretsOf } from "./support/secrets.ts";

const home = homePerTest();

const [LOST, KEPT] = [uuidFrom("lost"), uuidFrom("kept")];
const START = Date.parse("2026-02-03T14:30:00.000Z");
const SECRET = secretsOf("github-token", seeded(3))[0]?.text ?? "";

function typed(display: string, minute = 0, fields: Row = {}): Row {
  const timestamp = START + minute * 60_000;
  return { display, pastedContents: {}, timestamp, project: home.project, sessionId: LOST, ...fields };
}

function historyOf({ paths }: TemporaryHome): string {
  return join(paths.claude, "history.jsonl");
}

function writeHistory(...rows: Row[]): void {
  write(historyOf(home), jsonl(...rows));
}

function writeKept(text = "Where do the herons nest?"): string {
  const at = new Date(START).toISOString();
  return writeClaude(home, {
    id: KEPT,
    rows: [
      claudeUser({ at, sessionId: KEPT, cwd: home.project, text }),
      ...claudeAssistant({ at, sessionId: KEPT, cwd: home.project, text: "In the alders." }),
    ],
  });
}

interface Listed {
  id: string;
  promptsAlone?: true;
  archived?: true;
}

async function listed(...flags: string[]): Promise<string[]> {
  const { sessions } = await home.json("session-reader", "--list", ...flags);
  return sessions
    .map(
      ({ id, promptsAlone, archived }: Listed) =>
        `${id}${promptsAlone ? " prompts" : ""}${archived ? " archive" : ""}`,
    )
    .sort();
}

async function words(id = LOST): Promise<string[]> {
  const { entries } = await home.json("session-reader", id);
  return entries.map(({ kind, text }: { kind: string; text: string }) => `${kind}: ${text}`);
}

async function found(query: string): Promise<string[]> {
  const { results } = await home.json("search", query);
  return results.map(({ session_id, prompts_alone }: { session_id: string; prompts_alone?: true }) =>
    prompts_alone ? `${session_id} prompts` : session_id,
  );
}

/** Returns every text below our state folder, except what config.json excludes. */
function stored(): string {
  const root = home.paths.home;
  return readdirSync(root, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("config.json"))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

describe("the prompts of a session without a transcript", () => {
  test("are a session that is listed, read, searched and marked", async () => {
    writeHistory(
      typed("Count the zebras"),
      typed("Where do the herons nest?", 1, { sessionId: KEPT }),
      typed("now the newts", 2),
    );
    writeKept();
    expect(await listed()).toEqual([KEPT, `${LOST} prompts`].sort());
    expect(await words()).toEqual(["user: Count the zebras", "user: now the newts"]);
    expect(await found("zebras")).toEqual([`${LOST} prompts`]);
    expect(await found("herons nest")).toEqual([KEPT]);
    expect(await home.ok("session-reader", "--list")).toContain("(prompts alone)");
    expect(await home.ok("session-reader", LOST)).toContain("prompts alone: its transcript is gone");
    expect(await home.ok("search", "zebras")).toContain("prompts alone");
  });

  test("hold what was pasted, and no command of the host or of the shell", async () => {
    writeHistory(
      typed("/exit", 0, { sessionId: uuidFrom("only a command") }),
      typed("/model opus"),
      typed("!ls", 1),
      typed("/fix-issue the exporter drops a row", 2),
      typed("Mend this: [Pasted text #1 +2 lines]", 3, {
        pastedContents: { 1: { id: 1, type: "text", content: "a\nb" } },
      }),
    );
    expect(await listed()).toEqual([`${LOST} prompts`]);
    expect(await words()).toEqual(["user: /fix-issue the exporter drops a row", "user: Mend this: a\nb"]);
  });

  test("grow with the file, each once, and a line half written waits", async () => {
    writeHistory(typed("Count the zebras"));
    expect(await words()).toEqual(["user: Count the zebras"]);
    appendFileSync(
      historyOf(home),
      jsonl(typed("Count the zebras")) + JSON.stringify(typed("now the newts", 2)),
    );
    expect(await words()).toEqual(["user: Count the zebras"]);
    appendFileSync(historyOf(home), "\n");
    expect(await words()).toEqual(["user: Count the zebras", "user: now the newts"]);
    expect(await found("newts")).toEqual([`${LOST} prompts`]);
  });

  test("cannot be resumed or restored", async () => {
    writeHistory(typed("Count the zebras"));
    const { exitCode, stderr } = await home.run("restore", LOST);
    expect([exitCode === 0, stderr.includes("only its prompts are left")]).toEqual([false, true]);
    expect((await home.run("session-reader", LOST, "--resume")).exitCode).not.toBe(0);
  });

  test("give way to a copy in the archive, and to the transcript when it is back", async () => {
    const file = writeKept();
    const rows = readFileSync(file);
    const old = new Date(Date.now() - 2 * 86_400_000);
    utimesSync(file, old, old);
    writeHistory(typed("Where do the herons nest?", 0, { sessionId: KEPT }));
    await home.ok("hooks/background.ts", "--begin", "--cwd", home.project);
    rmSync(file);
    expect(await listed()).toEqual([`${KEPT} archive`]);
    rmSync(home.paths.copies, { recursive: true });
    expect(await listed()).toEqual([`${KEPT} prompts`]);
    write(file, rows.toString());
    expect([await listed(), await found("alders")]).toEqual([[KEPT], [KEPT]]);
  });

  test("are copied redacted, with what one of them announces", async () => {
    writeHistory(
      typed(`the token is ${SECRET}`),
      typed("the password is hunter2swordfish", 1),
      typed("try hunter2swordfish", 2),
    );
    expect(await words()).toEqual([
      "user: the token is [redacted:github-token]",
      "user: the password is [redacted:password]",
      "user: try [redacted:password]",
    ]);
    await home.ok("embed");
    for (const secret of [SECRET, "hunter2swordfish"]) expect(stored()).not.toContain(secret);
  });
});

describe("what is excluded of the file of prompts", () => {
  test.each([
    ["a session", { sessions: [LOST] }],
    ["a project", { projects: ["shop"] }],
    ["a pattern", { patterns: ["zebra"] }],
  ])("by %s is nowhere", async (_, exclude) => {
    writeHistory(typed("Count the zebras"));
    home.configure({ exclude });
    expect([await listed(), await found("zebras")]).toEqual([[], []]);
    expect(stored()).not.toContain("zebras");
  });

  test.each([
    ["a session", [LOST]],
    ["a project", ["--project", "."]],
    ["a text", ["--pattern", "zebra"]],
  ])("by forgetting %s, before it was read and after, stays forgotten", async (_, args) => {
    writeHistory(typed("Count the zebras"));
    await found("zebras");
    const report = await home.ok("forget", ...args, "--yes");
    if (args[0] === LOST) expect(report).toContain("the host's file of all prompts still contains theirs");
    expect([await listed(), await found("zebras")]).toEqual([[], []]);
    expect(stored()).not.toContain("zebras");
    appendFileSync(historyOf(home), jsonl(typed("more zebras", 5)));
    expect([await listed(), await found("zebras")]).toEqual([[], []]);
    expect(stored()).not.toContain("zebras");
  });

  test("by forgetting a session with its transcript does not come back when that is gone", async () => {
    const file = writeKept();
    writeHistory(typed("Where do the herons nest?", 0, { sessionId: KEPT }));
    await found("herons");
    await home.ok("forget", KEPT, "--yes");
    rmSync(file);
    expect([await listed(), await found("herons nest"), stored().includes("herons")]).toEqual([
      [],
      [],
      false,
    ]);
  });
});
