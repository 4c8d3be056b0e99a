/** bin/session-memory: the runtime it starts us on, what of a project folder it keeps out, and what it says by itself. */

import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { truncate } from "../lib/base/text.ts";
import { claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { BUN_PATH, HOOKS, ROOT, runCommand, starting } from "./support/run.ts";

const STARTER = join(ROOT, "bin", "session-memory");
const SCRIPTS = readdirSync(join(ROOT, "scripts")).map((file) => basename(file, ".ts"));
const PACKAGE = ["bin", "scripts", "lib", "hooks", "package.json", "bunfig.toml", "tsconfig.json"];

const home = temporaryHome();
afterAll(() => home.remove());

function call(args: string[], command = starting("").slice(0, 2)) {
  return runCommand([...command, ...args], { env: home.env, cwd: home.project });
}

describe("the runtime", () => {
  /** A program that prints its own name and arguments. */
  function program(path: string, version = ""): string {
    write(path, `#!/bin/sh\n[ "$1" = --version ] && echo ${version} && exit\necho "$0" "$@"\n`);
    chmodSync(path, 0o755);
    return path;
  }

  interface Start {
    /** Folders of PATH, beside one with the few tools of a system without any runtime. */
    folders?: string[];
    cwd?: string;
    env?: Record<string, string>;
    starter?: string;
  }

  function start(place: TemporaryHome, name: string, { folders = [], cwd, env, starter }: Start = {}) {
    const system = join(place.root, "system");
    mkdirSync(system, { recursive: true });
    for (const tool of ["sh", "mkdir", "readlink"])
      if (!existsSync(join(system, tool))) symlinkSync(Bun.which(tool) ?? "", join(system, tool));
    return runCommand(["/bin/sh", starter ?? STARTER, name], {
      cwd: cwd ?? place.project,
      env: { HOME: join(place.root, "user"), PATH: [...folders, system].join(":"), ...env },
    });
  }

  test("is Bun with nothing of the current directory: the installed one, else of PATH, else in ~/.bun", async () => {
    using place = temporaryHome();
    const user = join(place.root, "user");
    const own = program(join(user, ".local", "share", "session-memory", "runtime", "bun"));
    const moved = program(join(place.root, "data", "session-memory", "runtime", "bun"));
    const onPath = program(join(place.root, "bin", "bun"));
    const ofUser = program(join(user, ".bun", "bin", "bun"));
    const flags = `--no-env-file --no-install --config=${ROOT}/bunfig.toml --tsconfig-override=${ROOT}/tsconfig.json`;
    const folders = [join(place.root, "bin")];
    const found = async (options: Start) => (await start(place, "stop", options)).stdout;
    const line = (bun: string) => `${bun} ${flags} ${ROOT}/hooks/event.ts stop\n`;
    expect(await found({ folders })).toBe(line(own));
    expect(await found({ folders, env: { XDG_DATA_HOME: join(place.root, "data") } })).toBe(line(moved));
    rmSync(own);
    expect(await found({ folders })).toBe(line(onPath));
    expect(await found({})).toBe(line(ofUser));
    // every command gets the flags that keep the current directory out
    for (const [folder, names] of [
      ["scripts", SCRIPTS],
      ["hooks", ["background"]],
    ] as const)
      for (const name of names)
        expect((await start(place, name)).stdout).toBe(`${ofUser} ${flags} ${ROOT}/${folder}/${name}.ts\n`);
    for (const name of HOOKS)
      expect((await start(place, name)).stdout).toBe(`${ofUser} ${flags} ${ROOT}/hooks/event.ts ${name}\n`);
  });

  test("is never one of the project's, however its folder is written", async () => {
    using place = temporaryHome();
    const top = join(place.root, "monorepo");
    const cwd = join(top, "packages", "app");
    write(join(top, ".git", "HEAD"), "ref: refs/heads/main\n");
    mkdirSync(cwd, { recursive: true });
    symlinkSync(top, join(place.root, "link"));
    const planted = [
      join(top, "bin"),
      join(top, "node_modules", ".bin"),
      join(place.root, "node_modules", ".bin"),
      join(cwd, "node_modules", ".bin"),
    ];
    for (const folder of planted) program(join(folder, "bun"));
    symlinkSync("/usr/bin", join(top, "tools"));
    const outside = program(join(place.root, "outside", "bun"));
    const written = [
      ...planted,
      "node_modules/.bin",
      ".",
      `${top}/./bin`,
      `${top}//bin/`,
      `${top}/packages/../bin`,
      `${place.root}/outside/../monorepo/bin`,
      join(place.root, "link", "bin"),
      `${place.root}/link/packages/..//bin`,
      join(top, "tools"),
    ];
    for (const folder of written) {
      const folders = [folder, join(place.root, "outside")];
      for (const options of [{ cwd }, { cwd: "/", env: { CLAUDE_PROJECT_DIR: cwd } }]) {
        const { stdout } = await start(place, "stop", { folders, ...options });
        expect([folder, stdout.split(" ")[0]]).toEqual([folder, outside]);
      }
    }
  });

  test("is none of the project's in a folder that was removed meanwhile, nor of one that names a removed folder", async () => {
    using place = temporaryHome();
    const top = join(place.root, "monorepo");
    const gone = join(top, "packages", "gone");
    write(join(top, ".git", "HEAD"), "ref: refs/heads/main\n");
    program(join(top, "bin", "bun"));
    const outside = program(join(place.root, "outside", "bun"));
    const folders = [join(top, "bin"), join(place.root, "outside")];
    const PATH = [...folders, "/usr/bin", "/bin"].join(":");
    const env = { HOME: join(place.root, "user"), PATH };
    const inside = 'mkdir -p "$1" && cd "$1" && rm -r "$1" && exec /bin/sh "$0" --runtime';
    const from = await runCommand(["/bin/sh", "-c", inside, STARTER, gone], { env, cwd: place.root });
    expect(from.stdout).toBe(`bun ${outside}\n`);
    const named = { folders, cwd: "/", env: { CLAUDE_PROJECT_DIR: gone } };
    expect((await start(place, "--runtime", named)).stdout).toBe(`bun ${outside}\n`);
  });

  test("may lie below the user's home where the agent works in the home itself", async () => {
    using place = temporaryHome();
    const user = join(place.root, "user");
    write(join(user, ".git", "HEAD"), "ref: refs/heads/main\n");
    const planted = program(join(user, "node_modules", ".bin", "bun"));
    const own = program(join(user, "bin", "bun"));
    const folders = [planted, own].map((file) => join(file, ".."));
    expect((await start(place, "stop", { folders, cwd: user })).stdout).toStartWith(`${own} `);
  });

  test("is Node from 22.18 on without Bun, on the build where there is one, and the build alone below a node_modules", async () => {
    using place = temporaryHome();
    const folders = [join(place.root, "bin")];
    const node = program(join(place.root, "bin", "node"), "v22.18.0");
    const root = join(place.root, "node_modules", "session-memory");
    const starter = join(root, "bin", "session-memory");
    write(starter, readFileSync(STARTER, "utf8"));
    write(join(root, "hooks", "event.ts"), "");
    expect((await start(place, "stop", { folders, starter })).stdout).toBe("");
    write(join(root, "dist", "hooks", "event.js"), "");
    expect((await start(place, "stop", { folders, starter })).stdout).toBe(
      `${node} ${root}/dist/hooks/event.js stop\n`,
    );
    for (const [version, isTaken] of Object.entries({
      "v22.17.1": false,
      "v22.18.0": true,
      "v24.1.2": true,
      "v20.20.2": false,
      nonsense: false,
    })) {
      program(node, version);
      const { stdout } = await start(place, "--runtime", { folders });
      expect([version, stdout]).toEqual([version, isTaken ? `node ${node}\n` : ""]);
    }
    const deno = program(join(place.root, "bin", "deno"));
    expect((await start(place, "--runtime", { folders })).stdout).toBe(`deno ${deno}\n`);
  });

  test("is missed by hooks once, at a session's start, and by scripts each time", async () => {
    using place = temporaryHome();
    const silent = { stdout: "", stderr: "", exitCode: 0 };
    expect(await start(place, "user-prompt-submit")).toEqual(silent);
    const { stdout, ...rest } = await start(place, "session-start");
    expect([JSON.parse(stdout), rest]).toEqual([
      {
        systemMessage:
          "session-memory does nothing yet: it needs Bun, or Node 22.18 or later (npm install -g bun)",
      },
      { stderr: "", exitCode: 0 },
    ]);
    expect(await start(place, "session-start")).toEqual(silent);
    const refused = async (found: string, options?: Start) =>
      expect(await start(place, "search", options)).toEqual({
        stdout: "",
        stderr: `error: Cannot start session-memory: found no Bun, and ${found}: it needs Bun, or Node 22.18 or later\nhint: npm install -g bun\n`,
        exitCode: 1,
      });
    await refused("no Node");
    const node = (version: string) => [dirname(program(join(place.root, version, "node"), version))];
    await refused("Node 20.11.1, which is too old", { folders: node("v20.11.1") });
    const starter = join(place.root, "node_modules", "session-memory", "bin", "session-memory");
    mkdirSync(dirname(starter), { recursive: true });
    cpSync(STARTER, starter);
    cpSync(join(ROOT, "scripts"), join(dirname(starter), "..", "scripts"), { recursive: true });
    const below = "Node 24.1.0, which runs no TypeScript below a node_modules";
    await refused(below, { folders: node("v24.1.0"), starter });
  });
});

describe("a project folder's preload, path maps, .env and packages run and steer nothing", () => {
  /** A project whose every way in writes a file. */
  function hostile(place: TemporaryHome): { proof: string; folders: string[] } {
    const proof = join(place.root, "proof");
    const evil = `require("node:fs").appendFileSync(${JSON.stringify(proof)}, import.meta.path + "\\n");\n`;
    const sub = join(place.project, "packages", "app");
    for (const folder of [place.project, sub]) {
      write(join(folder, "evil.ts"), evil);
      write(join(folder, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
      const compilerOptions = { baseUrl: ".", paths: { "*": ["./evil.ts"] } };
      const name = folder === sub ? "jsconfig.json" : "tsconfig.json";
      write(join(folder, name), JSON.stringify({ compilerOptions }));
      write(join(folder, ".env"), `SESSION_MEMORY_HOME=${proof}\nBUN_OPTIONS=--preload=./evil.ts\n`);
      for (const name of ["zod", "openai", "pg", "sqlite-vec"])
        write(join(folder, "node_modules", name, "index.js"), evil);
    }
    return { proof, folders: [place.project, sub] };
  }

  test.each([
    ["root", "clone"],
    ["sub-folder", "node_modules"],
  ])(
    "for a script, a hook and a job of ours, started from its %s, in a %s",
    async (from, where) => {
      using place = temporaryHome();
      const { proof, folders } = hostile(place);
      const root = where === "clone" ? ROOT : join(place.project, "node_modules", "session-memory");
      if (root !== ROOT) {
        for (const name of PACKAGE) cpSync(join(ROOT, name), join(root, name), { recursive: true });
        symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
      }
      place.configure({});
      const file = writeClaude(place, { rows: [claudeUser({ text: "hello", cwd: place.project })] });
      const stdin = JSON.stringify({
        ...{ session_id: "11111111-2222-4333-8444-555555555555", transcript_path: file },
        ...{ cwd: place.project, prompt: "as in @@last", source: "startup" },
      });
      const entries = [
        ["user-prompt-submit"],
        ["search", "hello"],
        ["background", "--session", "x", "--file", file, "--cwd", place.project],
      ];
      const cwd = folders[from === "root" ? 0 : 1] ?? "";
      const env = { ...place.env, PATH: BUN_PATH };
      for (const entry of entries) {
        const command = ["/bin/sh", join(root, "bin", "session-memory"), ...entry];
        const { stderr } = await runCommand(command, { cwd, env, stdin });
        const ran = existsSync(proof) ? readFileSync(proof, "utf8") : "";
        expect([entry, ran, stderr.includes("ignored from")]).toEqual([entry, "", false]);
      }
    },
    60_000,
  );

  test("and no other file of the package names Bun's flags", async () => {
    const { stdout } = await runCommand(["git", "ls-files"], { cwd: ROOT });
    const files = stdout
      .trimEnd()
      .split("\n")
      .filter((file) => !/^(?:test\/|CHANGELOG|biome)/.test(file));
    const naming = files.filter(
      (file) =>
        existsSync(join(ROOT, file)) &&
        /--no-env-file|--tsconfig-override|--no-install/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(naming).toEqual(["bin/session-memory"]);
  });
});

describe("session-memory", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

  test("alone lists every script with what it does", async () => {
    const { stdout, exitCode } = await call([]);
    const listed = stdout.split("\n").flatMap((line) => /^ {2}([a-z-]+) +[A-Z]/.exec(line)?.[1] ?? []);
    expect([listed, exitCode]).toEqual([SCRIPTS.toSorted(), 0]);
    const list = stdout.split("\n").filter((line) => line.startsWith("  "));
    expect(list.filter((line) => line.length > 80)).toEqual([]);
    expect(await call(["--help"])).toEqual(await call([]));
  });

  test("--version prints the package's version", async () => {
    expect(await call(["--version"])).toEqual({ stdout: `${version}\n`, stderr: "", exitCode: 0 });
  });

  test.each([
    ["serach", "did you mean session-memory search?"],
    ["reader", "did you mean session-memory session-reader?"],
    ["uninstall", "did you mean session-memory setup --remove?"],
    ["x".repeat(500), "session-memory alone lists the scripts"],
    ["../scripts/search", "session-memory alone lists the scripts"],
  ])("%p is wrong usage, with the nearest name and no more than 200 characters of it", async (name, hint) => {
    const env = { ...home.env, PATH: `${join(ROOT, "bin")}:${home.env.PATH}` };
    expect(await runCommand(["session-memory", name], { env, cwd: home.project })).toEqual({
      stdout: "",
      stderr: `error: Cannot run "${truncate(name, 200)}": there is no such script\nhint: ${hint}\n`,
      exitCode: 2,
    });
  });

  test("index and chunk are embed", async () => {
    for (const name of ["index", "chunk"])
      expect((await call([name, "--help"])).stdout).toStartWith(`Usage: sh ${STARTER} embed `);
    const env = { ...home.env, PATH: `${join(ROOT, "bin")}:${home.env.PATH}` };
    const onPath = await runCommand(["session-memory", "search", "--help"], { env, cwd: home.project });
    expect(onPath.stdout).toMatch(/^Usage: session-memory search [\s\S]*\n {2}session-memory search /);
  });

  test("names its remedies in the form it was called in", async () => {
    using own = temporaryHome();
    writeClaude(own, { rows: [claudeUser({ text: "hello" })] });
    const remedy = async (command: string[], more: Record<string, string> = {}) => {
      const env = { ...own.env, ...more };
      const { stdout } = await runCommand(command, { env, cwd: own.project });
      return /nothing is indexed yet · run (.*)/.exec(stdout)?.[1];
    };
    const onPath = { PATH: `${join(ROOT, "bin")}:${own.env.PATH}` };
    expect(await remedy(["session-memory", "health"], onPath)).toBe("session-memory embed");
    expect(await remedy(["sh", STARTER, "health"])).toBe(`sh ${STARTER} embed`);
    const script = ["bun", join(ROOT, "scripts", "health.ts")];
    expect(await remedy(script)).toBe(`bun ${ROOT}/scripts/embed.ts`);
  });

  test("runs through links, as package managers make them, absolute and relative", async () => {
    const bin = join(home.root, "bin");
    mkdirSync(bin);
    symlinkSync(STARTER, join(bin, "first"));
    symlinkSync("first", join(bin, "session-memory"));
    const env = { ...home.env, PATH: BUN_PATH };
    const { stdout } = await runCommand([join(bin, "session-memory"), "--version"], {
      env,
      cwd: home.project,
    });
    expect(stdout).toBe(`${version}\n`);
    const here = await runCommand(["sh", "session-memory", "--version"], { env, cwd: join(ROOT, "bin") });
    expect(here.stdout).toBe(`${version}\n`);
    for (const link of ["first", "session-memory", "./session-memory"])
      expect([link, await runCommand(["sh", link, "--version"], { env, cwd: bin })]).toEqual([
        link,
        { stdout: `${version}\n`, stderr: "", exitCode: 0 },
      ]);
  });
});
