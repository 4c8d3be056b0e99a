/** AGENTS.md says of every file what the file's own header says first: neither can drift from the other. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./support/run.ts";

const PAGE = join(ROOT, "AGENTS.md");
const [BEGIN, END] = ["<!-- files -->\n", "<!-- end of files -->"];

function sourceFiles(): string[] {
  return ["lib", "scripts", "hooks"]
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => file.endsWith(".ts"))
    .sort();
}

/** The first sentence of a file's header. */
function ownedBy(file: string): string {
  const header = /\/\*\*([\s\S]*?)\*\//.exec(readFileSync(join(ROOT, file), "utf8"))?.[1] ?? "";
  const text = header
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim();
  const [paragraph = ""] = text.split(/\n\s*\n/);
  const [sentence = ""] = paragraph.replace(/\s+/g, " ").split(/(?<=[.;]) (?=[A-Z`])/);
  return sentence.replace(/\.$/, "").replaceAll("|", "\\|");
}

function table(): string {
  const rows = sourceFiles().map((file) => `| \`${file}\` | ${ownedBy(file)} |`);
  return ["| file | owns |", "|---|---|", ...rows, ""].join("\n");
}

test("AGENTS.md has a row for every file, in the words of its header", () => {
  const page = readFileSync(PAGE, "utf8");
  const [start, end] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  expect(start).toBeGreaterThan(BEGIN.length);
  expect(end).toBeGreaterThanOrEqual(start);
  if (process.env.SESSION_MEMORY_TEST_UPDATE === "1") {
    writeFileSync(PAGE, `${page.slice(0, start)}${table()}${page.slice(end)}`);
  } else expect(page.slice(start, end)).toBe(table());
});

test("every file's header begins with a sentence that says what it owns", () => {
  for (const file of sourceFiles()) {
    const { length } = ownedBy(file);
    expect({ file, isSentence: length > 15 && length < 320 }).toEqual({ file, isSentence: true });
  }
});
