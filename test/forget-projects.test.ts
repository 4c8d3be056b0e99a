/** Projects that are forgotten, and what is excluded from then on. */

import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { configure, DIMENSIONS, holding, MARK } from "./support/forget.ts";
import { homePerTest, temporaryHome, write, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

const home = homePerTest();
const server = serverPerFile({ dimensions: DIMENSIONS });

describe("forget", () => {
  test("takes a project out with all its worktrees, and its titles out of the names", async () => {
    configure(home, server);
    const secret = join(home.root, "secret");
    mkdirSync(join(secret, ".git", "worktrees", "wt"), { recursive: true });
    write(join(secret, ".git", "HEAD"), "ref: refs/heads/main\n");
    const worktree = join(home.root, "elsewhere");
    write(join(worktree, ".git"), `gitdir: ${join(secret, ".git", "worktrees", "wt")}\n`);
    write(join(secret, ".git", "worktrees", "wt", "commondir"), "../..\n");
    write(join(secret, ".git", "worktrees", "wt", "gitdir"), `${join(worktree, ".git")}\n`);
    const inside = [join(secret, "packages"), worktree].map((cwd, i) => {
      const id = uuidFrom(`inside ${i}`);
      const title = claudeState("custom-title", { customTitle: `${MARK}title ${i}` }, id);
      writeClaude(home, {
        id,
        cwd,
        rows: [claudeUser({ text: `${MARK}user ${i}`, cwd, sessionId: id }), title],
      });
      return id;
    });
    const outside = uuidFrom("outside");
    const plain = claudeUser({ text: "a plain talk", cwd: home.project, sessionId: outside });
    writeClaude(home, { id: outside, rows: [plain] });
    const readNames = () => home.ok("session-reference", "see @@nobody");
    await home.ok("embed");
    await readNames();
    expect(holding(home, MARK)).toEqual([
      "/home/.session-memory/memory.db",
      "/home/.session-memory/state.db",
    ]);
    const told = JSON.parse(await home.ok("forget", "--yes", "--project", secret, "--json", "--quiet"));
    expect(told.sessions.map(({ id }: { id: string }) => id).sort()).toEqual(inside.sort());
    expect(told.excluded).toEqual({ sessions: [], projects: [secret], patterns: [] });
    await home.ok("embed", "--all");
    await readNames();
    expect(holding(home, MARK)).toEqual([]);
    const session = ["--session", inside[0] ?? "", "--cwd", worktree];
    await home.ok("hooks/background.ts", ...session, "--file", told.transcripts[0]);
    expect(holding(home, MARK)).toEqual([]);
    expect(holding(home, "a plain talk")).toEqual(["/home/.session-memory/memory.db"]);
  }, 60_000);

  test("what is excluded is neither listed, named nor read", async () => {
    const hidden = uuidFrom("hidden project");
    const titled = uuidFrom("hidden title");
    const secret = join(home.root, "secret");
    mkdirSync(secret);
    const title = (id: string, customTitle: string) => claudeState("custom-title", { customTitle }, id);
    writeClaude(home, {
      id: hidden,
      cwd: secret,
      rows: [
        claudeUser({ text: `${MARK}user`, cwd: secret, sessionId: hidden }),
        title(hidden, "night watch"),
      ],
    });
    writeClaude(home, {
      id: titled,
      rows: [
        claudeUser({ text: "a harmless talk", cwd: home.project, sessionId: titled }),
        ...claudeAssistant({ text: "Yes", sessionId: titled }),
        title(titled, `${MARK}title`),
      ],
    });
    await home.ok("embed");
    await home.ok("index-meta", "--all");
    await home.ok("forget", "--project", secret, "--yes");
    await home.ok("forget", "--pattern", MARK, "--yes");
    await home.ok("embed", "--all");
    await home.ok("index-meta", "--all", "--force");
    const exits: [string, string[]][] = [
      ["session-reader", ["--list"]],
      ["session-reader", ["--list", "--json"]],
      ["session-reader", [hidden]],
      ["session-reader", ["night watch"]],
      ["session-reader", [titled]],
      ["session-reference", [`@@${hidden} and @@"night watch" and @@${titled.slice(0, 8)}`]],
      ["search", ["harmless talk"]],
      ["search", ["harmless talk", "--json"]],
      ["search", [`${MARK}user`, "night watch"]],
      ["embed", ["--status"]],
      ["query-session", [hidden, "what?"]],
      ["save-session", [hidden]],
      ["observe-compact", [hidden, "--observe", "--render"]],
      ["index-meta", [hidden, "--force"]],
      ["activity-summary", ["--scope", "all", "--since", "2020-01-01", "--current", uuidFrom("nobody")]],
    ];
    expect(await home.prompt(`and @@"night watch" @@${titled}?`)).not.toMatch(
      new RegExp(`${MARK}|${secret}`),
    );
    for (const [name, args] of exits) {
      const { stdout } = await home.run(name, ...args);
      expect([name, args, stdout.includes(MARK), stdout.includes(secret)]).toEqual([
        name,
        args,
        false,
        false,
      ]);
      if (!args.includes("night watch")) {
        expect([name, args, stdout.includes("night watch")]).toEqual([
          name,
          args,
          name === "session-reference",
        ]);
      }
    }
    expect((await home.run("session-reader", hidden)).stderr).toContain("exclude");
    expect(holding(home, MARK)).toEqual([]);
    expect(holding(home, "night watch").filter((file) => !file.endsWith("log.ndjson"))).toEqual([]);
  }, 60_000);
});

test("a copy of the home does not reach the files of the original", async () => {
  using original = temporaryHome();
  const id = uuidFrom("copied");
  writeClaude(original, { id, rows: [claudeUser({ text: "hello", sessionId: id, cwd: original.project })] });
  await original.ok("embed", "--quiet");
  const note = (await original.ok("save-session", id, "--dir", "memory")).trim();
  const page = (await original.ok("report", id, "--out", join(original.root, "page.html"))).trim();
  using copy = temporaryHome();
  cpSync(original.home, copy.home, { recursive: true });
  const forgotten = JSON.parse(await copy.ok("forget", id, "--yes", "--json", "--quiet"));
  expect([forgotten.removed.chunks, forgotten.removed.notes, forgotten.removed.reports]).toEqual([1, [], []]);
  expect(forgotten.keptFiles.sort()).toEqual([note, page].sort());
  expect([note, page].map((file) => existsSync(file))).toEqual([true, true]);
  // a home that was moved is the only one
  renameSync(original.paths.home, join(original.root, "moved"));
  original.env.SESSION_MEMORY_HOME = join(original.root, "moved");
  const moved = JSON.parse(await original.ok("forget", id, "--yes", "--json", "--quiet"));
  expect([moved.removed.notes, moved.removed.reports, moved.keptFiles]).toEqual([[note], [page], []]);
});
