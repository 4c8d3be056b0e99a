#!/bin/sh
":" //; for bun in bun "$HOME/.bun/bin/bun"; do command -v "$bun" >/dev/null 2>&1 && exec "$bun" --no-env-file --no-install --config=/dev/null "$0" "$@"; done; exec node "$0" "$@"

/**
 * `session-memory <script> …`: runs a script of ours in a child of the same runtime. Plain JavaScript, started by sh on
 * Bun where there is one, else on Node: Node strips no types below a node_modules, so there it runs the build in dist/.
 */

import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = resolve(fileURLToPath(import.meta.url), "..", "..");
const NODE_MIN = [22, 18];
/** Where descriptions begin, and the width of a terminal that nobody widened. */
const [INDENT, COLUMNS] = [20, 80];
const DESCRIPTION = /\/\*\*\s*\n? ?\*? ?([^\n]*)/;

/** Bun and Deno run the sources; Node runs the build where there is one. */
function programs() {
  const isNode = !process.versions.bun && !process.versions.deno;
  const built = join(ROOT, "dist", "scripts");
  const folder = isNode && existsSync(built) ? built : join(ROOT, "scripts");
  const files = readdirSync(folder).filter((name) => /\.(js|ts)$/.test(name));
  return new Map(files.map((name) => [name.replace(/\.\w+$/, ""), join(folder, name)]));
}

function isTooOld() {
  if (process.versions.bun || process.versions.deno) return false;
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]);
}

function listScripts() {
  const rows = [...programs()].sort().map(([name, file]) => {
    const [, description = ""] = DESCRIPTION.exec(readFileSync(file, "utf8")) ?? [];
    return `  ${name.padEnd(INDENT - 2)}${wrap(description.replace(/\.$/, ""))}`;
  });
  console.log(`Usage: session-memory <script> [options]\n\nScripts:\n${rows.join("\n")}\n`);
  console.log("session-memory <script> --help shows a script's options, --version the version.");
}

/** Breaks a text between words, so that a terminal does not break it within one. */
function wrap(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (INDENT + longer.length < COLUMNS) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join(`\n${" ".repeat(INDENT)}`);
}

function fail(message) {
  console.error(`error: ${message}`);
  process.exitCode = 2;
}

function run(file, args) {
  const flags = process.versions.bun
    ? ["--no-env-file", "--no-install", `--config=${join(ROOT, "bunfig.toml")}`]
    : process.versions.deno
      ? ["run", "-A", "--quiet"]
      : [];
  const env = { ...process.env, SESSION_MEMORY_COMMAND: "session-memory" };
  const child = spawn(process.execPath, [...flags, file, ...args], { stdio: "inherit", env });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (signal === "SIGINT" ? 2 : 15);
  });
}

const [name, ...args] = process.argv.slice(2);
if (name === "--version" || name === "-v") {
  console.log(JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version);
} else if (isTooOld()) {
  const found = `this is Node ${process.versions.node}`;
  const remedy = `npm install -g bun@1.4.5, or npx bun@1.4.5 ${process.argv[1]} ${name ?? ""}`.trimEnd();
  fail(`session-memory needs Bun, or Node ${NODE_MIN.join(".")} or later, and ${found}: ${remedy}`);
} else if (name === undefined || name === "--help" || name === "-h") listScripts();
else {
  const file = programs().get(name);
  if (file) run(file, args);
  else fail(`Cannot run "${name.slice(0, 200)}": there is no such script\nhint: session-memory alone lists them`);
}
