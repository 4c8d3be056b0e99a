#!/usr/bin/env bun
/**
 * Draws docs/agent-*.svg and docs/terminal-*.svg, light and dark: what an agent is told in a session, and what commands print,
 * as a terminal of 100 columns shows it. The sessions are a sample of code work; every line that is ours is real output.
 *
 * Usage: bun run picture
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { countColumns } from "../../lib/base/terminal.ts";
import { type TemporaryHome, temporaryHome } from "../support/home.ts";
import { uuidFrom } from "../support/rows.ts";
import { ROOT } from "../support/run.ts";
import { lay } from "../support/world.ts";

const COMMANDS = [
  'session-memory search "why do we retry payments three times" "payment retry limit" --limit 1',
  "session-memory session-reader --list -n 3",
];
const ERROR = "Error: connect ECONNREFUSED 127.0.0.1:5432";
const ASKED = 'session-memory search "why do we retry payments three times" "payment retry limit"';
const COLUMNS = 100;
const [CHARACTER, LINE, MARGIN] = [8.4, 20, 18];

interface Theme {
  background: string;
  text: string;
  faint: string;
  /** By ANSI number. */
  colours: Record<string, string>;
}

const THEMES: Record<string, Theme> = {
  light: {
    background: "#ffffff",
    text: "#1f2328",
    faint: "#656d76",
    colours: { 31: "#cf222e", 32: "#116329", 33: "#7d4e00", 34: "#0969da", 36: "#1b7c83" },
  },
  dark: {
    background: "#0d1117",
    text: "#e6edf3",
    faint: "#8d96a0",
    colours: { 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 36: "#76e3ea" },
  },
};

/** Characters that look alike, from a column on. */
interface Span {
  text: string;
  codes: ReadonlySet<string>;
  column: number;
}

/** Takes a line with ANSI colours apart into the rows that a terminal makes of it, and these into runs of words. */
function rowsOf(line: string): Span[][] {
  const rows: Span[][] = [[]];
  let [codes, column] = [new Set<string>(), 0];
  for (const [part, code] of line.matchAll(/\x1b\[([0-9;]*)m| +|[^ \x1b]/gu)) {
    if (code === "" || code === "0") codes = new Set();
    else if (code === "22" || code === "39") {
      const isEnded = ({ length }: string) => (code === "39") === length > 1;
      codes = new Set([...codes].filter((each) => !isEnded(each)));
    } else if (code !== undefined) codes = new Set([...codes, code]);
    else {
      if (column + countColumns(part) > COLUMNS) {
        rows.push([]);
        column = 0;
      }
      const last = rows.at(-1)?.at(-1);
      // Runs of words have places of their own: not every viewer keeps blanks that begin a text or follow each other.
      const goesOn =
        last?.codes === codes &&
        (part === " " || (part[0] !== " " && last.column + countColumns(last.text) === column));
      if (goesOn) last.text += part;
      else if (part[0] !== " ") rows.at(-1)?.push({ text: part, codes, column });
      column += countColumns(part);
    }
  }
  return rows;
}

/** Draws rows of terminal output. */
function drawTerminal(rows: readonly Span[][], theme: Theme, title: string): string {
  const [width, height] = [COLUMNS * CHARACTER + 2 * MARGIN, rows.length * LINE + 2 * MARGIN];
  const texts = rows.map((spans, i) => {
    const words = spans.map(({ text, codes, column }) => {
      const x = (MARGIN + column * CHARACTER).toFixed(1);
      return `<tspan x="${x}"${styleOf(codes, theme)}>${escapeXml(text.trimEnd())}</tspan>`;
    });
    return `<text y="${(MARGIN + (i + 0.75) * LINE).toFixed(1)}">${words.join("")}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${theme.background}" stroke="${theme.faint}" stroke-opacity="0.3"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="${theme.text}">`,
    ...texts,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

function styleOf(codes: ReadonlySet<string>, theme: Theme): string {
  const colour = [...codes].map((code) => theme.colours[code]).find((value) => value !== undefined);
  const fill = colour ?? (codes.has("2") ? theme.faint : undefined);
  return `${fill ? ` fill="${fill}"` : ""}${codes.has("1") ? ' font-weight="bold"' : ""}`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Writes the sample: three sessions of one project in the last days. */
function writeSample(home: TemporaryHome): void {
  const sample = (name: string, daysAgo: number, turns: string) => {
    const day = new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    lay(home, `@claude ${uuidFrom(name)} ${day} 10:00\n${turns}`);
  };
  sample(
    "tests",
    9,
    `User: the tests fail on a fresh machine, and pass the second time
[Bash npm test] failed
  ${ERROR}
    at test/orders.test.ts:12
  3 failed, 39 passed
Assistant: The tests start before PostgreSQL takes connections: the second run finds it ready.
[Edit ${home.project}/test/setup.ts]
  -export {};
  +await waitForPort(5432);
[Bash npm test]
  42 passed
Assistant: test/setup.ts waits for the port now; all 42 tests pass on a fresh machine.`,
  );
  sample(
    "retries",
    3,
    `User: why do some payments fail for good? retry them, but not for ever
Assistant: The provider drops about one request in ten, and two in a row were seen once.
[Edit ${home.project}/src/pay.ts]
  -const retryLimit = 1;
  +const retryLimit = 3;
Assistant: A payment is retried three times: two in a row were lost once, three never.
[Bash git commit -am "fix(pay): retry a payment three times"]
  [main 4be1f02] fix(pay): retry`,
  );
  sample(
    "invoices",
    1,
    `User: number the invoices by year
Assistant: Invoices are numbered by year now, from 2026-0001 on.`,
  );
}

/** What an agent's session shows: what the agent ran, and what it was told beside. */
async function agentSession(home: TemporaryHome): Promise<string[]> {
  await home.ok("embed", "--quiet");
  const { stdout } = await home.hook("post-tool-use-failure", {
    ...{ session_id: uuidFrom("me"), transcript_path: join(home.root, "me.jsonl"), cwd: home.project },
    ...{ hook_event_name: "PostToolUseFailure", tool_name: "Bash", tool_input: { command: "npm test" } },
    error: `Exit code 1\n${ERROR}\n3 failed, 41 passed`,
  });
  const told: string = JSON.parse(stdout).hookSpecificOutput.additionalContext;
  const found = await home.ok("search", ...askedBy(ASKED), "--limit", "1", "--quiet");
  return [
    ...["\x1b[1m>\x1b[22m run the tests, then tell me why payments are retried three times", ""],
    ...[
      "\x1b[32m●\x1b[39m \x1b[1mBash\x1b[22m(npm test)",
      `  └ \x1b[31m${ERROR}\x1b[39m`,
      "    3 failed, 41 passed",
    ],
    ...told
      .split("\n")
      .flatMap(wrapped)
      .map((line) => `    \x1b[36m${line}\x1b[39m`),
    ...["", `\x1b[32m●\x1b[39m \x1b[1mBash\x1b[22m(${ASKED})`],
    ...found
      .trimEnd()
      .split("\n")
      .map((line, i) => `  ${i === 0 ? "└" : " "} ${line}`),
  ];
}

/** Breaks a long line between words. */
function wrapped(line: string): string[] {
  const rows = [""];
  for (const word of line.split(" ")) {
    const longer = `${rows.at(-1)} ${word}`.trimStart();
    if (longer.length <= COLUMNS - 6) rows[rows.length - 1] = longer;
    else rows.push(`  ${word}`);
  }
  return rows;
}

/** Returns the phrasings of a search. */
function askedBy(command: string): string[] {
  return [...command.matchAll(/"([^"]+)"/g)].map(([, phrasing = ""]) => phrasing);
}

/** Runs a command at a terminal of its own, in a home that holds nothing but the sample. */
function outputOf(command: string, { env, project }: TemporaryHome): string[] {
  const program = command.replace("session-memory", JSON.stringify(join(ROOT, "bin", "session-memory")));
  const shell = `stty cols ${COLUMNS} rows 50; ${program} 2>/dev/null`;
  const PATH = `${dirname(Bun.which("bun") ?? process.execPath)}:/usr/bin:/bin`;
  const { stdout } = spawnSync("script", ["-qec", shell, "/dev/null"], {
    env: { ...env, PATH, TERM: "xterm-256color" },
    cwd: project,
    encoding: "utf8",
  });
  return stdout.replaceAll("\r", "").trimEnd().split("\n");
}

function write(name: string, title: string, lines: readonly string[]): void {
  for (const [themed, theme] of Object.entries(THEMES))
    writeFileSync(
      join(ROOT, "docs", `${name}-${themed}.svg`),
      drawTerminal(lines.flatMap(rowsOf), theme, title),
    );
}

using home = temporaryHome();
writeSample(home);
write(
  "agent",
  "A coding agent is told how an error was ended before, and finds why code is as it is",
  await agentSession(home),
);
const lines = COMMANDS.flatMap((command) => [`\x1b[32m$\x1b[39m ${command}`, ...outputOf(command, home), ""]);
write(
  "terminal",
  "session-memory in a terminal: an answer from past sessions, and a list of them",
  lines.slice(0, -1),
);
