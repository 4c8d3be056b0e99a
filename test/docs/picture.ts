#!/usr/bin/env bun
/**
 * Draws docs/terminal-light.svg and docs/terminal-dark.svg: real commands with their real output on the bundled sample,
 * as a terminal of 100 columns shows them.
 *
 * Usage: bun run picture
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { columnsOf } from "../../lib/base/terminal.ts";
import { ROOT } from "../support/run.ts";

const COMMANDS = [
  'session-memory search "what did Jason say about posting" "how often to post on X" --limit 1',
  "session-memory session-reader --list -n 3",
];
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
      if (column + columnsOf(part) > COLUMNS) {
        rows.push([]);
        column = 0;
      }
      const last = rows.at(-1)?.at(-1);
      // Runs of words have places of their own: not every viewer keeps blanks that begin a text or follow each other.
      const goesOn =
        last?.codes === codes &&
        (part === " " || (part[0] !== " " && last.column + columnsOf(last.text) === column));
      if (goesOn) last.text += part;
      else if (part[0] !== " ") rows.at(-1)?.push({ text: part, codes, column });
      column += columnsOf(part);
    }
  }
  return rows;
}

/** Draws rows of terminal output. */
function drawTerminal(rows: readonly Span[][], theme: Theme): string {
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
    "<title>session-memory in a terminal: an answer from past sessions, and a list of them</title>",
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

/** Runs a command at a terminal of its own, in a home that holds nothing but the sample. */
function outputOf(command: string, home: string): string[] {
  const program = command.replace("session-memory", JSON.stringify(join(ROOT, "bin", "session-memory")));
  const shell = `stty cols ${COLUMNS} rows 50; ${program} 2>/dev/null`;
  const { stdout } = spawnSync("script", ["-qec", shell, "/dev/null"], {
    env: {
      PATH: `${dirname(Bun.which("bun") ?? process.execPath)}:/usr/bin:/bin`,
      HOME: home,
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      TZ: "UTC",
      SESSION_MEMORY_SESSIONS: join(ROOT, "test", "fixtures", "claude"),
    },
    encoding: "utf8",
  });
  return stdout.replaceAll("\r", "").trimEnd().split("\n");
}

function main(): void {
  const home = mkdtempSync(join(tmpdir(), "session-memory-picture-"));
  try {
    const lines = COMMANDS.flatMap((command) => [
      `\x1b[32m$\x1b[39m ${command}`,
      ...outputOf(command, home),
      "",
    ]);
    for (const [name, theme] of Object.entries(THEMES))
      writeFileSync(
        join(ROOT, "docs", `terminal-${name}.svg`),
        drawTerminal(lines.slice(0, -1).flatMap(rowsOf), theme),
      );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

if (import.meta.main) main();
