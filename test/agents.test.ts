/** AGENTS.md lists the rooms of lib/ in import order, each in the words of the README.md at its head. */

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { ROOT } from "./support/run.ts";

const PAGE = join(ROOT, "AGENTS.md");
const PAGE_MAX_BYTES = 8000;
const [BEGIN, END] = ["<!-- rooms -->\n", "<!-- end of rooms -->"];

/** The rooms in the order in which they may import each other, as lint holds it. */
function rooms(): string[] {
  const { overrides } = JSON.parse(readFileSync(join(ROOT, "biome.json"), "utf8")) as {
    overrides: { includes: string[] }[];
  };
  return overrides.flatMap(({ includes }) => /^lib\/(\w+)\/\*\*$/.exec(includes[0] ?? "")?.[1] ?? []);
}

function table(): string {
  const rows = rooms().map(
    (room) => `- \`lib/${room}/\`: ${readFileSync(join(ROOT, "lib", room, "README.md"), "utf8").trim()}\n`,
  );
  return rows.join("");
}

test("AGENTS.md says of every room what the room says of itself", () => {
  const page = readFileSync(PAGE, "utf8");
  const [start, end] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  expect(start).toBeGreaterThan(BEGIN.length);
  expect(end).toBeGreaterThanOrEqual(start);
  if (process.env.SESSION_MEMORY_TEST_UPDATE === "1") {
    writeFileSync(PAGE, `${page.slice(0, start)}${table()}${page.slice(end)}`);
  } else expect(page.slice(start, end)).toBe(table());
  expect(Buffer.byteLength(page)).toBeLessThanOrEqual(PAGE_MAX_BYTES);
});

test("every folder of lib/ is a room with an import rule and a README.md of one sentence", () => {
  const folders = readdirSync(join(ROOT, "lib"), { withFileTypes: true })
    .filter((item) => item.isDirectory())
    .map(({ name }) => name);
  expect(rooms().toSorted()).toEqual(folders.toSorted());
  for (const room of folders) expect(existsSync(join(ROOT, "lib", room, "README.md"))).toBe(true);
});

/** Agents named by a word that is one of ours too: only a text that is the name alone tells. */
const COMMON = new Set(["cursor", "plain"]);
/** The rooms that may name an agent, and the one that knows what people call theirs. */
const NAMING = new Set(["hosts", "transcripts", "config", "model", "language"]);

test("outside the rooms that know hosts no file of lib/ names one", () => {
  const names = HOSTS.flatMap(({ agent }) => {
    const word = `(?<![A-Za-z])(?:${agent}(?![a-z])|${agent.toUpperCase()}(?![A-Za-z]))|${agent[0]?.toUpperCase()}${agent.slice(1)}(?![a-z])`;
    return COMMON.has(agent) ? [`["'\`]${agent}["'\`]`] : [word];
  });
  const name = new RegExp(names.join("|"));
  const files = readdirSync(join(ROOT, "lib"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !NAMING.has(file.split("/")[0] ?? ""))
    .flatMap((file) => {
      const lines = readFileSync(join(ROOT, "lib", file), "utf8").split("\n");
      return lines.flatMap((line, i) => (name.test(line) ? [`${file}:${i + 1} ${line.trim()}`] : []));
    });
  expect(files).toEqual([]);
});

/** Returns the files of ours that say a word. */
function filesSaying(word: RegExp): string[] {
  return ["lib", "scripts", "hooks"]
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => join(folder, file))
        .filter((file) => word.test(readFileSync(join(ROOT, file), "utf8"))),
    )
    .toSorted();
}

test("which sessions are excluded is decided in the gate alone, and nobody goes around it", () => {
  expect(filesSaying(/\b(?:hasSession|readExclusion)\b/)).toEqual([
    "lib/sessions/gate.ts",
    "lib/transcripts/rules.ts",
  ]);
});

test("whether a transcript is a copy of forgotten sessions is asked where they are listed, and nowhere else", () => {
  expect(filesSaying(/\bisForgottenWhole\b/)).toEqual([
    "lib/sessions/sessions.ts",
    "lib/transcripts/transcript.ts",
  ]);
});

const EXPORT = /^export (?:async )?(?:function\*?|const|let|interface|type|class) ([\w$]+)/gm;

test("lib/ exports nothing that no other file names", () => {
  const files = ["lib", "scripts", "hooks", "bin", "test"].flatMap((folder) =>
    (readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }) as string[])
      .filter((file) => /\.[jt]s$/.test(file) && !file.includes("node_modules"))
      .map((file) => ({ path: join(folder, file), text: readFileSync(join(ROOT, folder, file), "utf8") })),
  );
  const users = new Map<string, number>();
  for (const { text } of files)
    for (const name of new Set(text.match(/[\w$]+/g))) users.set(name, (users.get(name) ?? 0) + 1);
  const unused = files
    .filter(({ path }) => path.startsWith("lib"))
    .flatMap(({ path, text }) => [...text.matchAll(EXPORT)].map(([, name = ""]) => ({ path, name })))
    .filter(({ name }) => users.get(name) === 1);
  expect(unused).toEqual([]);
});

/** Every rule of a room in biome.json must name all the rooms after it, or the order is not held. */
test("lint keeps each room from importing the rooms after it", () => {
  const order = rooms();
  const text = readFileSync(join(ROOT, "biome.json"), "utf8");
  const { overrides } = JSON.parse(text) as { overrides: Override[] };
  for (const [i, room] of order.entries()) {
    const rule = overrides.find(({ includes }) => includes[0] === `lib/${room}/**`);
    const group = rule?.linter.rules.style?.noRestrictedImports?.options.patterns[0]?.group ?? [];
    expect(group).toEqual([
      "**/scripts/**",
      "**/hooks/**",
      "**/test/**",
      "**/cli.ts",
      ...order.slice(i + 1).map((later) => `**/${later}/*.ts`),
    ]);
  }
});

/** The rooms above the library that know hosts by their trade, and the one that redacts what it sends. */
const FREE: Record<string, string[]> = { setup: ["hosts"], health: ["hosts"], model: ["redact"] };

test("lint keeps rooms above the library from redaction and from hosts' files", () => {
  const { overrides } = JSON.parse(readFileSync(join(ROOT, "biome.json"), "utf8")) as {
    overrides: Override[];
  };
  const order = rooms();
  for (const room of order.slice(order.indexOf("archive") + 1)) {
    const rule = overrides.find(({ includes }) => includes[0] === `lib/${room}/**`);
    const group = rule?.linter.rules.style?.noRestrictedImports?.options.patterns[1]?.group;
    for (const below of ["redact", "hosts"])
      expect([room, group?.includes(`**/${below}/*.ts`)]).toEqual([room, !FREE[room]?.includes(below)]);
  }
});

interface Override {
  includes: string[];
  linter: {
    rules: { style?: { noRestrictedImports?: { options: { patterns: { group: string[] }[] } } } };
  };
}
