import { expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findMarksFile, readMarks } from "../lib/activity/look.ts";
import { defaultSettings } from "../lib/config/config.ts";
import { readUpdates } from "../scripts/activity-summary.ts";
import { claudeUser } from "./support/claude.ts";
import { homePerTest, type TemporaryHome, writeClaude } from "./support/home.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";
import { jsonl, secondsAgo, uuidFrom } from "./support/rows.ts";
import { ROOT } from "./support/run.ts";

const home = homePerTest();

const ME = "me";

function folder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "session-memory-cursors-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

test("saveMarks() by many processes at once loses no mark", async () => {
  using place = folder();
  const script = join(place.path, "writer.ts");
  writeFileSync(join(place.path, "a.jsonl"), "1\n");
  writeFileSync(
    script,
    `import { markAt, saveMarks } from ${JSON.stringify(join(ROOT, "lib", "activity", "marks.ts"))};
    const [folder, writer] = process.argv.slice(2);
    const file = folder + "/a.jsonl";
    const look = { marksFile: { path: folder + "/c.json", viewerId: "me" }, marks: new Map() };
    for (let i = 0; i < 15; i++) {
      const id = writer + "-" + i;
      while (!saveMarks(look, [{ session: { id, file }, mark: markAt(file, 2) }], []));
    }`,
  );
  const writers = ["a", "b", "c", "d"];
  const runs = writers.map((writer) => Bun.spawn([process.execPath, script, place.path, writer]).exited);
  expect(await Promise.all(runs)).toEqual([0, 0, 0, 0]);
  const marks = readMarks({ path: join(place.path, "c.json"), viewerId: "me" });
  const expected = writers.flatMap((writer) => Array.from({ length: 15 }, (_, i) => `${writer}-${i}`));
  expect([...(marks?.keys() ?? [])].sort()).toEqual(expected.sort());
});

// ── Fuzz: whatever happens to the bytes, complete messages are told once ──

const OTHER = uuidFrom("other");

test("a transcript that grows by any bytes tells every message exactly once, at most one line late", () => {
  const random = seeded(fuzzSeed("growth"));
  const rows = Array.from({ length: 40 }, (_, i) =>
    claudeUser({ text: `m${i} ✓🚀`, at: secondsAgo(600 - i), cwd: home.project }),
  );
  const bytes = Buffer.from(jsonl(...rows));
  const file = writeClaude(home, { id: OTHER, rows: "" });
  const look = lookOf(home);
  let told = 0;
  for (let written = 0; written < bytes.length; ) {
    const next = Math.min(bytes.length, written + random.integer(1, 700));
    appendFileSync(file, bytes.subarray(written, next));
    written = next;
    told += look();
    const complete = bytes.subarray(0, written).reduce((lines, byte) => lines + (byte === 10 ? 1 : 0), 0);
    expect(told).toBe(complete);
    expect(offsetOf(home)).toBe(bytes.lastIndexOf(10, written - 1) + 1);
  }
  expect(told).toBe(40);
});

test("growth and replacement between two looks never lose a message, nor put a mark inside a line", () => {
  const random = seeded(fuzzSeed("replacement"));
  let number = 0;
  const message = () =>
    jsonl(
      claudeUser({
        text: `n${++number} ${"x".repeat(random.integer(0, 3000))}`,
        at: secondsAgo(1),
        cwd: home.project,
      }),
    );
  const file = writeClaude(home, { id: OTHER, rows: message() });
  const look = lookOf(home);
  expect(look()).toBe(1);
  for (let round = 0; round < 30 * SOAK; round++) {
    const added = Array.from({ length: random.integer(1, 6) }, message);
    const isReplaced = random.chance(0.3);
    if (isReplaced) writeFileSync(file, added.join(""));
    else appendFileSync(file, added.join(""));
    expect(look()).toBe(added.length);
    expect(offsetOf(home)).toBe(readFileSync(file).length);
    expect(look()).toBe(0);
  }
}, 30_000);

function optionsOf(home: TemporaryHome) {
  return { paths: home.paths, settings: defaultSettings(), current: { id: ME, cwd: home.project } };
}

/** Looks, marks, and says how many messages were told. */
function lookOf(home: TemporaryHome): () => number {
  return () => {
    const updates = readUpdates(optionsOf(home));
    expect(updates.problems).toEqual([]);
    expect(updates.commit()).toBe(true);
    return updates.report.sessions.reduce((sum, { messages }) => sum + messages, 0);
  };
}

function offsetOf(home: TemporaryHome): number | undefined {
  return readMarks(findMarksFile(home.paths.cursors, ME))?.get(OTHER)?.offset ?? 0;
}
