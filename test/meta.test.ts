import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { defaultSettings, resolvePaths } from "../lib/config/config.ts";
import {
  fileMark,
  keepMetaState,
  type MetaState,
  metaStateKey,
  readMetaState,
  readMetaStates,
  transcriptMark,
} from "../lib/naming/meta-looks.ts";
import { isKnownNotDue } from "../lib/naming/session-meta.ts";
import { metaFile, readMeta, type SessionMeta, updateMeta } from "../lib/sessions/meta.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { temporaryHome, write } from "./support/home.ts";

function folder(): string {
  return temporaryHome().root;
}

const meta: SessionMeta = {
  schemaVersion: 1,
  sessionId: "s1",
  sessionFile: "/x/s1.jsonl",
  parentSessionFile: "/x/s0.jsonl",
  name: "Fix the login redirect",
  description: "d",
  summary: "s",
  tags: ["auth"],
  cwd: "/proj",
  createdAt: "2026-02-01T10:00:00.000Z",
  updatedAt: "2026-02-01T10:00:00.000Z",
  model: "rules",
  lastIndexedLeafId: "line:7",
};

test("what was written is read back, field for field", async () => {
  const file = join(folder(), "deep", "s1.meta.json");
  expect(await updateMeta(file, { waitMs: 100 }, () => meta)).toEqual(meta);
  expect(readMeta(file)).toEqual({ meta, problem: undefined });
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual(Object.keys(meta));
});

const corrupt: [string, string, string][] = [
  ["half a file", JSON.stringify(meta).slice(0, 60), "it is not JSON"],
  ["an empty file", "", "it is not JSON"],
  ["a list", "[]", "it is not an object"],
  ["a missing field", JSON.stringify({ ...meta, name: undefined }), "name is not a text"],
  ["a number for a text", JSON.stringify({ ...meta, summary: 7 }), "summary is not a text"],
  ["tags of numbers", JSON.stringify({ ...meta, tags: [1] }), "tags is not a list of texts"],
  ["a later schema", JSON.stringify({ ...meta, schemaVersion: 9 }), "its schema version is 9"],
  [
    "a parent that is no text",
    JSON.stringify({ ...meta, parentSessionFile: 1 }),
    "parentSessionFile is not a text",
  ],
];

test.each(corrupt)("a corrupt file counts as missing, with the reason: %s", (_, text, problem) => {
  const file = join(folder(), "s1.meta.json");
  writeFileSync(file, text);
  expect(readMeta(file)).toEqual({ meta: undefined, problem });
});

test("work that fails or declines leaves the file as it was, and the lock free", async () => {
  const file = join(folder(), "s1.meta.json");
  await updateMeta(file, { waitMs: 100 }, () => meta);
  expect(await updateMeta(file, { waitMs: 100 }, () => undefined)).toBeUndefined();
  const failure = updateMeta(file, { waitMs: 100 }, () => Promise.reject(new TypeError("no")));
  await expect(failure).rejects.toThrow("no");
  expect(await updateMeta(file, { waitMs: 100 }, ({ meta }) => meta)).toEqual(meta);
});

test("an id leads out of no folder", () => {
  const paths = resolvePaths({ HOME: "/h", PI_CODING_AGENT_DIR: "/pi" });
  const fileOf = (id: string) => metaFile(paths, { id, agent: "claude" });
  expect(fileOf("a-b_c.d")).toBe("/h/.session-memory/sessions-meta/a-b_c.d.meta.json");
  expect(fileOf("../../x")).toBe("/h/.session-memory/sessions-meta/%2E.%2F..%2Fx.meta.json");
  expect(fileOf("..")).toBe("/h/.session-memory/sessions-meta/%2E..meta.json");
  expect(fileOf("\ud800")).toBe("/h/.session-memory/sessions-meta/%EF%BF%BD.meta.json");
  expect(metaFile(paths, { id: "p", agent: "pi" })).toBe("/pi/sessions-meta/p.meta.json");
});

test("ten processes writing one file: always whole, one of the ten, and none lost its turn", async () => {
  const directory = join(folder(), "sessions-meta");
  const file = join(directory, "s1.meta.json");
  mkdirSync(directory, { recursive: true });
  const script = `
    import { updateMeta } from ${JSON.stringify(import.meta.resolve("../lib/sessions/meta.ts"))};
    const writer = process.argv[1];
    for (let turn = 0; turn < 10; turn++) {
      await updateMeta(${JSON.stringify(file)}, { waitMs: 20000 }, ({ meta, problem }) => {
        if (problem) throw new Error(problem);
        return { ...${JSON.stringify(meta)}, name: "writer " + writer, summary: writer.repeat(20000),
          tags: [...(meta?.tags ?? []).filter((tag) => tag !== "auth"), writer] };
      });
    }`;
  const runs = Array.from({ length: 10 }, (_, writer) =>
    Bun.spawn(["bun", "-e", script, String(writer)], { stderr: "pipe" }),
  );
  let reads = 0;
  const running = Promise.all(runs.map((run) => run.exited));
  let ended = false;
  running.then(() => {
    ended = true;
  });
  while (!ended) {
    const { meta: seen, problem } = readMeta(file);
    expect(problem).toBeUndefined();
    if (seen) {
      reads++;
      expect(seen.summary).toBe((seen.name.at(-1) ?? "").repeat(20000));
    }
    await Bun.sleep(2);
  }
  expect(await running).toEqual(new Array(10).fill(0));
  expect(reads).toBeGreaterThan(0);
  expect(readMeta(file).meta?.tags.toSorted()).toEqual(
    Array.from({ length: 100 }, (_, i) => String(Math.floor(i / 10))),
  );
  expect(readdirSync(directory)).toEqual(["s1.meta.json"]);
}, 30_000);

const state = (key: string, newUsers = 0): MetaState => ({
  key,
  transcript: "10@2026-02-03T14:30:00.000Z",
  meta: "",
  newUsers,
  byRules: false,
  name: undefined,
});

test("the last look at a session counts", () => {
  using home = temporaryHome();
  expect(readMetaState(home.paths, "claude:a")).toBeUndefined();
  keepMetaState(home.paths, state("claude:a", 1));
  keepMetaState(home.paths, state("claude:b", 2));
  const last = { ...state("claude:a", 3), name: "n", given: "theirs", byRules: true, failedAt: 7 };
  keepMetaState(home.paths, last);
  expect([...readMetaStates(home.paths).values()]).toEqual([last, state("claude:b", 2)]);
  expect(readMetaState(home.paths, "claude:a")).toEqual(last);
});

test("the looks of 0.1.0 are taken over from its file, past torn and foreign lines", () => {
  using home = temporaryHome();
  const line = (look: object) => `${JSON.stringify(look)}\n`;
  const file = write(
    join(home.paths.home, "meta-state.ndjson"),
    `${line(state("claude:a", 1))}[]\n{"key":1}\nnull\n${line({ ...state("claude:a", 2), name: "n" })}{"key":"claude:b","transc`,
  );
  expect([...readMetaStates(home.paths).values()]).toEqual([{ ...state("claude:a", 2), name: "n" }]);
  expect(existsSync(file)).toBe(false);
  // An older version still at work writes another one: what was seen since counts.
  keepMetaState(home.paths, state("claude:a", 4));
  write(file, line(state("claude:a", 3)) + line(state("claude:c", 5)));
  expect([...readMetaStates(home.paths).values()]).toEqual([state("claude:a", 4), state("claude:c", 5)]);
});

test("a session is known not to be due until its transcript, its meta file or the model changes", () => {
  using place = temporaryHome();
  const file = write(join(place.root, "s.jsonl"), "0123456789");
  const session: Session = {
    id: "s",
    agent: "plain",
    file,
    size: 10,
    updatedAt: statSync(file).mtime.toISOString(),
    modifiedAt: statSync(file).mtime.toISOString(),
  };
  const meta = write(metaFile(place.paths, session), "{}");
  const look = {
    ...state(metaStateKey(session), 4),
    transcript: transcriptMark(session),
    meta: fileMark(meta),
    byRules: true,
  };
  const options = { paths: place.paths, settings: defaultSettings() };
  const known = (changes: object, session_ = session) =>
    isKnownNotDue(session_, { ...options, state: look, ...changes });
  expect(known({})).toBe(true);
  expect(known({ state: undefined })).toBe(false);
  expect(known({ force: true })).toBe(false);
  expect(known({ state: { ...look, newUsers: 5 } })).toBe(false);
  expect(known({ complete: () => Promise.reject(new Error("not asked")) })).toBe(false);
  expect(known({}, { ...session, size: 11 })).toBe(false);
  utimesSync(meta, 1, 1);
  expect(known({})).toBe(false);
});
