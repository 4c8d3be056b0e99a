import { expect, test } from "bun:test";
import { errorKeys, errorLines, lineLike, lineWith, sameLine } from "../lib/transcripts/error-lines.ts";

const keyOf = (text: string, cwd?: string) => [...errorKeys(text, { cwd, hasFailed: true }).keys()];

test("a line is the same in another run: other places, folders, times and numbers of processes", () => {
  const pairs: [string, string][] = [
    [
      "/bin/bash: line 1: cd: src: No such file or directory",
      "sh: line 44: cd: src: No such file or directory",
    ],
    ["src/a.ts(16,40): error TS2305: no member 'x'.", 'lib/b.ts:3:1 - error TS2305: no member "x".'],
    ["process 38954 has no inspector at 0x7ffee12", "process 40211 has no inspector at 0x10ab34"],
    ["cp: /opt/a/lib/dark.json: No such file", "cp: /home/me/dark.json: No such file"],
    [
      "2026-02-12T10:30:05Z failed to bind the port after 12ms",
      "2026-03-01 09:00:00 failed to bind the port after 3.5 s",
    ],
    ["\x1b[31m✘\x1b[0m could not resolve it", "✘ could  not resolve it"],
    ["could not apply 48adfce9 to the tree", "could not apply 1b2c3d4e to the tree"],
  ];
  for (const [one, other] of pairs) expect(keyOf(one)).toEqual(keyOf(other));
  const branch = (name: string) =>
    keyOf(`fatal: The current branch ${name} has no upstream branch.`, `/srv/${name}`);
  expect(branch("shop-7")).toEqual(branch("shop-fum"));
});

test("a line is another when names, codes, ports or relative paths are others", () => {
  const pairs: [string, string][] = [
    ["Error: Cannot find module 'lodash'", "Error: Cannot find module 'express'"],
    ["connect ECONNREFUSED on port 127.0.0.1:5432", "connect ECONNREFUSED on port 127.0.0.1:6379"],
    ["cannot bind to port 50051 of it", "cannot bind to port 50052 of it"],
    ["Request failed with status code 404", "Request failed with status code 500"],
    ["error TS2304: Cannot find name x", "error TS2305: Cannot find name x"],
    ["cannot open ./src/a.ts to read", "cannot open ./lib/a.ts to read"],
  ];
  for (const [one, other] of pairs) expect(keyOf(one)).not.toEqual(keyOf(other));
});

test("only lines that name an error count, and all of a failure's where none does; too few words tell nothing", () => {
  const output = "Exit code 1\nfine line here\n===== FAIL =====\nError: no zebra here\n1 fail";
  expect(errorLines(output, { max: 9, orAll: true })).toEqual(["Error: no zebra here"]);
  expect(keyOf(output).length).toBe(1);
  const unnamed = "The following paths are ignored\npriv/static\n";
  expect(keyOf(unnamed).length).toBe(1);
  expect([...errorKeys(unnamed, { cwd: undefined, hasFailed: false })]).toEqual([]);
});

test("a directory's own name and folders are left out of a line", () => {
  expect(sameLine("Could not open /srv/shop/src/a.ts of shop", "/srv/shop")).toBe(
    "could not open src/a.ts of #",
  );
});

test("an error is searched without any path, number and quote, and then by most of its words", () => {
  const lines = "a\nTypeError: 'x' at 0xdeadbeef12 in /srv/a/b.ts line 40\nb";
  expect(lineWith(lines, 'TypeError: "x" at 0x12345678ab in C:\\c.ts line 7')).toBe(lines.split("\n")[1]);
  expect(
    lineWith("Error: /tmp/a1/x.txt is not an archive", "Error: /var/y.txt is not an archive"),
  ).toBeDefined();
  expect(lineWith(lines, "TypeError: 'y' at 0x12345678ab in b.ts")).toBeUndefined();
  expect(lineLike("fatal: branch a-1 has no upstream", "fatal: branch main has no upstream")).toBe(
    "fatal: branch a-1 has no upstream",
  );
  expect(lineLike("something else went well", "fatal: branch main has no upstream")).toBeUndefined();
});
