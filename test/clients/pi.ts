/** The real pi with this repository installed as a package, in a home of its own and with a model on loopback. */

import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { write } from "../support/home.ts";
import { ROOT, runCommand } from "../support/run.ts";
import { type ClientHome, clientHome, succeeded } from "./client.ts";

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
export async function piHome(options: PiOptions): Promise<ClientHome> {
  const { bun = true, contextWindow = 128_000, compaction = {}, underModules = false } = options;
  const home = clientHome(
    { PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" },
    bun ? ["bun"] : ["sh", "bash", "git"],
  );
  // The machine may have a Bun of its own beside everything else.
  if (!bun) home.env.PATH = home.bin;
  // pi keeps there what it has transpiled.
  home.env.TMPDIR = join(home.root, "tmp");
  mkdirSync(home.env.TMPDIR);
  const model = {
    id: "fake-1",
    name: "Fake One",
    contextWindow,
    maxTokens: 4096,
    cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
  };
  const provider = {
    baseUrl: options.url,
    api: "openai-completions",
    apiKey: "sk-fake",
    compat: { supportsDeveloperRole: false, supportsReasoningEffort: false },
    models: [model],
  };
  write(join(home.paths.pi, "models.json"), JSON.stringify({ providers: { fake: provider } }));
  const settings = { defaultProvider: "fake", defaultModel: "fake-1", compaction };
  write(join(home.paths.pi, "settings.json"), JSON.stringify(settings));
  const source = underModules ? copyUnderModules(home.root, options.isBuilt ?? false) : ROOT;
  await runPi(options.command, home, "install", source);
  return home;
}

/** The package as an installer would lay it: a copy in a `node_modules`, with its dependencies. */
function copyUnderModules(root: string, isBuilt: boolean): string {
  const copy = join(root, "node_modules", "session-memory");
  const names = "package.json bin bunfig.toml tsconfig.json hooks lib scripts skills".split(" ");
  for (const name of names) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  if (isBuilt) {
    const built = Bun.spawnSync([process.execPath, "run", "--silent", "bundle"], { cwd: copy });
    if (!built.success) throw new Error(`Cannot build the package: ${built.stderr}`);
  }
  return copy;
}

/** Runs pi to its end, which must be a good one, and returns what it printed. */
export async function runPi(command: string[], home: ClientHome, ...args: string[]): Promise<string> {
  return succeeded(await runCommand([...command, ...args], { cwd: home.project, env: home.env }));
}

/** The entries of the newest session of pi. */
export function sessionEntries(home: ClientHome): Record<string, unknown>[] {
  const folder = join(home.paths.pi, "sessions");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const newest =
    files
      .filter((name) => name.endsWith(".jsonl"))
      .sort()
      .at(-1) ?? "";
  const lines = readFileSync(join(folder, newest), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

/** A pi in RPC mode. */
export interface PiRpc {
  /** Sends a command and waits for its response. */
  call(command: object): Promise<{ success: boolean; data?: unknown; error?: string }>;
  /** Sends a prompt (or `/command`) and waits until pi has settled. */
  prompt(message: string): Promise<void>;
  /** Everything pi said besides responses. */
  events: Record<string, unknown>[];
  /** Answers a question of the extension's with one of its choices. */
  answer(question: Record<string, unknown>, value: string): void;
  waitFor(
    what: string,
    matches: (event: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>>;
  end(): Promise<{ exitCode: number; stderr: string }>;
}

const WAIT_MS = 30_000;

/** Starts pi in RPC mode. */
export function startRpc(command: string[], home: ClientHome, args: string[] = []): PiRpc {
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
    answer({ id }, value) {
      child.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id, value })}\n`);
      child.stdin.flush();
    },
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
