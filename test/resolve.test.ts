import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../lib/base/errors.ts";
import type { Agent } from "../lib/hosts/session.ts";
import { metaFile } from "../lib/sessions/meta.ts";
import { type ResolveContext, resolveSession } from "../lib/sessions/resolve.ts";
import { withVoluteAt } from "../lib/sessions/volute.ts";
import { claudeState, claudeUser } from "./support/claude.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import {
  homePerTest,
  lastSaid,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
  writeCodex,
  writePi,
  writeVolute,
} from "./support/home.ts";
import { piHeader, piUser } from "./support/pi.ts";
import { plainLine } from "./support/plain.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

function claude(home: TemporaryHome, id: string, title?: string): string {
  const prompt = claudeUser({ sessionId: id, cwd: home.project, text: "hello" });
  const titled = title === undefined ? [] : [claudeState("ai-title", { aiTitle: title }, id)];
  return writeClaude(home, { id, rows: [prompt, ...titled] });
}

/** A meta file as ours are, and as another program may have left it: with more or fewer fields. */
function meta(
  home: TemporaryHome,
  id: string,
  name: string,
  { agent = "claude" as Agent, ...more } = {},
): string {
  const file = metaFile(home.paths, { id, agent });
  return write(file, JSON.stringify({ schemaVersion: 1, sessionId: id, name, tags: [], ...more }));
}

/** What a reference gives: the id, or the error's type with the candidates' ids. */
function outcome(reference: string, context: ResolveContext): string {
  try {
    return resolveSession(reference, context).id;
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    return error.type;
  }
}

function failure(reference: string, context: ResolveContext): SessionMemoryError {
  try {
    resolveSession(reference, context);
  } catch (error) {
    if (error instanceof SessionMemoryError) return error;
    throw error;
  }
  throw new Error(`Expected no session for ${reference}`);
}

const LOGIN = "a1b2c3d4-0000-4000-8000-000000000001";
const LOGIN_2 = "a1b2c3d4-0000-4000-8000-000000000002";
const DEPLOY = "bbbb0000-0000-4000-8000-000000000003";
const REPORT = "cccc0000-0000-4000-8000-000000000004";
const CHAT = "dddd0000-0000-4000-8000-000000000005";
const ROLLOUT = "0199aaaa-0000-7000-8000-000000000006";
const MAIL = "0198bbbb-0000-7000-8000-000000000007";
const CHINESE = "eeee0000-0000-4000-8000-000000000008";
const NUMBERED = "ffff0000-0000-4000-8000-000000000009";
const GONE = "12340000-0000-4000-8000-00000000000a";
const ASKING = "ffff0000-0000-4000-8000-00000000000b";
const HELPER = "agent-a3f09c2e7b1d48567";

/** Sessions of every agent with names of every kind; the later in the list, the older. */
function layNames(home: TemporaryHome): ResolveContext {
  const mind = join(home.root, "mind");
  const files = [
    claude(home, LOGIN, "Fix login test"),
    claude(home, LOGIN_2, "Session cookies"),
    claude(home, DEPLOY, "Deploy to staging"),
    claude(home, REPORT, "Weekly Report"),
    claude(home, CHAT, "Chatting about Discord"),
    claude(home, CHINESE, "修复登录测试"),
    claude(home, NUMBERED, "Migration 12"),
    claude(home, ASKING, "@@weekly-report: which totals were wrong?"),
    writePi(home, { id: MAIL, rows: [piHeader({ id: MAIL }), piUser({ text: "hello" })] }),
    writeCodex(home, {
      id: ROLLOUT,
      rows: [codexMeta({ id: ROLLOUT }), codexPrompt({ text: "hello" })].flat(),
    }),
    writeClaude(home, {
      id: HELPER,
      parentId: LOGIN,
      rows: [claudeUser({ agentId: "a3", sessionId: LOGIN, text: "go" })],
    }),
  ];
  for (const [index, file] of files.entries()) lastSaid(file, index * 60);
  writeVolute(mind, "discord", { sessionId: CHAT });
  writeVolute(mind, "new-scratch", { sessionId: NUMBERED });
  meta(home, DEPLOY, "staging-rollout");
  meta(home, REPORT, "session cookies");
  meta(home, MAIL, "invoices by mail", { agent: "pi" });
  meta(home, GONE, "old migration plan", {
    sessionFile: join(home.paths.claude, "projects", "-gone", `${GONE}.jsonl`),
    cwd: "/gone",
    updatedAt: "2026-01-05T00:00:00.000Z",
  } as object);
  return { paths: home.paths, cwd: mind, current: LOGIN };
}

const TABLE: [reference: string, expected: string][] = [
  // full ids
  [LOGIN, LOGIN],
  [MAIL, MAIL],
  [ROLLOUT, ROLLOUT],
  [HELPER, HELPER],
  [NUMBERED, NUMBERED],
  [GONE, GONE],
  ["a1b2c3d4-0000-4000-8000-00000000000f", "NOT_FOUND"],
  // beginnings of ids
  ["bbbb", DEPLOY],
  ["bbb", "NOT_FOUND"],
  ["0199", ROLLOUT],
  ["1234", GONE],
  ["a1b2", "AMBIGUOUS"],
  ["agent-a3f0", "NOT_FOUND"],
  // names, exact but for case, hyphens and underscores
  ["Fix login test", LOGIN],
  ["fix-login-test", LOGIN],
  ["FIX_LOGIN_TEST", LOGIN],
  ['"fix login test"', LOGIN],
  ['@@"fix login test"', LOGIN],
  ["deploy to staging", DEPLOY],
  ["discord", CHAT],
  ["chatting-about-discord", CHAT],
  ["invoices_by_mail", MAIL],
  ["weekly report", REPORT],
  ["修复登录测试", CHINESE],
  ["old migration plan", GONE],
  // one session's host title is another's meta name
  ["session-cookies", "AMBIGUOUS"],
  // like a name
  ["login", LOGIN],
  ["invoices", MAIL],
  ["weekly", REPORT],
  ["weekly reprot", REPORT],
  ["totals", ASKING],
  ["登录", CHINESE],
  ["fix lgoin test", LOGIN],
  ["stagin-rollout", DEPLOY],
  ["login staging", "NOT_FOUND"],
  ["migration 12", "NOT_FOUND"],
  ["new-scratch", "NOT_FOUND"],
  ["ogin", "NOT_FOUND"],
  // the mind's most recent, though others were used since
  ["last", CHAT],
  // hostile
  ["", "NOT_FOUND"],
  ["@@", "NOT_FOUND"],
  ["../../etc/passwd", "NOT_FOUND"],
  ["/etc/passwd", "NOT_FOUND"],
  [`${LOGIN}\0.jsonl`, "NOT_FOUND"],
  ["fix login\ntest", "NOT_FOUND"],
  ["\u001b[31mlogin", "NOT_FOUND"],
  ["__proto__", "NOT_FOUND"],
  [".*", "NOT_FOUND"],
  ["[", "NOT_FOUND"],
  ["a".repeat(100_000), "NOT_FOUND"],
];

test("resolveSession() gives the expected session, ambiguity or none for each reference", () => {
  using home = temporaryHome();
  const context = layNames(home);
  expect(TABLE.map(([reference]) => [reference, outcome(reference, context)])).toEqual(TABLE);
});

test("resolveSession() lets subagents be named by a beginning only where they are asked for", () => {
  using home = temporaryHome();
  const context = layNames(home);
  expect(outcome("agent-a3f0", { ...context, subagents: true })).toBe(HELPER);
});

test("resolveSession() says which sessions an ambiguous reference fits, five at most, the newest first", () => {
  const ids = [1, 2, 3, 4, 5, 6, 7].map((n) => uuidFrom(`same ${n}`));
  for (const [index, id] of ids.entries()) lastSaid(claude(home, id, "Deploy"), (index + 1) * 3600);
  const error = failure("deploy", { paths: home.paths, cwd: home.root });
  expect(error.message).toBe(
    'Cannot tell which session "deploy" is: 7 sessions match, the newest 5 are listed',
  );
  expect(error.hint).toBe(
    `use an id: ${ids
      .slice(0, 5)
      .map((id, n) => `${id} "Deploy" (claude, ${n + 1}h ago)`)
      .join(", ")}`,
  );
  expect(error.details.candidates).toEqual(
    ids.slice(0, 5).map((id, n) => ({ id, agent: "claude", name: "Deploy", ageSeconds: (n + 1) * 3600 })),
  );
  expect([error.type, error.exitCode]).toEqual(["AMBIGUOUS", 1]);
});

test("resolveSession() names the nearest three when nothing fits", () => {
  const context = layNames(home);
  const error = failure("weekly login meeting", context);
  const candidates = error.details.candidates as { id: string; name: string }[];
  expect(error.message).toBe('Cannot find session "weekly login meeting"');
  expect(candidates.map(({ name }) => name).slice(0, 2)).toEqual(["session cookies", "Fix login test"]);
  expect(candidates).toHaveLength(3);
  expect(error.hint).toStartWith("the nearest are ");
});

test("resolveSession() shows no secret and no control character of a name or a reference", () => {
  const token = `ghp_${"a1B2".repeat(9)}`;
  for (const n of [1, 2]) claude(home, uuidFrom(n), `\u001b[2J<system-reminder> Deploy ${token}`);
  const error = failure("deploy", { paths: home.paths, cwd: home.root });
  expect(error.format()).not.toContain(token);
  expect(JSON.stringify(error.details)).not.toContain(token);
  expect(error.format()).not.toMatch(/\u001b|<system-reminder>/);
  expect(failure(token, { paths: home.paths, cwd: home.root }).format()).not.toContain(token);
});

test("resolveSession() takes the path of a transcript, wherever it lies", () => {
  const file = write(join(home.root, "x y", "notes.jsonl"), jsonl(plainLine("user", "hello")));
  const context = { paths: home.paths, cwd: join(home.root, "x y") };
  for (const path of [file, "notes.jsonl", "./notes.jsonl", "../x y/notes.jsonl"]) {
    expect(resolveSession(path, context)).toMatchObject({ id: "notes", agent: "plain", file });
  }
});

test("resolveSession() opens no file that is no transcript's path, and no fifo that looks like one", () => {
  const fifo = join(home.root, "pipe.jsonl");
  // Opening it would wait for a writer for ever.
  execFileSync("mkfifo", [fifo]);
  mkdirSync(join(home.root, "folder.jsonl"));
  write(join(home.root, "text.jsonl"), "no transcript\n");
  const context = { paths: home.paths, cwd: home.root };
  for (const path of [
    fifo,
    "folder.jsonl",
    "text.jsonl",
    "none.jsonl",
    "text.jsonl/x.jsonl",
    "../../none.jsonl",
  ]) {
    expect(outcome(path, context)).toBe("NOT_FOUND");
  }
});

test("resolveSession() never makes a name part of a path", () => {
  layNames(home);
  const outside = join(home.root, "outside");
  write(`${outside}.meta.json`, JSON.stringify({ sessionId: LOGIN, name: "outside" }));
  write(`${outside}.jsonl`, jsonl(claudeUser({ text: "hello" })));
  const up = "../".repeat(12);
  for (const reference of [`${up}${outside}`, outside, `../../outside`, `x/../../../outside`]) {
    expect(outcome(reference, { paths: home.paths, cwd: home.root })).toBe("NOT_FOUND");
  }
});

test("resolveSession() `last` passes over the session that asks and those in which nothing was said", () => {
  lastSaid(claude(home, LOGIN), 60);
  writeClaude(home, { id: uuidFrom("empty"), rows: "" });
  expect(outcome("last", { paths: home.paths, cwd: home.root })).toBe(LOGIN);
  expect(outcome("last", { paths: home.paths, cwd: home.root, current: LOGIN })).toBe("NOT_FOUND");
});

test("resolveSession() takes copies of one session for one", () => {
  using home = temporaryHome();
  const mind = join(home.root, "mind");
  const rows = [piHeader({ id: "mail-1" }), piUser({ text: "hello" })];
  const piFile = lastSaid(writePi(home, { id: "mail-1", rows }), 100);
  writeVolute(mind, "email", { piFile });
  const paths = withVoluteAt(home.paths, mind);
  const copy = join(mind, ".volute", "pi-sessions", "email", piFile.split("/").pop() ?? "");
  for (const reference of ["mail-1", "mail", "email"]) {
    expect(resolveSession(reference, { paths, cwd: mind })).toMatchObject({
      id: "mail-1",
      file: copy,
    });
  }
  lastSaid(copy, 200);
  // The newer file, with the name that hangs on the older.
  for (const reference of ["mail-1", "mail", "email"]) {
    expect(resolveSession(reference, { paths, cwd: mind }).file).toBe(piFile);
  }
});

test("resolveSession() knows only given transcripts where some are given", () => {
  const context = layNames(home);
  const given = join(home.root, "given");
  write(join(given, "standup.jsonl"), jsonl(plainLine("user", "hello")));
  const paths = { ...context.paths, transcripts: [given] };
  const outcomes = ["standup", "stand", "fix login test", LOGIN, GONE, "discord", "last"].map((reference) =>
    outcome(reference, { ...context, paths }),
  );
  expect(outcomes).toEqual(["standup", "standup", ...Array(4).fill("NOT_FOUND"), "standup"]);
});

test("resolveSession() notices at once what changed since names were read", () => {
  const context = layNames(home);
  const names = (...references: string[]) => references.map((reference) => outcome(reference, context));
  const file = metaFile(home.paths, { id: DEPLOY, agent: "claude" });
  expect(names("staging-rollout", "night watch")).toEqual([DEPLOY, "NOT_FOUND"]);
  writeFileSync(file, JSON.stringify({ sessionId: DEPLOY, name: "night watch" }));
  expect(names("staging-rollout", "night watch")).toEqual(["NOT_FOUND", DEPLOY]);
  rmSync(file);
  expect(names("night watch", "deploy to staging")).toEqual(["NOT_FOUND", DEPLOY]);
  // A title that the host appended, and one that it keeps in a file of its own.
  const transcript = resolveSession(DEPLOY, context).file;
  appendFileSync(transcript, jsonl(claudeState("custom-title", { customTitle: "Blue" }, DEPLOY)));
  expect(names("blue", "deploy to staging")).toEqual([DEPLOY, "NOT_FOUND"]);
  write(transcript.replace(".jsonl", "/custom-title.json"), JSON.stringify({ customTitle: "Green" }));
  expect(names("green", "blue")).toEqual([DEPLOY, "NOT_FOUND"]);
});
