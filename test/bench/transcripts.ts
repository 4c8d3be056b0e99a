/** Transcripts of a wanted size for the benchmarks, with rows in the proportions of real sessions. */

import { appendFileSync, closeSync, openSync, utimesSync, writeSync } from "node:fs";
import type { Agent } from "../../lib/transcripts/session.ts";
import { chain, claudeAssistant, claudeSystem, claudeToolResult, claudeUser } from "../support/claude.ts";
import { codexAnswer, codexMeta, codexPrompt } from "../support/codex.ts";
import { type TemporaryHome, writeClaude, writeCodex, writePi } from "../support/home.ts";
import { piAssistant, piHeader, piLinked, piUser } from "../support/pi.ts";
import { type Random, seeded } from "../support/random.ts";
import { hexFrom, jsonl, type Row, uuidFrom } from "../support/rows.ts";

const WORDS =
  "the build fails on staging because health check port and server port differ since last release please look at migration table orders retry cookie redirect läuft nicht wieder rot test login schedule post frequency".split(
    " ",
  );

/**
 * Writes a Claude Code transcript of about `bytes`. Of its bytes a tenth is prose and nine tenths are tool results,
 * progress and calls, as measured on real sessions.
 */
export function writeTranscript(file: string, bytes: number): void {
  const random = seeded(7);
  const descriptor = openSync(file, "w");
  const blocks = Array.from({ length: 8 }, () => Buffer.from(jsonl(chain(turns(random, 60)))));
  for (let written = 0, i = 0; written < bytes; i++) {
    const block = blocks[i % blocks.length] ?? Buffer.alloc(0);
    written += writeSync(descriptor, block);
  }
  closeSync(descriptor);
}

function turns(random: Random, count: number): Row[] {
  return Array.from({ length: count }, (_, i) => {
    const id = `toolu_bench_${random.integer(0, 1e9)}`;
    const at = new Date(Date.UTC(2026, 1, 3, 10, 0, i)).toISOString();
    const prose = [
      claudeUser({ text: words(random, 30), at }),
      ...claudeAssistant({ text: words(random, 80), at }),
    ];
    const calls = Array.from({ length: 3 }, (_unused, call) => {
      const tools = [{ name: "Bash", input: { command: words(random, 12) }, id: `${id}_${call}` }];
      const progress = { data: { type: "bash_progress", output: words(random, 150) } };
      return [
        ...claudeAssistant({ tools, at }),
        { ...claudeSystem({ subtype: "", at, extra: progress }), type: "progress" },
        claudeToolResult({ toolUseId: `${id}_${call}`, content: words(random, 400), at }),
      ];
    });
    return [...prose, ...calls.flat()];
  }).flat();
}

function words(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.pick(WORDS)).join(" ");
}

const SESSIONS = 3000;

/** The session the digest is made for, and the others of its project, newest last. */
interface SessionField {
  current: string;
  currentFile: string;
  inProject: string[];
}

/**
 * Lays out 3,000 sessions of all three hosts, 300 of them in the home's project. A tenth was written to within the
 * last half hour, the rest over the last month.
 */
export function writeSessionField(home: TemporaryHome): SessionField {
  const files: string[] = [];
  for (const session of fieldSessions()) {
    const i = session.number;
    const cwd = i < 300 ? home.project : `${home.root}/other-${i % 90}`;
    const file = writeSession(home, session, cwd);
    const age = i % 10 === 0 ? 60 + (i % 1700) : 7200 + ((i * 977) % 2_500_000);
    const time = Date.now() / 1000 - age;
    utimesSync(file, time, time);
    if (i < 300) files.push(file);
  }
  const [currentFile = "", ...inProject] = files;
  return { current: uuidFrom("bench 0"), currentFile, inProject };
}

/** Which sessions the field has. */
export function fieldSessions(): { number: number; id: string; agent: Agent }[] {
  return Array.from({ length: SESSIONS }, (_, number) => {
    const agent = number % 6 === 5 ? "pi" : number % 15 === 7 ? "codex" : "claude";
    return { number, id: uuidFrom(`bench ${number}`), agent };
  });
}

function writeSession(
  home: TemporaryHome,
  { number, id, agent }: ReturnType<typeof fieldSessions>[number],
  cwd: string,
): string {
  const random = seeded(number);
  const at = new Date(Date.now() - 3 * 3600_000).toISOString();
  const prompt = words(random, 12);
  const answer = words(random, 30);
  if (agent === "pi") {
    const entries = [
      piUser({ id: hexFrom(`${id} 1`), text: prompt, at }),
      piAssistant({ id: hexFrom(`${id} 2`), text: answer, at }),
    ];
    return writePi(home, { id, cwd, at, rows: [piHeader({ id, cwd, at }), ...piLinked(entries)] });
  }
  if (agent === "codex") {
    const rows = [
      codexMeta({ id, cwd, at }),
      ...codexPrompt({ text: prompt, at }),
      codexAnswer({ text: answer, at }),
    ];
    return writeCodex(home, { id, cwd, at, rows });
  }
  const rows = [
    claudeUser({ sessionId: id, cwd, at, text: prompt }),
    claudeAssistant({ sessionId: id, cwd, at, text: answer }),
  ];
  return writeClaude(home, { id, cwd, rows });
}

/** Appends a prompt, an edit and an answer of just now to a transcript of `writeSessionField`. */
export function appendNews(file: string, cwd: string): void {
  const at = new Date().toISOString();
  const text = "the deploy is red again, look at the health check";
  if (file.includes("/rollout-")) {
    appendFileSync(file, jsonl(codexPrompt({ text, at }), codexAnswer({ text: "It is green.", at })));
  } else if (file.includes("/.pi/")) {
    appendFileSync(file, jsonl(piUser({ text, at }), piAssistant({ text: "It is green.", at })));
  } else {
    const tools = [{ name: "Edit", input: { file_path: `${cwd}/deploy/compose.yml` } }];
    appendFileSync(
      file,
      jsonl(claudeUser({ cwd, at, text }), claudeAssistant({ cwd, at, tools, text: "It is green." })),
    );
  }
}
