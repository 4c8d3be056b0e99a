import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolvePaths } from "../lib/config/config.ts";
import { metaFile, readMeta, type SessionMeta, writeMeta } from "../lib/sessions/meta.ts";
import { temporaryHome } from "./support/home.ts";

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

test("what was written is read back, field for field", () => {
  const file = join(folder(), "deep", "s1.meta.json");
  writeMeta(file, meta);
  expect(readMeta(file)).toEqual({ meta, problem: undefined });
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual(Object.keys(meta));
});

test.each([
  ["half a file", JSON.stringify(meta).slice(0, 60)],
  ["a missing field", { ...meta, name: undefined }],
  ["tags of numbers", { ...meta, tags: [1] }],
  ["a later schema", { ...meta, schemaVersion: 9 }],
])("a corrupt file counts as missing, with the reason: %s", (_, value) => {
  const file = join(folder(), "s1.meta.json");
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  const problem = typeof value === "string" ? "it is not JSON" : "it is not a session's meta";
  expect(readMeta(file)).toEqual({ meta: undefined, problem });
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
