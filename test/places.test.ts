import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { encodeClaudeCwd } from "../lib/hosts/claude.ts";
import { findTranscripts } from "../lib/sessions/found.ts";
import { recentTranscripts, type TranscriptFile } from "../lib/sessions/places.ts";
import { CLAUDE_SESSION } from "./support/claude.ts";
import { homePerTest, type TemporaryHome, testPaths, write, writeClaude, writePi } from "./support/home.ts";
import { PI_SESSION } from "./support/pi.ts";
import { uuidFrom } from "./support/rows.ts";

const home = homePerTest();

/** Nothing here is opened, so any text will do. */
const ROWS = "{}\n";

function found(home: TemporaryHome, options: Parameters<typeof findTranscripts>[1] = {}): string[] {
  return [...findTranscripts(home.paths, { cwd: home.root, ...options })].map(shown).sort();
}

function shown({ agent, id, parentId, name, file }: TranscriptFile): string {
  return [agent ?? "?", id ?? file.split("/").pop(), parentId && `of ${parentId}`, name]
    .filter(Boolean)
    .join(" ");
}

const CLAUDE_FOLDERS = [
  ["/home/dev/shop", "-home-dev-shop"],
  ["/home/dev/my.shop_v2 (old)", "-home-dev-my-shop-v2--old-"],
  ["/Users/Ann/Größe", "-Users-Ann-Gr--e"],
  ["/home/dev/日本", "-home-dev---"],
  ["C:\\work\\shop", "C--work-shop"],
  [`/${"a".repeat(199)}`, `-${"a".repeat(199)}`],
  [`/${"a".repeat(200)}`, `-${"a".repeat(199)}-b6ymvl`],
  [`/home/dev/${"日本語/".repeat(60)}`, `-home-dev-${"-".repeat(190)}-6vkpxh`],
] as const;

test("encodeClaudeCwd() gives Claude Code's own folder names", () => {
  const names = CLAUDE_FOLDERS.map(([directory]) => [directory, encodeClaudeCwd(directory)]);
  expect(names).toEqual(CLAUDE_FOLDERS.map((pair) => [...pair]));
});

test("findTranscripts() finds pi sessions that were told to lie elsewhere, flat", () => {
  const flat = join(home.root, "flat");
  const paths = testPaths({ ...home.env, PI_CODING_AGENT_SESSION_DIR: flat });
  write(join(flat, "2026-02-03T14-30-00-000Z_release.2_b.jsonl"), ROWS);
  expect([...findTranscripts(paths, { cwd: home.root })].map(shown)).toEqual(["pi release.2_b"]);
});

test("findTranscripts() names subagents' parents, and leaves out the summariser's own logs", () => {
  writeClaude(home, { rows: ROWS });
  for (const id of ["agent-a1", "agent-acompact-b2"]) {
    writeClaude(home, { id, parentId: CLAUDE_SESSION, rows: ROWS });
    writeClaude(home, { id: `${id}-flat`, rows: ROWS });
  }
  const folder = join(writeClaude(home, { id: "agent-x", parentId: CLAUDE_SESSION, rows: ROWS }), "..");
  write(join(folder, "workflows", "wf_1", "agent-c3.jsonl"), ROWS);
  write(join(folder, "workflows", "wf_1", "journal.jsonl"), ROWS);
  write(join(folder, "..", "tool-results", "out.jsonl"), ROWS);
  expect(found(home)).toEqual([`claude ${CLAUDE_SESSION}`]);
  expect(found(home, { subagents: true })).toEqual(
    [
      `claude ${CLAUDE_SESSION}`,
      `claude agent-a1 of ${CLAUDE_SESSION}`,
      `claude agent-x of ${CLAUDE_SESSION}`,
      `claude agent-c3 of ${CLAUDE_SESSION}`,
      "claude agent-a1-flat",
    ].sort(),
  );
});

test("findTranscripts() passes over what is no transcript: other suffixes, folders with the suffix, symlinks", () => {
  const file = writeClaude(home, { rows: ROWS });
  const folder = join(file, "..");
  for (const name of ["notes.md", "x.jsonl.bak", "x.JSONL", ".jsonl.swp"]) write(join(folder, name), ROWS);
  mkdirSync(join(folder, `${uuidFrom("folder")}.jsonl`));
  const secret = write(join(home.root, "outside", "secret.jsonl"), ROWS);
  symlinkSync(secret, join(folder, `${uuidFrom("link")}.jsonl`));
  symlinkSync(file, join(folder, "alias.jsonl"));
  symlinkSync(join(home.root, "outside"), join(home.paths.claude, "projects", "-outside"));
  symlinkSync("/", join(home.paths.claude, "projects", "-root"));
  write(join(home.paths.claude, "projects", "stray.jsonl"), ROWS);
  expect(found(home, { subagents: true })).toEqual([`claude ${CLAUDE_SESSION}`]);
});

test("findTranscripts() ends where folders lead back to themselves", () => {
  const file = writePi(home, { rows: ROWS });
  symlinkSync("..", join(file, "..", "loop"));
  symlinkSync("self", join(file, "..", "self"));
  const given = { ...home.paths, transcripts: [join(home.paths.pi, "sessions")] };
  expect(found(home)).toEqual([`pi ${PI_SESSION}`]);
  expect([...findTranscripts(given)].map((item) => item.file)).toEqual([file]);
});

test("findTranscripts() follows an agent's folder that is itself a link", () => {
  const moved = { ...home.paths, claude: join(home.root, "disk") };
  writeClaude({ ...home, paths: moved }, { rows: ROWS });
  mkdirSync(home.paths.claude, { recursive: true });
  symlinkSync(join(home.root, "disk", "projects"), join(home.paths.claude, "projects"));
  expect(found(home)).toEqual([`claude ${CLAUDE_SESSION}`]);
});

test("recentTranscripts() finds a project's folders also where Claude Code cuts their names", () => {
  const directory = join(home.root, "d".repeat(120), "e".repeat(120));
  writeClaude(home, { id: "top", cwd: directory, rows: ROWS });
  writeClaude(home, { id: "below", cwd: join(directory, "src"), rows: ROWS });
  const inProject = recentTranscripts(home.paths, { directory });
  expect(inProject.map(({ id }) => id).sort()).toEqual(["below", "top"]);
});
