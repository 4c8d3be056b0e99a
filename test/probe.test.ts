import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesOf, readText } from "../lib/base/files.ts";
import { temporaryHome } from "./support/home.ts";

test("readText() reads regular files of at most 1 MiB, through links too, and nothing else", () => {
  using home = temporaryHome();
  const path = (name: string) => join(home.root, name);
  writeFileSync(path("text"), "naïve\n");
  symlinkSync(path("text"), path("link"));
  writeFileSync(path("large"), "x");
  truncateSync(path("large"), 1024 * 1024 + 1);
  execFileSync("mkfifo", [path("pipe")]);
  symlinkSync("/dev/zero", path("endless"));
  symlinkSync(path("loop"), path("loop"));
  mkdirSync(path("folder"));
  expect([readText(path("text")), readText(path("link"))]).toEqual(["naïve\n", "naïve\n"]);
  for (const name of ["large", "pipe", "endless", "loop", "folder", "missing", "text/below"]) {
    expect([name, readText(path(name)), bytesOf(path(name))]).toEqual([name, "", undefined]);
  }
});
