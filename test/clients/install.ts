/** Gets the real clients from the registry into a cache folder, never into the project's dependencies. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/run.ts";

const CACHE = process.env.SESSION_MEMORY_TEST_CACHE || join(ROOT, ".cache", "clients");

/** A client, in the version that its tests last passed with. */
export interface Client {
  name: string;
  /** The client's own version, which its package may count otherwise. @default it is in the name */
  version?: string;
  /** What npm installs, the client first, with versions. */
  packages: string[];
  /** The file that must be there afterwards, from the cache folder's `node_modules`. */
  file: string;
  /** Whether it is an old version that is still tested. @default {false} */
  isOld?: true;
}

const CLAUDE = `claude-agent-sdk-${process.platform}-${process.arch}`;

export const CLIENTS = {
  claude: {
    name: "Claude Code",
    version: "2.1.329",
    packages: ["@anthropic-ai/claude-agent-sdk@0.3.329"],
    file: `@anthropic-ai/${CLAUDE}/claude`,
  },
  claudeOld: {
    name: "Claude Code",
    version: "2.1.197",
    packages: ["@anthropic-ai/claude-code@2.1.197"],
    file: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
    isOld: true,
  },
  pi: {
    name: "pi",
    version: "1.5.2",
    packages: ["@earendil-works/pi-coding-agent@1.5.2"],
    file: "package/dist/bundle/cli.js",
  },
  piOld: {
    name: "pi",
    version: "0.87.1",
    packages: ["@earendil-works/pi-coding-agent@0.87.1", "node@22"],
    file: "@earendil-works/pi-coding-agent/package.json",
    isOld: true,
  },
  codex: {
    name: "Codex",
    version: "0.169.0",
    packages: ["@openai/codex@0.169.0"],
    file: ".bin/codex",
  },
  copilot: {
    name: "Copilot CLI",
    version: "1.0.102",
    packages: ["@github/copilot@1.0.102"],
    file: ".bin/copilot",
  },
  qwen: {
    name: "Qwen Code",
    version: "0.24.4",
    packages: ["@qwen-code/qwen-code@0.24.4", "node@22"],
    file: ".bin/qwen",
  },
  gemini: {
    name: "Gemini CLI",
    version: "0.61.0",
    packages: ["@google/gemini-cli@0.61.0"],
    file: ".bin/gemini",
  },
  opencode: {
    name: "opencode",
    version: "1.18.33",
    packages: ["opencode-ai@1.18.33"],
    file: ".bin/opencode",
  },
  kimi: {
    name: "Kimi Code 2.1.0",
    packages: ["@moonshot-ai/kimi-code@2.1.0", "node@22"],
    file: "@moonshot-ai/kimi-code/dist/main.mjs",
  },
} satisfies Record<string, Client>;

/** Returns what a client's tests are called by. */
export function nameOf({ name, version }: Client): string {
  return version === undefined ? name : `${name} ${version}`;
}

/** Returns the programs that were installed with a client for it to run on. */
export function runtimesOf(modules: string | undefined): string[] {
  const node = join(modules ?? "", "node", "bin", "node");
  return modules !== undefined && existsSync(node) ? [node] : [];
}

/** The client's `node_modules`, installed when it is not there yet; undefined (said on stderr) when it cannot be. */
export async function installed(client: Client): Promise<string | undefined> {
  const folder = join(CACHE, client.packages.join("+").replace(/[^\w.+-]/g, "_"));
  const modules = join(folder, "node_modules");
  if (existsSync(join(modules, client.file))) return modules;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private": true}\n');
  const install = [
    "npm",
    "install",
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    ...client.packages,
  ];
  if ((await run(install, folder)) && existsSync(join(modules, client.file))) return modules;
  const problem = `Cannot install ${nameOf(client)}: these tests did not run`;
  if (process.env.CI) throw new Error(problem);
  console.error(problem);
  return undefined;
}

/**
 * The command line of the newest pi, whose dependencies are not all on the registry: its bundle is unpacked and needs jiti
 * alone. Undefined (said on stderr) where that does not work.
 */
export async function unpackedPi(node: string): Promise<string[] | undefined> {
  const { packages, file, version } = CLIENTS.pi;
  const folder = join(CACHE, `pi-${version}`);
  const cli = join(folder, file);
  if (existsSync(cli) && existsSync(join(folder, "node_modules", "jiti"))) return [node, cli];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private": true}\n');
  const isThere =
    (await run(["npm", "pack", "--silent", ...packages], folder)) &&
    (await run(["sh", "-c", "tar xzf ./*.tgz"], folder)) &&
    (await run(["npm", "install", "--silent", "--no-save", "jiti@2.7.0"], folder)) &&
    (await run([node, cli, "--version"], folder));
  if (isThere) return [node, cli];
  console.error(`Cannot unpack ${nameOf(CLIENTS.pi)}: its tests did not run`);
  return undefined;
}

async function run(command: string[], cwd: string): Promise<boolean> {
  return (await Bun.spawn(command, { cwd, stdout: "ignore", stderr: "inherit" }).exited) === 0;
}

// Run by itself it gets them all, one after the other.
if (import.meta.main) {
  const { pi: _unpacked, ...packed } = CLIENTS;
  for (const client of Object.values(packed)) await installed(client);
  await unpackedPi(runtimesOf(await installed(CLIENTS.piOld))[0] ?? "node");
}
