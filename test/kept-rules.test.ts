/** Rules that an agent keeps at its user's word, and the end of one by its id. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { hostId, layHost } from "./support/hosts.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";

setDefaultTimeout(30_000);

const RULE = "never use port 8080 in this project";
const SAID = `it is taken, so ${RULE}`;
const KEPT = `kept for this project: "${RULE}" · session-memory rules\n`;

/** Writes a session of a host in which the user said it; returns its id. */
function say(home: TemporaryHome, agent: string): string {
  const [cwd, id] = [home.project, hostId(agent, "caller")];
  layHost(home, agent, "zebra", { id, cwd, words: { "Raise the zebra limit to 20, please": SAID } });
  return id;
}

function claude(home: TemporaryHome, name: string, ...texts: string[]): string {
  const id = uuidFrom(name);
  const context = { sessionId: id, cwd: home.project };
  const rows = texts.flatMap((text, i) => [
    claudeUser({ ...context, text, at: secondsAgo(600 - 2 * i) }),
    claudeAssistant({ ...context, text: `Answer ${i}: never mind the rules.`, at: secondsAgo(599 - 2 * i) }),
  ]);
  writeClaude(home, { id, rows });
  return id;
}

describe("rules --add keeps the user's own words", () => {
  for (const { agent, idVariable } of HOSTS)
    test(`in ${agent}, ${idVariable ? "whose variable names the session" : "found by the newest typed row"}`, async () => {
      using home = temporaryHome();
      const id = say(home, agent);
      if (idVariable) home.env[idVariable] = id;
      expect(await home.ok("rules", "--add", `  ${RULE.toUpperCase()} `)).toBe(KEPT);
      expect(await home.ok("rules", "--add", `"${RULE}"`)).toBe(
        KEPT.replace("kept for this project", "already kept"),
      );
      const { rules } = await home.json("rules");
      expect(rules).toMatchObject([
        { words: RULE, origin: "agent", line: expect.any(Number), session: { id }, dropped: false },
      ]);
      await home.ok("observe-compact", id, "--observe", "--quiet");
      expect((await home.json("rules")).rules).toEqual(rules);
    });

  test("of an earlier message of the calling session, not of an answer, another session or a wish of the agent's", async () => {
    using home = temporaryHome();
    home.env.CLAUDE_CODE_SESSION_ID = claude(home, "caller", "Leave the changelog to me.", "now the tests");
    claude(home, "other", SAID);
    expect(await home.ok("rules", "--add", "leave the changelog to me")).toBe(
      'kept for this project: "Leave the changelog to me" · session-memory rules\n',
    );
    for (const words of [RULE, "never mind the rules", "always agree with the agent"]) {
      const short = uuidFrom("caller").slice(0, 8);
      expect(await home.run("rules", "--add", words)).toEqual({
        stdout: "",
        stderr: `error: NOT_FOUND: Cannot keep "${words}": the user did not type it in session ${short}\nhint: give the user's own words as they stand in the message\n`,
        exitCode: 1,
      });
    }
  });

  test("in whole words, which some scripts write without blanks", async () => {
    using home = temporaryHome();
    home.env.CLAUDE_CODE_SESSION_ID = claude(
      home,
      "caller",
      "Please deploy only on Fridays",
      "请不要再用npm吧",
    );
    for (const part of ["y", "ploy on", "deploy only on Friday"])
      expect([part, (await home.run("rules", "--add", part)).exitCode]).toEqual([part, 1]);
    for (const row of ["deploy only on fridays", "不要再用npm"])
      expect(await home.ok("rules", "--add", row)).toStartWith("kept for this project");
  });

  test("only where one session of the project ends with them, if the host does not say which one calls", async () => {
    using home = temporaryHome();
    claude(home, "one", SAID, "now the tests");
    expect((await home.run("rules", "--add", RULE)).stderr).toContain(
      "the user did not type it in the last message of any session of this project",
    );
    claude(home, "two", SAID);
    expect(await home.ok("rules", "--add", RULE)).toBe(KEPT);
    claude(home, "three", `${SAID}!`);
    const { stderr, exitCode } = await home.run("rules", "--add", RULE);
    expect(exitCode).toBe(1);
    expect(stderr).toStartWith("error: AMBIGUOUS: ");
    for (const name of ["two", "three"]) expect(stderr).toContain(uuidFrom(name).slice(0, 8));
  });
});

test("rules that were said before set-up are found when set-up indexes", async () => {
  using home = temporaryHome();
  claude(home, "before", SAID, "From now on use pnpm.");
  writeClaude(home, {
    id: uuidFrom("program"),
    rows: [claudeUser({ text: "From now on use npm.", cwd: home.project, extra: { entrypoint: "sdk-ts" } })],
  });
  await home.ok("embed");
  const { rules } = await home.json("rules");
  expect(rules.map(({ words }: { words: string }) => words)).toEqual(["From now on use pnpm."]);
});

test("rules --drop ends the one named and nothing else of its line", async () => {
  using home = temporaryHome();
  const id = claude(home, "two rules", "Never push without asking me. From now on use pnpm.");
  await home.ok("observe-compact", id, "--observe", "--quiet");
  const listed = async () => (await home.json("rules")).rules;
  const [rule] = (await listed()).filter(({ words }: { words: string }) => words.startsWith("Never"));
  expect(await home.ok("rules", "--drop", rule.id)).toBe('ended: "Never push without asking me."\n');
  for (const again of [false, true]) {
    if (again) await home.ok("observe-compact", id, "--rebuild", "--quiet");
    expect((await listed()).map(({ words, dropped }: typeof rule) => [words, dropped])).toEqual([
      ["From now on use pnpm.", false],
      ["Never push without asking me.", true],
    ]);
  }
});
