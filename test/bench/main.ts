#!/usr/bin/env bun
/**
 * Measures what is promised and prints one table: figure, measured, bar, met or missed.
 *
 * Every `test/bench/<section>.ts` that exports `rows()` is a section. Ratios only hold within one run.
 *
 * @module
 */

import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { BenchRow } from "./measure.ts";

const USAGE = `\
Usage: bun run bench [<section>…]

Runs the sections named, or all of them. Exit 1 when a bar is missed.
`;

interface Section {
  rows: () => Promise<BenchRow[]>;
}

async function main(wanted: string[]): Promise<void> {
  const known = sectionNames();
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined || wanted.includes("--help")) {
    console.error(`${USAGE}Sections: ${known.join(" ")}`);
    process.exitCode = unknown === "--help" ? 0 : 2;
    return;
  }
  const all: BenchRow[] = [];
  for (const name of wanted.length > 0 ? wanted : known) {
    const started = performance.now();
    const section: Partial<Section> = await import(join(import.meta.dir, `${name}.ts`));
    if (!section.rows) continue;
    console.error(`${name} …`);
    all.push(...(await section.rows()));
    console.error(`${name} ${((performance.now() - started) / 1000).toFixed(0)} s`);
  }
  console.log(table(all));
  if (all.some((row) => row.met === false)) process.exitCode = 1;
}

function sectionNames(): string[] {
  return readdirSync(import.meta.dir)
    .filter((file) => file.endsWith(".ts") && !["main.ts", "measure.ts"].includes(file))
    .map((file) => basename(file, ".ts"))
    .sort();
}

function table(rows: BenchRow[]): string {
  const verdict = (row: BenchRow) => (row.met === undefined ? "" : row.met ? "met" : "MISSED");
  const cells = [
    ["figure", "measured", "bar", ""],
    ...rows.map((row) => [row.figure, row.measured, row.bar, verdict(row)]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

await main(process.argv.slice(2));
