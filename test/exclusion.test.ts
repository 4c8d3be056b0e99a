import { describe, expect, test } from "bun:test";
import { lstatSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { addExclusions } from "../lib/forget/exclude-block.ts";
import { exclusionBy } from "../lib/sessions/gate.ts";
import { homePerTest, write } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { lay } from "./support/world.ts";

const home = homePerTest();

const NOTHING = { sessions: [], projects: [], patterns: [] };

describe("exclusionBy()", () => {
  const id = uuidFrom("out");

  test.each([
    ["a full id", [id], { id }, true],
    ["the beginning of a uuid", [id.slice(0, 4)], { id }, true],
    ["too short a beginning", [id.slice(0, 3)], { id }, false],
    ["the id of the session that started it", [id], { id: "agent-a1", parentId: id }, true],
    ["a name in another case", ["Fix Login"], { id, name: "fix login" }, true],
    ["an id that another one begins with", ["chat"], { id: "chatlog" }, false],
    ["the id of a shared session", [id], { id: `alice@desk:${id}` }, true],
    ["the parent of a shared one", [id], { id: `alice@desk:${id}/agent-a1` }, true],
    ["another id", [uuidFrom("other")], { id }, false],
  ] as const)("keeps sessions out by %s: %p", (_, sessions, session, isOut) => {
    expect(
      exclusionBy({
        ...home.paths,
        rules: { redact: { extra: [] }, exclude: { ...NOTHING, sessions: [...sessions] } },
      }).admits(session),
    ).toBe(!isOut);
  });
});

describe("addExclusions()", () => {
  test("adds what is not there yet, through a link, and says what it added", async () => {
    const real = write(
      join(home.root, "dotfiles", "memory.json"),
      '{"timezone": "UTC", "exclude": {"sessions": ["a"]}}',
    );
    write(join(home.paths.home, "x"), "");
    symlinkSync(real, home.paths.config);
    const wanted = { sessions: ["a", "b", "b"], projects: ["/p"], patterns: [] };
    const added = { sessions: ["b"], projects: ["/p"], patterns: [] };
    expect(await addExclusions(home.paths.config, wanted)).toEqual(added);
    expect(lstatSync(home.paths.config).isSymbolicLink()).toBe(true);
    const exclude = { sessions: ["a", "b"], projects: ["/p"] };
    const text = `${JSON.stringify({ timezone: "UTC", exclude }, null, 2)}\n`;
    expect(readFileSync(home.paths.config, "utf8")).toBe(text);
    expect(await addExclusions(home.paths.config, wanted)).toEqual(NOTHING);
  });

  test("refuses a file that is no JSON object, and leaves it as it is", async () => {
    write(home.paths.config, "[1]");
    await expect(addExclusions(home.paths.config, { ...NOTHING, sessions: ["a"] })).rejects.toThrow(
      `Cannot change "${home.paths.config}": it is not a JSON object`,
    );
    expect(readFileSync(home.paths.config, "utf8")).toBe("[1]");
  });

  test("two at once keep what the other added", async () => {
    const all = Array.from({ length: 20 }, (_, i) => `id-${i}`);
    await Promise.all(all.map((id) => addExclusions(home.paths.config, { ...NOTHING, sessions: [id] })));
    expect(JSON.parse(readFileSync(home.paths.config, "utf8")).exclude.sessions.sort()).toEqual(all.sort());
  });
});

test("a session that is kept out by the name that was made for it is in no answer", async () => {
  lay(
    home,
    `@claude ${uuidFrom("kumquat")} 1800s ago
User: Always use kumquats in this repository.
Assistant: The kumquats are in.`,
  );
  await home.run("embed");
  await home.run("index-meta", "--all");
  const { sessions } = JSON.parse((await home.run("session-reader", "--list", "--json")).stdout);
  expect((await home.run("rules")).stdout).toContain("kumquats");
  home.configure({ exclude: { sessions: [sessions[0].name] } });
  const told: string[] = [];
  for (const command of [
    "search kumquats",
    "search --after 7d",
    "rules",
    "activity-summary --current x --peek",
  ]) {
    const [script = "", ...args] = command.split(" ");
    const { stdout } = await home.run(script, ...args);
    if (stdout.includes("kumquats")) told.push(command);
  }
  expect(told).toEqual([]);
});
