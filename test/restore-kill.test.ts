/** kill -9 at any moment while a session is restored: the new one is whole or not there, and nothing that was there is touched. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { turn } from "./support/index.ts";
import { killPoints, runKilled } from "./support/kill.ts";
import { uuidFrom } from "./support/rows.ts";

const POINTS = killPoints(3);
setDefaultTimeout(60_000 + POINTS.length * 20_000);

test("a session that is restored is whole or not there", async () => {
  using home = temporaryHome();
  const id = uuidFrom("heron");
  const rows = Array.from({ length: 40 }, (_, i) => turn(`question ${i}`, "sentence ".repeat(15)));
  const file = writeClaude(home, { id, rows });
  const before = readFileSync(file, "utf8");
  const restored = () => readdirSync(dirname(file)).filter((name) => name !== basename(file));
  const restore = (afterMs?: number) =>
    runKilled(["restore", id], { env: home.env, cwd: home.project }, afterMs);
  const { ms } = await restore();
  const [whole = ""] = restored();
  const lines = readFileSync(join(dirname(file), whole), "utf8").split("\n").length;
  for (const part of POINTS) {
    await restore(part * ms);
    for (const name of restored().filter((each) => each.endsWith(".jsonl"))) {
      expect(readFileSync(join(dirname(file), name), "utf8").split("\n")).toHaveLength(lines);
      rmSync(join(dirname(file), name));
    }
    expect(readFileSync(file, "utf8")).toBe(before);
  }
  await home.ok("restore", id);
  expect(restored().filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
});
