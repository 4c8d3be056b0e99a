import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunFlags, findRuntime, startDetached } from "../lib/base/runtime.ts";
import { write } from "./support/home.ts";
import { ROOT } from "./support/run.ts";

function machine(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "session-memory-runtime-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function program(file: string, output = ""): string {
  write(file, `#!/bin/sh\necho ${output}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("findRuntime() takes bun from PATH, then from the user's own folder, then from ours", () => {
  using place = machine();
  const root = join(place.path, "app");
  const home = join(place.path, "home");
  const onPath = program(join(place.path, "bin", "bun"));
  const ofUser = program(join(home, ".bun", "bin", "bun"));
  const ours = program(join(root, "node_modules", ".bin", "bun"));
  const find = (env: Record<string, string>) => findRuntime({ env, cwd: place.path, root });
  const flags = ["--no-env-file", "--no-install", `--config=${join(root, "bunfig.toml")}`];
  const cwd = join(place.path, "project");
  expect(findRuntime({ env: { PATH: join(place.path, "bin"), HOME: home }, cwd, root })).toEqual({
    name: "bun",
    command: onPath,
    flags,
  });
  expect(find({ PATH: "/nowhere", HOME: home })?.command).toBe(ofUser);
  expect(find({ HOME: join(place.path, "nobody") })?.command).toBe(ours);
});

test("findRuntime() takes nothing from the project folder, nor by a relative path", () => {
  using place = machine();
  const cwd = join(place.path, "project");
  const root = join(place.path, "app");
  program(join(cwd, "node_modules", ".bin", "bun"));
  program(join(cwd, "bun"));
  const env = { PATH: `${join(cwd, "node_modules", ".bin")}:.:node_modules/.bin`, HOME: place.path };
  expect(findRuntime({ env, cwd, root })).toBeUndefined();
});

test("findRuntime() takes nothing from a folder above that belongs to the same project", () => {
  using place = machine();
  const top = join(place.path, "project");
  const cwd = join(top, "packages", "app");
  write(join(top, ".git", "HEAD"), "ref: refs/heads/main\n");
  write(join(cwd, "package.json"), "{}");
  symlinkSync(join(top, "bin"), join(place.path, "link"));
  const folders = [
    join(top, "node_modules", ".bin"),
    join(place.path, "node_modules", ".bin"),
    join(top, "bin"),
    join(place.path, "link"),
  ];
  const root = join(place.path, "app");
  const find = (...path: string[]) =>
    findRuntime({ env: { PATH: path.join(":"), HOME: "/nobody" }, cwd, root })?.command;
  for (const folder of folders) program(join(folder, "bun"));
  expect(folders.map((folder) => find(folder))).toEqual(folders.map(() => undefined));
  const outside = program(join(place.path, "bin", "bun"));
  expect(find(...folders, join(place.path, "bin"))).toBe(outside);
});

test("findRuntime() takes a bun below the user's home where the agent works in the home itself", () => {
  using place = machine();
  write(join(place.path, ".git", "HEAD"), "ref: refs/heads/main\n");
  const bun = program(join(place.path, ".local", "bin", "bun"));
  const planted = program(join(place.path, "node_modules", ".bin", "bun"));
  const env = { PATH: [planted, bun].map((file) => join(file, "..")).join(":"), HOME: place.path };
  for (const cwd of [place.path, "/"]) {
    expect(findRuntime({ env, cwd, root: join(place.path, "app") })?.command).toBe(
      cwd === "/" ? planted : bun,
    );
  }
});

test("findRuntime() passes over what is no program", () => {
  using place = machine();
  const root = join(place.path, "app");
  write(join(place.path, "a", "bun"), "not executable");
  write(join(place.path, "b", "bun", "folder"), "");
  symlinkSync(join(place.path, "gone"), join(place.path, "bun"));
  const env = { PATH: ["a", "b", ""].map((folder) => join(place.path, folder)).join(":"), HOME: "/nobody" };
  expect(findRuntime({ env, cwd: "/project", root })).toBeUndefined();
});

test("findRuntime() without bun takes a node that strips types, else deno, but neither below a node_modules", () => {
  using place = machine();
  const root = join(place.path, "app");
  const bin = join(place.path, "bin");
  const env = { PATH: bin, HOME: "/nobody" };
  const find = (at = root) => findRuntime({ env, cwd: "/project", root: at });
  const deno = program(join(bin, "deno"));
  const node = program(join(bin, "node"), "v22.17.1");
  expect(find()).toEqual({ name: "deno", command: deno, flags: ["run", "-A", "--quiet"] });
  for (const version of ["v22.18.0", "v23.0.0", "v24.1.2"]) {
    program(node, version);
    expect(find()).toEqual({ name: "node", command: node, flags: [] });
  }
  program(node, "no version at all");
  expect(find()?.name).toBe("deno");
  expect(find(join(place.path, "node_modules", "session-memory"))).toBeUndefined();
});

test("startDetached() starts a script that sees the off switch, our folder and no project settings", async () => {
  using place = machine();
  const proof = join(place.path, "proof.json");
  write(join(place.path, "bunfig.toml"), "");
  write(join(place.path, ".env"), "PLANTED=1\n");
  write(
    join(place.path, "scripts", "work.ts"),
    `import { renameSync, writeFileSync } from "node:fs";
    const { SESSION_MEMORY_DISABLE, PLANTED, GIVEN } = process.env;
    const seen = { SESSION_MEMORY_DISABLE, PLANTED, GIVEN, args: process.argv.slice(2), cwd: process.cwd() };
    writeFileSync(${JSON.stringify(proof)} + ".part", JSON.stringify(seen));
    renameSync(${JSON.stringify(proof)} + ".part", ${JSON.stringify(proof)});`,
  );
  const runtime = { name: "bun", command: process.execPath, flags: bunFlags(place.path) } as const;
  const env = { PATH: process.env.PATH, HOME: place.path, GIVEN: "yes" };
  const options = { env, cwd: "/", root: place.path, runtime: { ...runtime, flags: [...runtime.flags] } };
  expect(startDetached("scripts/work.ts", ["--session", "a b"], options)).toBe(true);
  for (let i = 0; i < 200 && !existsSync(proof); i++) await Bun.sleep(25);
  expect(JSON.parse(readFileSync(proof, "utf8"))).toEqual({
    SESSION_MEMORY_DISABLE: "1",
    GIVEN: "yes",
    args: ["--session", "a b"],
    cwd: place.path,
  });
});

test("startDetached() outlives the process that asked, and does not hold it up", async () => {
  using place = machine();
  const proof = join(place.path, "proof");
  write(join(place.path, "bunfig.toml"), "");
  write(
    join(place.path, "work.ts"),
    `await Bun.sleep(400); require("node:fs").writeFileSync(${JSON.stringify(proof)}, String(process.ppid));`,
  );
  const asker = `import { startDetached } from ${JSON.stringify(join(ROOT, "lib/base/runtime.ts"))};
    console.log(startDetached("work.ts", [], { env: process.env, cwd: "/", root: ${JSON.stringify(place.path)} }));`;
  const env = { PATH: join(process.execPath, ".."), HOME: place.path };
  write(join(place.path, "ask.ts"), asker);
  symlinkSync(process.execPath, join(place.path, "bun"));
  const child = Bun.spawn([process.execPath, join(place.path, "ask.ts")], {
    env: { ...env, PATH: place.path },
  });
  expect(await new Response(child.stdout).text()).toBe("true\n");
  expect(await child.exited).toBe(0);
  expect(existsSync(proof)).toBe(false);
  for (let i = 0; i < 200 && !existsSync(proof); i++) await Bun.sleep(25);
  expect(Number(readFileSync(proof, "utf8"))).not.toBe(child.pid);
});

test("startDetached() says when there is nothing to run on, and survives a runtime that is gone", async () => {
  using place = machine();
  const root = join(place.path, "app");
  expect(startDetached("scripts/x.ts", [], { env: { HOME: "/nobody" }, cwd: "/", root })).toBe(false);
  const runtime = { name: "bun" as const, command: join(place.path, "gone"), flags: [] };
  expect(startDetached("scripts/x.ts", [], { env: {}, cwd: "/", root: place.path, runtime })).toBe(true);
  await Bun.sleep(50);
});
