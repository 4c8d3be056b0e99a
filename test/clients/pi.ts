/** Runs the real pi with this repository installed as a package, a home of its own and a model on loopback. */

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../support/run.ts";

export interface PiHome {
  root: string;
  project: string;
  agent: string;
  state: string;
  env: Record<string, string>;
  /** Writes our config.json. */
  configure(config: object): void;
  remove(): void;
}

export interface PiOptions {
  /** What runs pi: its command line up to pi's own arguments. */
  command: string[];
  url: string;
  /** Tokens of the model's context. @default {128000} */
  contextWindow?: number;
  /** pi's compaction settings. */
  compaction?: object;
  /** Whether `bun` is on PATH. @default {true} */
  bun?: boolean;
  /** Whether the package lies under a `node_modules`, where Node strips no types. @default {false} */
  underModules?: boolean;
  /** Whether that package has its build, as a published one has. @default {false} */
  isBuilt?: boolean;
}

/** A fresh home for pi; the package is installed by `pi install`. */
export async function piHome(options: PiOptions): Promise<PiHome> {
  const root = mkdtempSync(join(tmpdir(), "session-memory-pi-"));
  const [home, project, agent, bin, temporary] = ["home", "shop", "agent", "bin", "tmp"].map((name) =>
    join(root, name),
  ) as [string, string, string, string, string];
  for (const folder of [home, join(project, ".git"), agent, bin, temporary])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(project, ".git", "HEAD"), "ref: refs/heads/main\n");
  const hasBun = options.bun ?? true;
  if (hasBun) symlinkSync(process.execPath, join(bin, "bun"));
  else for (const name of ["sh", "bash", "git"]) symlinkSync(join("/usr/bin", name), join(bin, name));
  const model = {
    id: "fake-1",
    name: "Fake One",
    contextWindow: options.contextWindow ?? 128_000,
    maxTokens: 4096,
    cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
  };
  const compat = { supportsDeveloperRole: false, supportsReasoningEffort: false };
  const provider = {
    baseUrl: options.url,
    api: "openai-completions",
    apiKey: "sk-fake",
    compat,
    models: [model],
  };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { fake: provider } }));
  const settings = { defaultProvider: "fake", defaultModel: "fake-1", compaction: options.compaction ?? {} };
  writeFileSync(join(agent, "settings.json"), JSON.stringify(settings));
  const env = {
    // The machine may have a Bun of its own beside everything else.
    PATH: hasBun ? `${bin}:/usr/bin:/bin` : bin,
    HOME: home,
    // pi keeps there what it has transpiled.
    TMPDIR: temporary,
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: "1",
    PI_SKIP_VERSION_CHECK: "1",
    PI_TELEMETRY: "0",
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    TZ: "UTC",
  };
  const state = join(home, ".session-memory");
  const made: PiHome = {
    root,
    project,
    agent,
    state,
    env,
    configure(config) {
      mkdirSync(state, { recursive: true });
      writeFileSync(join(state, "config.json"), JSON.stringify(config));
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
  const installed = await runPi(options.command, made, [
    "install",
    options.underModules ? copyUnderModules(root, options.isBuilt ?? false) : ROOT,
  ]);
  if (installed.exitCode !== 0) throw new Error(`Cannot install the package into pi: ${installed.stderr}`);
  return made;
}

/** The package as an installer would lay it: a copy in a `node_modules`, with its dependencies. */
function copyUnderModules(root: string, isBuilt: boolean): string {
  const copy = join(root, "node_modules", "session-memory");
  for (const name of [
    "package.json",
    "bin",
    "bunfig.toml",
    "tsconfig.json",
    "hooks",
    "lib",
    "scripts",
    "skills",
  ]) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  if (isBuilt) {
    const compiler = join(ROOT, "test", "node_modules", ".bin", "tsc");
    const built = Bun.spawnSync([compiler, "-p", "tsconfig.build.json", "--outDir", join(copy, "dist")], {
      cwd: ROOT,
    });
    if (!built.success) throw new Error(`Cannot build the package: ${built.stdout}`);
  }
  return copy;
}

/** Runs pi to its end. */
export async function runPi(command: string[], home: PiHome, args: string[]) {
  const child = Bun.spawn([...command, ...args], {
    cwd: home.project,
    env: home.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

/** The entries of the newest session of pi. */
export function sessionEntries(home: PiHome): Record<string, unknown>[] {
  const folder = join(home.agent, "sessions");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  );
  const newest = files.toSorted().at(-1) ?? "";
  return readFileSync(join(folder, newest), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** A pi in RPC mode. */
export interface PiRpc {
  /** Sends a command and waits for its response. */
  call(command: object): Promise<{ success: boolean; data?: unknown; error?: string }>;
  /** Sends a prompt (or `/command`) and waits until pi has settled. */
  prompt(message: string): Promise<void>;
  /** Everything pi said besides responses. */
  events: Record<string, unknown>[];
  waitFor(
    what: string,
    matches: (event: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>>;
  end(): Promise<{ exitCode: number; stderr: string }>;
}

const WAIT_MS = 30_000;

/** Starts pi in RPC mode. */
export function startRpc(command: string[], home: PiHome, args: string[] = []): PiRpc {
  const child = Bun.spawn([...command, "--mode", "rpc", ...args], {
    cwd: home.project,
    env: home.env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const events: Record<string, unknown>[] = [];
  const waiting: {
    matches: (event: Record<string, unknown>) => boolean;
    resolve: (event: Record<string, unknown>) => void;
  }[] = [];
  const stderr = new Response(child.stderr).text();
  void (async () => {
    const decoder = new TextDecoder();
    let buffer = "";
    for await (const part of child.stdout) {
      buffer += decoder.decode(part, { stream: true });
      for (let end = buffer.indexOf("\n"); end !== -1; end = buffer.indexOf("\n")) {
        const line = buffer.slice(0, end);
        buffer = buffer.slice(end + 1);
        if (line.trim() === "") continue;
        const event = JSON.parse(line) as Record<string, unknown>;
        if (event.type !== "response") events.push(event);
        for (const waiter of [...waiting]) {
          if (!waiter.matches(event)) continue;
          waiting.splice(waiting.indexOf(waiter), 1);
          waiter.resolve(event);
        }
      }
    }
  })();
  const waitFor = (what: string, matches: (event: Record<string, unknown>) => boolean) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Waited in vain for ${what}`)), WAIT_MS);
      waiting.push({
        matches,
        resolve: (event) => {
          clearTimeout(timer);
          resolve(event);
        },
      });
    });
  let number = 0;
  const call: PiRpc["call"] = async (message) => {
    const id = `c${++number}`;
    const response = waitFor(
      `the response to ${JSON.stringify(message).slice(0, 80)}`,
      (event) => event.type === "response" && event.id === id,
    );
    child.stdin.write(`${JSON.stringify({ id, ...message })}\n`);
    child.stdin.flush();
    return (await response) as Awaited<ReturnType<PiRpc["call"]>>;
  };
  return {
    call,
    events,
    waitFor,
    async prompt(message) {
      const settled = message.startsWith("/")
        ? undefined
        : waitFor("agent_settled", ({ type }) => type === "agent_settled");
      const response = await call({ type: "prompt", message });
      if (!response.success) throw new Error(`pi refused the prompt: ${response.error}`);
      await settled;
    },
    async end() {
      child.stdin.end();
      return { exitCode: await child.exited, stderr: await stderr };
    },
  };
}
