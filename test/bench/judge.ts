/**
 * A random sample of what the rules made of real sessions, for people to judge: lines marked 🔴, and names.
 *
 *     bun test/bench/judge.ts [seed] [count] [folder]
 *
 * The same seed gives the same sample. A line counts when it is a request, a rule or a decision of the user; a name
 * counts when somebody who worked in the session would keep it. A count of 0 prints all there is.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings, resolvePaths } from "../../lib/config/config.ts";
import type { Session } from "../../lib/hosts/session.ts";
import { summarizeByRule } from "../../lib/naming/meta-words.ts";
import { foldLedger } from "../../lib/observe/observations.ts";
import { observe } from "../../lib/observe/observe.ts";
import { redact } from "../../lib/redact/redact.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { readHead } from "../../lib/transcripts/head.ts";
import { readActiveBranch } from "../support/entries.ts";
import { type Random, seeded } from "../support/random.ts";
import { ROOT } from "../support/run.ts";

const [seed = "1", count = "60", folder = join(ROOT, "..", "shared", "transcripts")] = process.argv.slice(2);

if (existsSync(folder)) await sample(folder, { random: seeded(Number(seed)), count: Number(count) });
else console.error(`no transcripts at ${folder}`);

async function sample(path: string, { random, count }: { random: Random; count: number }): Promise<void> {
  const paths = resolvePaths({ SESSION_MEMORY_SESSIONS: path, SESSION_MEMORY_HOME: join(path, "no-home") });
  const sessions = listSessions(paths, { subagents: true }).toSorted((a, b) => (a.file < b.file ? -1 : 1));
  const lines: string[] = [];
  const names: string[] = [];
  for (const session of sessions) {
    const red = await redLines(session);
    lines.push(...red.map((line) => `${session.id.slice(0, 8)} ${line}`));
    const { name, description, isWorth } = nameOf(session);
    if (isWorth) names.push(`${session.id.slice(0, 8)} ${name}\n         (${description})`);
  }
  print("🔴 lines", pick(lines, { random, count }), lines.length);
  print("names", pick(names, { random, count }), names.length);
}

async function redLines({ file }: Session): Promise<string[]> {
  const entries = readActiveBranch(file, { results: true });
  const { ledger } = await observe({
    ledger: [],
    entries,
    settings: defaultSettings().observe,
    timezone: "UTC",
    when: "all",
    redact,
    append: () => {},
  });
  return foldLedger(ledger)
    .observations.filter(({ priority }) => priority === "red")
    .map(({ sources, text, thread, rule }) => {
      const flags = `${thread ? " thread" : ""}${rule ? " rule" : ""}`;
      return `L${sources.join()}${flags}: ${text}`;
    });
}

function nameOf(session: Session): { name: string; description: string; isWorth: boolean } {
  const entries = readActiveBranch(session.file, { results: true });
  const cwd = readHead(session.file)?.cwd ?? "";
  const where = {
    project: cwd.split(/[\\/]/).findLast(Boolean) ?? "",
    date: (entries.find(({ at }) => at)?.at ?? session.updatedAt).slice(0, 10),
  };
  const { name, description } = summarizeByRule(entries, where);
  return { name, description, isWorth: entries.some(({ kind }) => kind === "user" || kind === "assistant") };
}

function pick(items: readonly string[], { random, count }: { random: Random; count: number }): string[] {
  const left = [...items];
  const taken: string[] = [];
  while (left.length > 0 && (count === 0 || taken.length < count)) {
    taken.push(...left.splice(random.integer(0, left.length - 1), 1));
  }
  return count === 0 ? [...items] : taken;
}

function print(what: string, items: readonly string[], all: number): void {
  console.log(`${items.length} of ${all} ${what}\n`);
  for (const [index, item] of items.entries()) console.log(`${index + 1}. ${item}`);
  console.log("");
}
