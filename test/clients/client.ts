/** What the tests of all clients share: a home without anything of this machine, and how the processes in it end. */

import { expect } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { type TemporaryHome, temporaryHome } from "../support/home.ts";
import type { Finished } from "../support/run.ts";

export type ClientHome = TemporaryHome & { env: Record<string, string>; bin: string };

/** A home with the system's programs, and those named, or given by their path, on PATH. */
export function clientHome(variables: Record<string, string> = {}, programs = ["bun"]): ClientHome {
  const home = temporaryHome({ TERM: "xterm-256color", ...variables });
  const bin = join(home.root, "bin");
  mkdirSync(bin);
  for (const name of programs)
    symlinkSync(name === "bun" ? process.execPath : (Bun.which(name) ?? ""), join(bin, basename(name)));
  home.env.PATH = `${bin}:/usr/bin:/bin`;
  return Object.assign(home, { bin }) as ClientHome;
}

/** A home for Claude Code, whose requests go to `url` with a made-up key. */
export function claudeHome(url: string, variables: Record<string, string> = {}): ClientHome {
  const quiet = [
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
  ];
  const home = clientHome({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "fake-made-up-key",
    ...Object.fromEntries(quiet.map((name) => [name, "1"])),
    ...variables,
  });
  mkdirSync(home.paths.claude);
  return home;
}

/** Returns what a command printed that must end well. */
export function succeeded({ stdout, stderr, exitCode }: Finished): string {
  expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
  return stdout;
}

/** A file's text, or "" while it is not there. */
export function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** The lines of our log that hold all of these texts. */
export function logged(home: TemporaryHome, ...texts: string[]): string[] {
  return textOf(home.paths.log)
    .split("\n")
    .filter((line) => line !== "" && texts.every((text) => line.includes(text)));
}
