/** The tables of README.md and docs/hosts.md say of every host what its value says. `SESSION_MEMORY_TEST_UPDATE=1` writes them. */

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Moment } from "../lib/hosts/host.ts";
import { HOSTS, listMoments } from "../lib/hosts/hosts.ts";
import { ROOT } from "./support/run.ts";

const [BEGIN, END] = ["<!-- hosts -->\n", "<!-- end of hosts -->"];

/** What is told or done unasked, and the moment at which it is. */
const COLUMNS: readonly (readonly [title: string, moment: Moment])[] = [
  ["digest", "prompt"],
  ["`@@`", "prompt"],
  ["Seen before", "failure"],
  ["observations", "compaction"],
  ["rules", "start"],
  ["names", "turn"],
];

/** Programs that call hooks/agent-sdk.ts: sessions are Claude Code's, and callbacks hear of no end. */
const SDK = { name: "Agent SDK", resume: "–", moments: ["start", "prompt", "failure"] as readonly Moment[] };

function table(): string {
  const hosts = HOSTS.map((host) => ({
    name: host.name,
    resume: `\`${host.resume}\``,
    moments: listMoments(host),
  }));
  const [claude, ...others] = hosts;
  const rows = [claude ?? SDK, SDK, ...others].map(({ name, resume, moments }) => {
    const cells = COLUMNS.map(([, moment]) => (moments.includes(moment) ? "✔" : "–"));
    return [name, "✔", resume, ...cells];
  });
  const head = ["host", "read", "resume", ...COLUMNS.map(([title]) => title)];
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`);
  return lines.join("");
}

for (const page of ["README.md", join("docs", "hosts.md")]) {
  test(`${page} says of every host what is told and done there by itself`, () => {
    const file = join(ROOT, page);
    const text = readFileSync(file, "utf8");
    const [start, end] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
    expect(start).toBeGreaterThan(BEGIN.length);
    expect(end).toBeGreaterThanOrEqual(start);
    if (process.env.SESSION_MEMORY_TEST_UPDATE === "1")
      writeFileSync(file, `${text.slice(0, start)}${table()}${text.slice(end)}`);
    else expect(text.slice(start, end)).toBe(table());
  });
}
