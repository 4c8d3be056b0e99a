/** Gets the real clients from the registry into a cache folder, never into the project's dependencies. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/run.ts";

const CACHE = process.env.SESSION_MEMORY_TEST_CACHE || join(ROOT, ".cache", "clients");

export interface Client {
  name: string;
  /** What npm installs. */
  packages: string[];
  /** The file that must be there afterwards, from the cache folder's `node_modules`. */
  file: string;
}

export const CLIENTS = {
  claude: {
    name: "Claude Code 2.1.329",
    packages: ["@anthropic-ai/claude-agent-sdk@0.3.329"],
    file: `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
  },
  claudeOld: {
    name: "Claude Code 2.1.197",
    packages: ["@anthropic-ai/claude-code@2.1.197"],
    file: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  },
  pi: {
    name: "pi 0.87.1",
    packages: ["@earendil-works/pi-coding-agent@0.87.1", "node@22"],
    file: "@earendil-works/pi-coding-agent/package.json",
  },
  codex: {
    name: "Codex 0.169.0",
    packages: ["@openai/codex@0.169.0"],
    file: ".bin/codex",
  },
  copilot: {
    name: "Copilot CLI 1.0.102",
    packages: ["@github/copilot@1.0.102"],
    file: ".bin/copilot",
  },
  qwen: {
    name: "Qwen Code 0.15.10",
    packages: ["@qwen-code/qwen-code@0.15.10"],
    file: ".bin/qwen",
  },
  gemini: {
    name: "Gemini CLI 0.61.0",
    packages: ["@google/gemini-cli@0.61.0"],
    file: ".bin/gemini",
  },
  opencode: {
    name: "opencode 1.18.33",
    packages: ["opencode-ai@1.18.33"],
    file: ".bin/opencode",
  },
  kimi: {
    name: "Kimi Code 2.1.0",
    packages: ["@moonshot-ai/kimi-code@2.1.0", "node@22"],
    file: "@moonshot-ai/kimi-code/dist/main.mjs",
  },
} satisfies Record<string, Client>;

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
  const problem = `Cannot install ${client.name}: these tests did not run`;
  if (process.env.CI) throw new Error(problem);
  console.error(problem);
  return undefined;
}

const PI_NEW = "@earendil-works/pi-coding-agent@1.5.2";

/**
 * The command line of pi 1.5.2, whose dependencies are not all on the registry: its bundle is unpacked and needs jiti
 * alone. Undefined (said on stderr) where that does not work.
 */
export async function unpackedPi(node: string): Promise<string[] | undefined> {
  const folder = join(CACHE, "pi-1.5.2");
  const cli = join(folder, "package", "dist", "bundle", "cli.js");
  if (existsSync(cli) && existsSync(join(folder, "node_modules", "jiti"))) return [node, cli];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private": true}\n');
  const isThere =
    (await run(["npm", "pack", "--silent", PI_NEW], folder)) &&
    (await run(["sh", "-c", "tar xzf ./*.tgz"], folder)) &&
    (await run(["npm", "install", "--silent", "--no-save", "jiti@2.7.0"], folder)) &&
    (await run([node, cli, "--version"], folder));
  if (isThere) return [node, cli];
  console.error("Cannot unpack pi 1.5.2: its tests did not run");
  return undefined;
}

async function run(command: string[], cwd: string): Promise<boolean> {
  return (await Bun.spawn(command, { cwd, stdout: "ignore", stderr: "inherit" }).exited) === 0;
}
