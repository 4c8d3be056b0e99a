import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram, findRuntime, startDetached, trustedPath } from "../lib/base/runtime.ts";
import { eventually } from "./support/eventually.ts";
import { write } from "./support/home.ts";
import { BUN_PATH, ROOT } from "./support/run.ts";

/** A machine with our package on it and Bun on PATH. */
function machine() {
  const path = mkdtempSync(join(tmpdir(), "session-memory-runtime-"));
  const root = join(path, "app");
  mkdirSync(join(root, "scripts"), { recursive: true });
  for (const file of ["bin/session-memory", "lib/base/runtime.ts", "bunfig.toml", "tsconfig.json"])
    cpSync(join(ROOT, file), join(root, file), { recursive: true });
  const env = { PATH: BUN_PATH, HOME: join(path, "user") };
  return { path, root, env, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

test("findRuntime() names what the starter finds, and nothing where it finds nothing", () => {
  using place = machine();
  const find = (env: Record<string, string>) => findRuntime({ env, cwd: place.path });
  expect(find(place.env)).toEqual({ name: "bun", command: join(BUN_PATH, "bun") });
  expect(find({ ...place.env, PATH: "/nowhere" })).toBeUndefined();
});

test("findProgram() finds what a shell would, in absolute folders of PATH, and nothing that cannot run", () => {
  using place = machine();
  write(join(place.path, "a", "sh"), "not executable");
  write(join(place.path, "b", "sh", "folder"), "");
  const path = [join(place.path, "a"), join(place.path, "b"), "bin", "", "/bin"].join(":");
  expect([findProgram("sh", path), findProgram("none", path)]).toEqual(["/bin/sh", undefined]);
});

test("trustedPath() leaves the project's folders out of PATH, as the starter does, and relative ones", () => {
  using place = machine();
  const cwd = join(place.path, "shop", "app");
  write(join(place.path, "shop", ".git", "HEAD"), "");
  const own = [join(place.path, "b in"), "/usr/bin"];
  for (const folder of [...own.slice(0, 1), join(cwd, ".venv/bin"), join(place.path, "shop/bin")])
    mkdirSync(folder, { recursive: true });
  const PATH = [`${cwd}/.venv/bin`, ".", "", own[0], "node_modules/.bin", `${cwd}/../bin`, own[1]].join(":");
  expect(trustedPath({ env: { ...place.env, PATH }, cwd })).toBe(own.join(":"));
  expect(trustedPath({ env: {}, cwd })).not.toContain("shop");
});

test("startDetached() starts a program that sees the off switch, outlives its caller and does not hold it up", async () => {
  using place = machine();
  const [proof, go] = [join(place.path, "proof.json"), join(place.path, "go")];
  write(
    join(place.root, "hooks", "background.ts"),
    `import { existsSync, renameSync, writeFileSync } from "node:fs";
    const { SESSION_MEMORY_DISABLE, GIVEN } = process.env;
    const seen = { SESSION_MEMORY_DISABLE, GIVEN, args: process.argv.slice(2), cwd: process.cwd() };
    for (let i = 0; i < 800 && !existsSync(${JSON.stringify(go)}); i++) await Bun.sleep(25);
    writeFileSync(${JSON.stringify(proof)} + ".part", JSON.stringify(seen));
    renameSync(${JSON.stringify(proof)} + ".part", ${JSON.stringify(proof)});`,
  );
  const options = { env: { ...place.env, GIVEN: "yes" }, cwd: place.path };
  write(
    join(place.path, "ask.ts"),
    `import { startDetached } from ${JSON.stringify(join(place.root, "lib/base/runtime.ts"))};
    startDetached("background", ["--session", "a b"], ${JSON.stringify(options)});`,
  );
  expect(await Bun.spawn([process.execPath, join(place.path, "ask.ts")]).exited).toBe(0);
  expect(existsSync(proof)).toBe(false);
  write(go, "");
  await eventually("what the program saw", () => existsSync(proof));
  expect(JSON.parse(readFileSync(proof, "utf8"))).toEqual({
    SESSION_MEMORY_DISABLE: "1",
    GIVEN: "yes",
    args: ["--session", "a b"],
    cwd: place.path,
  });
});

test("startDetached() survives a project folder that is gone, and a machine without a runtime", () => {
  using place = machine();
  const cwd = join(place.path, "gone");
  for (const PATH of [BUN_PATH, "/nowhere"])
    expect(() => startDetached("none", [], { env: { ...place.env, PATH }, cwd })).not.toThrow();
});
