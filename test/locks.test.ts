import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { lockHolder, tryLock, withLock } from "../lib/base/locks.ts";
import { temporaryHome } from "./support/home.ts";

function lockPath(): string {
  return join(temporaryHome().root, "work.lock");
}

/** What this process writes into a lock. */
function ownToken(): Record<string, unknown> {
  const path = lockPath();
  const release = tryLock(path);
  const token = JSON.parse(readFileSync(path, "utf8").replace(/^\d+ /, ""));
  release?.();
  return token;
}

function plant(path: string, changes: object, pid = process.pid): void {
  writeFileSync(path, `${pid} ${JSON.stringify({ ...ownToken(), pid, ...changes })}`);
}

function makeOld(path: string): void {
  const longAgo = new Date(Date.now() - 30 * 24 * 3_600_000);
  utimesSync(path, longAgo, longAgo);
}

/** The id of a process that has ended. */
async function endedPid(): Promise<number> {
  const child = Bun.spawn(["true"]);
  await child.exited;
  return child.pid;
}

function isFree(path: string): boolean {
  const release = tryLock(path);
  release?.();
  return release !== undefined;
}

test("a living process's lock never goes stale by age", async () => {
  const path = lockPath();
  const release = tryLock(path);
  makeOld(path);
  expect(isFree(path)).toBe(false);
  const error = await withLock(path, 20, () => {}).catch((error: Error) => error);
  expect(error).toMatchObject({
    type: "BUSY",
    message: `Cannot take lock "${path}": process ${process.pid} holds it`,
    hint: "wait for the other run to end",
  });
  release?.();
  expect([existsSync(path), isFree(path)]).toEqual([false, true]);
});

test("the lock of a process that was killed is taken over at once", async () => {
  const path = lockPath();
  const script = `
    import { tryLock } from ${JSON.stringify(join(import.meta.dir, "../lib/base/locks.ts"))};
    tryLock(${JSON.stringify(path)});
    console.log("held");
    setInterval(() => {}, 1000);`;
  const child = Bun.spawn(["bun", "-e", script], { stdout: "pipe" });
  await child.stdout.getReader().read();
  expect(isFree(path)).toBe(false);
  child.kill("SIGKILL");
  await child.exited;
  expect(isFree(path)).toBe(true);
});

test("a process id that was given to another process since is told by its start", () => {
  const path = lockPath();
  plant(path, { started: "1" });
  expect(isFree(path)).toBe(process.platform === "linux");
});

const elsewhere: [where: string, changes: object, holder: string][] = [
  ["another container", { namespace: "pid:[1]" }, "in another container"],
  ["another host", { host: "elsewhere", boot: "another boot" }, "on elsewhere"],
];

test.if(process.platform === "linux").each(elsewhere)(
  "a lock from %s is waited for, whatever runs here under its id and however old it is",
  async (_, changes, holder) => {
    const path = lockPath();
    const pid = await endedPid();
    plant(path, changes, pid);
    makeOld(path);
    expect(lockHolder(path)).toEqual({ who: `process ${pid} ${holder}`, isKnown: false });
    const error = await withLock(path, 20, () => {}).catch((error: Error) => error);
    expect(error).toMatchObject({
      message: `Cannot take lock "${path}": process ${pid} ${holder} holds it`,
      hint: `wait for it to end, or delete "${path}" if it is gone`,
    });
  },
);

test.if(process.platform === "linux")(
  "a lock from before this machine was started again is taken over",
  () => {
    const path = lockPath();
    plant(path, { boot: "an earlier boot" });
    expect(isFree(path)).toBe(true);
  },
);

test.each(["", "\0\0\0\0", "no id", '0 {"host":"desk","pid":0}'])(
  "a lock without an owner (%j) is left by a power cut: taken over",
  (text) => {
    const path = lockPath();
    writeFileSync(path, text);
    expect(isFree(path)).toBe(false);
    makeOld(path);
    expect(isFree(path)).toBe(true);
  },
);

test("a process that died while it broke a lock holds up nobody", async () => {
  const path = lockPath();
  for (const file of [path, `${path}.stale`, `${path}.stale.stale`]) plant(file, {}, await endedPid());
  expect([isFree(path), readdirSync(dirname(path)).filter((name) => name.includes("lock"))]).toEqual([
    true,
    [],
  ]);
});

test("eight processes over a dead one's lock take turns: no step is lost and no file is left", async () => {
  const { root } = temporaryHome();
  const [path, counter] = [join(root, "work.lock"), join(root, "counter")];
  plant(path, {}, await endedPid());
  writeFileSync(counter, "0");
  const script = `
    import { readFileSync, writeFileSync } from "node:fs";
    import { withLock } from ${JSON.stringify(join(import.meta.dir, "../lib/base/locks.ts"))};
    for (let i = 0; i < 20; i++) {
      await withLock(${JSON.stringify(path)}, 30_000, () => {
        writeFileSync(${JSON.stringify(counter)}, String(Number(readFileSync(${JSON.stringify(counter)}, "utf8")) + 1));
      });
    }`;
  const runs = Array.from({ length: 8 }, () => Bun.spawn(["bun", "-e", script]));
  expect(await Promise.all(runs.map((run) => run.exited))).toEqual(new Array(8).fill(0));
  expect([readFileSync(counter, "utf8"), readdirSync(root).sort()]).toEqual([
    "160",
    expect.not.arrayContaining([expect.stringMatching(/lock|stale|tmp/)]),
  ]);
});
