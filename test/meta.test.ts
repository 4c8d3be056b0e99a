import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolvePaths } from "../lib/config/config.ts";
import { metaFile, readMeta, type SessionMeta, writeMeta } from "../lib/sessions/meta.ts";
import {
  homePerTest,
  temporaryHome,
  writeClaude,
  writeMeta as writeMetaOf,
  writePi,
} from "./support/home.ts";
import { turn } from "./support/index.ts";
import { piAssistant, piHeader, piLinked, piUser } from "./support/pi.ts";
import { uuidFrom } from "./support/rows.ts";

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

describe("a meta file that was damaged", () => {
  const home = homePerTest();
  const ID = uuidFrom("damaged meta");
  const piRows = [
    piHeader({ id: ID, cwd: "/proj" }),
    ...piLinked([piUser({ text: "sort the invoices" }), piAssistant({ text: "sorted" })]),
  ];
  const DAMAGE = '{"sessionId": "half a fi';

  /** A session with a model's meta that is known, and then damaged. */
  async function damage(agent: "claude" | "pi" = "claude"): Promise<string> {
    if (agent === "pi") writePi(home, { id: ID, rows: piRows });
    else writeClaude(home, { id: ID, rows: turn("sort the invoices", "sorted") });
    const words = { name: "Sort the invoices", summary: "By date, as Jason wants it." };
    const file = writeMetaOf(home, { agent, sessionId: ID, ...words });
    await home.ok("session-reader", "--list");
    await home.ok("session-reference", "@@Sort the invoices");
    writeFileSync(file, DAMAGE);
    return file;
  }

  const setAside = () => readdirSync(home.paths.meta).filter((name) => name.endsWith(".damaged"));
  const logged = () => readFileSync(home.paths.log, "utf8").match(/.*"event":"meta".*/g) ?? [];

  test.each([
    ["session-reference", () => home.ok("session-reference", `@@${ID}`)],
    ["the prompt hook", () => home.prompt(`what of @@${ID}?`)],
  ])("says what it said by %s, is written again, and is set aside with one warning", async (_, ask) => {
    const file = await damage();
    for (const __ of [1, 2]) expect(await ask()).toContain("By date, as Jason wants it.");
    const { meta: now, problem } = readMeta(file);
    expect([now?.name, now?.summary, now?.model, problem]).toEqual([
      "Sort the invoices",
      "By date, as Jason wants it.",
      "tiny",
      undefined,
    ]);
    expect(setAside()).toHaveLength(1);
    const [aside = ""] = setAside();
    expect(readFileSync(join(home.paths.meta, aside), "utf8")).toBe(DAMAGE);
    expect(logged()).toHaveLength(1);
    const { status, findings } = await home.json("health");
    const about = findings.filter(({ what }: { what: string }) => what.includes("damaged meta file"));
    expect([status, about]).toEqual([
      "DEGRADED",
      [
        {
          level: "warning",
          what: `1 damaged meta file set aside, the first as ${join(home.paths.meta, aside)}`,
          remedy: "copy what you wrote there out of them, then delete them",
        },
      ],
    ]);
  });

  test("of pi is set aside in our own folder, and forget removes both", async () => {
    const file = await damage("pi");
    await home.ok("index-meta", ID);
    expect(readMeta(file).meta?.summary).toBe("By date, as Jason wants it.");
    expect(setAside()).toHaveLength(1);
    await home.ok("forget", ID, "--yes");
    expect([existsSync(file), setAside()]).toEqual([false, []]);
  });

  test("that no record knows is set aside before a rule makes another", async () => {
    const file = await damage();
    for (const name of readdirSync(home.paths.home).filter((each) => each.startsWith("state.db")))
      rmSync(join(home.paths.home, name));
    await home.ok("session-reference", `@@${ID}`);
    expect([readMeta(file).meta?.model, setAside().length]).toEqual(["rules", 1]);
  });
});
