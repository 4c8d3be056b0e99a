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

/** A run of characters that look alike. */
interface Span {
  text: string;
  codes: ReadonlySet<string>;
}

/** Splits a line with ANSI colours into spans. */
function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let codes = new Set<string>();
  for (const part of line.split(/(\x1b\[[0-9;]*m)/)) {
    const code = /^\x1b\[([0-9;]*)m$/.exec(part)?.[1];
    if (code === undefined) {
      if (part !== "") spans.push({ text: part, codes });
      continue;
    }
    codes = new Set(codes);
    if (code === "" || code === "0") codes.clear();
    else if (code === "22") for (const weight of ["1", "2"]) codes.delete(weight);
    else if (code === "39") for (const colour of codes) if (colour.length > 1) codes.delete(colour);
    if (/^(?:1|2|3\d)$/.test(code) && code !== "39") codes.add(code);
  }
  return spans;
}

/** Draws lines of terminal output. */
function drawTerminal(lines: readonly string[], theme: Theme): string {
  const [width, height] = [COLUMNS * CHARACTER + 2 * MARGIN, lines.length * LINE + 2 * MARGIN];
  const rows = lines.map((line, i) => {
    let column = 0;
    // Each run of words has its own place: not every viewer keeps blanks that begin a text or follow each other.
    const spans = spansOf(line).flatMap(({ text, codes }) => {
      const from = column;
      column += columnsOf(text);
      return Array.from(text.matchAll(/\S+(?: \S+)*/g), ({ 0: words, index }) => {
        const x = MARGIN + (from + columnsOf(text.slice(0, index))) * CHARACTER;
        return `<tspan x="${x.toFixed(1)}"${styleOf(codes, theme)}>${escapeXml(words)}</tspan>`;
      });
    });
    return `<text y="${(MARGIN + (i + 0.75) * LINE).toFixed(1)}">${spans.join("")}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    "<title>session-memory in a terminal: an answer from past sessions, and a list of them</title>",
    `<rect width="100%" height="100%" rx="8" fill="${theme.background}" stroke="${theme.faint}" stroke-opacity="0.3"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="${theme.text}">`,
    ...rows,
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
      ...wrap(`\x1b[32m$\x1b[39m ${command}`),
      ...outputOf(command, home).flatMap(wrap),
      "",
    ]);
    for (const [name, theme] of Object.entries(THEMES))
      writeFileSync(join(ROOT, "docs", `terminal-${name}.svg`), drawTerminal(lines.slice(0, -1), theme));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Breaks a line where a terminal would. */
function wrap(line: string): string[] {
  const rows: string[] = [];
  let [row, used] = ["", 0];
  for (const part of line.split(/(\x1b\[[0-9;]*m)/)) {
    if (part.startsWith("\x1b")) {
      row += part;
      continue;
    }
    for (const character of part) {
      if (used + columnsOf(character) > COLUMNS) {
        rows.push(row);
        [row, used] = ["", 0];
      }
      row += character;
      used += columnsOf(character);
    }
  }
  return [...rows, row];
}

if (import.meta.main) main();
