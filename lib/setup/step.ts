/** Steps of setup: the run that asks for them, the lines that show them, and the hosts' own commands. */

import type { SpawnSyncReturns } from "node:child_process";
import { rmdirSync } from "node:fs";
import { dirname } from "node:path";
import { trustedPath } from "../base/runtime.ts";
import { quoted } from "../base/text.ts";
import type { Config, PathsWithRules } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { removeWritten } from "../store/state.ts";

/** The document that `--json` prints. */
export interface Report {
  hosts: { name: string; program: string | null }[];
  commands: HostCommand[];
  /** Skill pages that are written, or that would be. */
  pages: string[];
  /** The command that is set as a status line, or would be. */
  statusLine: string | null;
  /** Null where nothing was indexed. */
  sessions: number | null;
  questions: string[];
  /** Files of ours outside the state folder that were removed, and the ones that stay: changed by somebody, or exported. */
  removed: string[];
  keptFiles: string[];
}

/** A command of a host's own, and how it ended. */
interface HostCommand {
  host: string;
  command: string[];
  ok: boolean | null;
}

/** Starts a program of an agent's, or a script of ours, and returns how it ended. */
export type Start = (
  command: readonly string[],
  options: { stdout: "ignore" | "inherit" | 2; env?: Config["env"]; timeout?: number },
) => Ended | Promise<Ended>;
type Ended = Pick<SpawnSyncReturns<Buffer>, "status" | "error">;

/** A run: its request, its output and its result. */
export interface Work {
  config: Config;
  cwd: string;
  values: {
    yes: boolean;
    remove: boolean;
    json?: boolean | undefined;
    quiet?: boolean | undefined;
    sessions?: string[] | undefined;
  };
  start: Start;
  say: (...lines: string[]) => void;
  /** Remarks on stderr. */
  note: (message: string) => void;
  /** Asks a person; false if nobody is there. */
  confirm: (question: string) => Promise<boolean>;
  report: Report;
  /** The hosts whose program is here. */
  found: readonly Host[];
  particulars: Particulars;
}

/** The particulars of single hosts. */
export interface Particulars {
  /** Beside commands, files and hooks. */
  installs: readonly HostStep[];
  removals: readonly Step[];
  /** Says, before anybody agrees, what else a host does once we are in it. */
  notices: readonly string[];
  /** Says what is left to do in hosts that we were installed into. */
  afterwards: () => readonly string[];
  /** Asks what else a person wants, once the first answer is shown. */
  offer: () => Promise<void>;
}

export type HostStep = Step & { host: string };

/** A thing to do: a command of a host's, or a change to files. */
export interface Step {
  /** The lines that show it: the command or the file, and the place. */
  lines: string[];
  run: () => unknown;
}

/** A host's command that takes longer hangs. */
const COMMAND_TIMEOUT_MS = 60_000;

/** Returns the steps that run the hosts' own commands. */
export function commandSteps(work: Work): HostStep[] {
  return work.report.commands.map((command) => ({
    host: command.host,
    lines: [shown(command)],
    run: () => runCommand(work, command),
  }));
}

function shown({ host, command }: HostCommand): string {
  return `${command.map(quoted).join(" ")}   # ${host}`;
}

/** Runs a host's command, whose output goes to stderr with `--json`, and names one that fails or hangs. */
async function runCommand({ start, config, values, say }: Work, command: HostCommand): Promise<void> {
  const { status, error } = await start(command.command, {
    stdout: values.json ? 2 : "inherit",
    env: { ...process.env, PATH: trustedPath(config) },
    timeout: COMMAND_TIMEOUT_MS,
  });
  command.ok = status === 0;
  if (command.ok) return;
  const isHung = error && "code" in error && error.code === "ETIMEDOUT";
  say(`${isHung ? `gave up after ${COMMAND_TIMEOUT_MS / 1000} s` : "failed"}: ${shown(command)}`);
  process.exitCode = 1;
}

/** Returns a list beneath its title; nothing of an empty one. */
export function formatList(title: string, items: readonly string[]): string[] {
  return items.length > 0 ? [title, ...items.map((item) => `  ${item}`)] : [];
}

/** Returns the folder that files of ours are named by: of a skill page, the folder of skills. */
export function placeOf(file: string): string {
  return isSkillPage(file) ? dirname(dirname(file)) : dirname(file);
}

/** Returns whether a file of ours is a skill page: the others are hooks and plugins. */
export function isSkillPage(file: string): boolean {
  return file.endsWith(".md");
}

/** Removes files of ours, and the folders that nothing is in without them. */
export function removeFiles(paths: PathsWithRules, files: readonly string[]): void {
  removeWritten(paths, files);
  for (const file of files) removeOwnFolder(file);
}

/** Removes the folder of a file of ours, and a host's folder of skill pages, once nothing is in it. */
function removeOwnFolder(file: string): void {
  try {
    rmdirSync(dirname(file));
    if (isSkillPage(file)) rmdirSync(placeOf(file));
  } catch {
    // gone, or something else is in it
  }
}
