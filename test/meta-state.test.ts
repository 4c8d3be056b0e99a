import { expect, test } from "bun:test";
import { existsSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
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
import { metaFile } from "../lib/sessions/meta.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { temporaryHome, write } from "./support/home.ts";

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
