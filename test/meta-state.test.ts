import { expect, test } from "bun:test";
import { appendFileSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
import {
  appendMetaState,
  fileMark,
  type MetaState,
  metaStateKey,
  readMetaState,
  readMetaStates,
  transcriptMark,
} from "../lib/naming/meta-state.ts";
import { isKnownNotDue } from "../lib/naming/session-meta.ts";
import { metaFile } from "../lib/sessions/meta.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { temporaryHome, write } from "./support/home.ts";

const home = () => temporaryHome().root;
const state = (key: string, newUsers = 0): MetaState => ({
  key,
  transcript: "10@2026-02-03T14:30:00.000Z",
  meta: "",
  newUsers,
  byRules: false,
  name: undefined,
});

test("the last look at a session counts", () => {
  const dir = home();
  appendMetaState(dir, state("claude:a", 1));
  appendMetaState(dir, state("claude:b", 2));
  appendMetaState(dir, { ...state("claude:a", 3), name: "n", byRules: true });
  expect([...readMetaStates(dir).values()]).toEqual([
    { ...state("claude:a", 3), name: "n", byRules: true },
    state("claude:b", 2),
  ]);
});

test("the last look at one session is found among all, past torn lines", () => {
  const dir = home();
  expect(readMetaState(dir, "claude:a")).toBeUndefined();
  appendMetaState(dir, state("claude:a", 1));
  appendMetaState(dir, { ...state("claude:a", 2), name: 'one of "key":"claude:b"', given: "theirs" });
  appendMetaState(dir, state("claude:ab", 9));
  appendFileSync(join(dir, "meta-state.ndjson"), '{"key":"claude:a","transc');
  expect(readMetaState(dir, "claude:a")).toEqual({
    ...state("claude:a", 2),
    name: 'one of "key":"claude:b"',
    given: "theirs",
  });
  expect(readMetaState(dir, "claude:b")).toBeUndefined();
});

test("torn and foreign lines cost one more look, never a failure", () => {
  const dir = home();
  appendMetaState(dir, state("claude:a"));
  appendFileSync(join(dir, "meta-state.ndjson"), '[]\n{"key":1}\nnull\n{"key":"claude:b","transc');
  expect([...readMetaStates(dir).keys()]).toEqual(["claude:a"]);
  expect(readMetaStates(home()).size).toBe(0);
});

test("a file that has grown far beyond its sessions is written anew", () => {
  const dir = home();
  const file = join(dir, "meta-state.ndjson");
  const lines = Array.from({ length: 4000 }, (_, i) => `${JSON.stringify(state(`claude:${i % 3}`, i))}\n`);
  writeFileSync(file, lines.join(""));
  const states = readMetaStates(dir);
  expect(readFileSync(file, "utf8").split("\n").length).toBe(4);
  expect(readMetaStates(dir)).toEqual(states);
  expect(states.get("claude:0")?.newUsers).toBe(3999);
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
