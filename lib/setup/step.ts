/** Steps of setup: the run that asks for them, the line that shows each, and the hosts' own commands. */

import type { SpawnSyncReturns } from "node:child_process";
import { trustedPath } from "../base/runtime.ts";
import { quoted } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";

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
export interface Setup extends Config {
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
}

/** A thing to do: a command of a host's, or a change to files. */
export interface Step {
  /** The name of the host that it is for. */
  host: string;
  line: string;
  run: () => unknown;
}

export function stepIn(host: string, what: string, run: Step["run"]): Step {
  return { host, line: `${what}   # ${host}`, run };
}

/** A host's command that takes longer hangs. */
const COMMAND_TIMEOUT_MS = 60_000;

/** Returns the steps that run the hosts' own commands; one that fails or hangs is named. */
export function commandSteps(setup: Setup): Step[] {
  return setup.report.commands.map((command) => {
    const step = stepIn(command.host, command.command.map(quoted).join(" "), async () => {
      const { status, error } = await setup.start(command.command, {
        stdout: setup.values.json ? 2 : "inherit",
        env: { ...process.env, PATH: trustedPath(setup) },
        timeout: COMMAND_TIMEOUT_MS,
      });
      command.ok = status === 0;
      if (command.ok) return;
      const isHung = error && "code" in error && error.code === "ETIMEDOUT";
      setup.say(`${isHung ? `gave up after ${COMMAND_TIMEOUT_MS / 1000} s` : "failed"}: ${step.line}`);
      process.exitCode = 1;
    });
    return step;
  });
}

/** Returns a list beneath its title; nothing of an empty one. */
export function formatList(title: string, items: readonly string[]): string[] {
  return items.length > 0 ? [title, ...items.map((item) => `  ${item}`)] : [];
}
