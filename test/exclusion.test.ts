import { describe, expect, test } from "bun:test";
import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import type { SessionMemoryError } from "../lib/base/errors.ts";
import { defaultSettings, seeingExcluded, withFolders } from "../lib/config/config.ts";
import { addExclusions } from "../lib/config/config-file.ts";
import { exclusionBy } from "../lib/sessions/gate.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { claudeState, claudeUser } from "./support/claude.ts";
import { homePerTest, type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { writeTalk } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const NOTHING = { sessions: [], projects: [], patterns: [] };

describe("exclusionBy()", () => {
  const id = uuidFrom("out");

  test.each([
    ["a full id", [id], { id }, true],
    ["the beginning of a uuid", [id.slice(0, 4)], { id }, true],
    ["too short a beginning", [id.slice(0, 3)], { id }, false],
    ["the id of the session that started it", [id], { id: "agent-a1", parentId: id }, true],
    ["a name in another case", ["Fix Login"], { id, name: "fix login" }, true],
    ["an id that another one begins with", ["chat"], { id: "chatlog" }, false],
    ["the id of a shared session", [id], { id: `alice@desk:${id}` }, true],
    ["the parent of a shared one", [id], { id: `alice@desk:${id}/agent-a1` }, true],
    ["another id", [uuidFrom("other")], { id }, false],
  ] as const)("keeps sessions out by %s: %p", (_, sessions, session, isOut) => {
    expect(
      exclusionBy({ redact: { extra: [] }, exclude: { ...NOTHING, sessions: [...sessions] } }).admits(
        session,
      ),
    ).toBe(!isOut);
  });
});

describe("an excluded session", () => {
  const [out, kept] = [uuidFrom("excluded"), uuidFrom("not excluded")];
  const titled = (id: string, title: string) => claudeState("custom-title", { customTitle: title }, id);

  /** Two sessions, one in a private folder, and the paths under an `exclude` block. */
  function excluding(home: TemporaryHome, exclude: object) {
    const secret = join(home.root, "private");
    for (const [id, cwd, title] of [
      [out, secret, "falcon plan"],
      [kept, home.project, "shop plan"],
    ] as const) {
      const rows = [claudeUser({ sessionId: id, cwd, text: `words of ${title}` }), titled(id, title)];
      writeClaude(home, { id, cwd, rows });
    }
    const settings = { ...defaultSettings(), exclude: { ...NOTHING, ...exclude } };
    return withFolders(home.paths, { settings, env: home.env });
  }

  test.each([[{ sessions: ["Falcon Plan"] }], [{ projects: ["private"] }]])(
    "by %p is not listed and not found, and says why",
    (exclude) => {
      using home = temporaryHome();
      const paths = excluding(home, exclude);
      const context = { paths, cwd: home.project };
      expect(listSessions(paths).map(({ id }) => id)).toEqual([kept]);
      expect(listSessions(paths, { excluded: true })).toHaveLength(2);
      for (const reference of [out, out.slice(0, 10)]) {
        expect(() => resolveSession(reference, context)).toThrow(
          `Cannot use session "${out}": it is kept out`,
        );
      }
      expect(() => resolveSession("falcon plan", context)).toThrow('Cannot find session "falcon plan"');
      // of two that fit, only the other is meant
      expect(resolveSession("plan", context).id).toBe(kept);
      expect(resolveSession("last", context).id).toBe(kept);
      expect(resolveSession("falcon plan", { ...context, paths: seeingExcluded(paths) }).id).toBe(out);
      try {
        resolveSession("falcn", context);
      } catch (error) {
        expect(String((error as SessionMemoryError).hint)).not.toContain("falcon");
      }
    },
  );
});

describe("an excluded project whose path is not stored as it is", () => {
  const hidden = (path: string) => ({
    "matches redact.extra": { redact: { extra: [basename(path)] } },
    "matches exclude.patterns": { exclude: { patterns: [basename(path)] } },
  });
  const hits = async () => (await home.run("search", "quokka", "--json")).stdout.includes("we decided");

  test.each([["matches redact.extra"], ["matches exclude.patterns"]] as const)(
    "is not indexed, nor found once it is excluded: its path %s",
    async (how) => {
      const settings: { redact?: object; exclude?: object } = hidden(home.project)[how];
      const beside = join(home.root, `${basename(home.project)}s`);
      writeTalk(home, uuidFrom("out"), [["plan of quokka", "we decided to use it"]]);
      writeTalk(home, uuidFrom("beside"), [["plan of wombat", "we wanted to use it"]], { cwd: beside });
      home.configure(settings);
      await home.ok("embed");
      expect(await hits()).toBe(true);
      const excluding = { ...settings, exclude: { ...settings.exclude, projects: [home.project] } };
      home.configure(excluding);
      expect(await hits()).toBe(false);
      await home.ok("embed");
      home.configure(settings);
      expect(await hits()).toBe(true);
      home.configure(excluding);
      rmSync(home.paths.database);
      await home.ok("embed");
      expect(await hits()).toBe(false);
      expect((await home.run("search", "wombat")).stdout).toContain("we wanted");
    },
  );

  test("is known by its redacted path once the transcript is gone", async () => {
    const id = uuidFrom("out");
    const redact = { extra: [basename(home.project)] };
    const exclude = { projects: [home.project] };
    const rows = [claudeUser({ sessionId: id, cwd: home.project, text: "of quokka we decided" })];
    const file = writeClaude(home, { id, cwd: home.project, rows });
    home.configure({ redact });
    await home.ok("embed");
    rmSync(file);
    await home.ok("embed");
    expect(await hits()).toBe(true);
    const told = await home.ok("forget", "--project", home.project, "--dry-run", "--json");
    expect(JSON.parse(told).sessions).toMatchObject([{ id }]);
    home.configure({ redact, exclude });
    expect(await hits()).toBe(false);
    expect((await home.run("session-reader", id)).stderr).toContain("it is kept out");
    // carried over under other rules
    home.configure({ redact: { extra: [basename(home.root), ...redact.extra] }, exclude });
    await home.ok("search", "of");
    home.configure({ redact });
    expect(await hits()).toBe(false);
  });
});

describe("exclude.projects", () => {
  const [out, kept] = [uuidFrom("project out"), uuidFrom("project kept")];
  const listed = async (...args: string[]) => {
    const { stdout, stderr } = await home.run("session-reader", "--list", "--json", ...args);
    return { ids: JSON.parse(stdout).sessions.map(({ id }: { id: string }) => id), stderr };
  };

  test.each([
    ["~/clients/falcon"],
    ["~/clients/falcon/"],
    ["~/clients"],
    ["~/clients/*"],
    ["~/*/falcon"],
    ["*/clients/*"],
    ["fal*"],
    ["FALCON"],
  ])("takes %s for what it says, and health counts what is kept out", async (entry) => {
    const cwd = join(home.home, "clients", "falcon");
    writeTalk(home, out, [["plan of quokka", "we decided to use it"]], { cwd });
    writeTalk(home, kept, [["plan of wombat", "we wanted to use it"]], {
      cwd: join(home.home, "clients-kept"),
    });
    home.configure({});
    expect((await listed()).ids.sort()).toEqual([out, kept].sort());
    home.configure({ exclude: { projects: [entry] } });
    expect(await listed()).toEqual({ ids: [kept], stderr: "" });
    expect(await home.prompt(`what of @@${out}?`)).not.toContain("quokka");
    const { findings, metrics } = JSON.parse(await home.ok("health", "--json"));
    expect([
      metrics.excluded,
      findings.filter(({ what }: { what: string }) => what.includes("exclude")),
    ]).toEqual([1, []]);
    expect(await home.ok("health")).toContain("\nexcluded: 1 session (exclude in config.json)\n");
  });

  test("that matches no session and no folder is said by every command and by health", async () => {
    writeTalk(home, kept, [["plan of wombat", "we wanted to use it"]]);
    const empty = join(home.root, "empty");
    mkdirSync(empty);
    home.configure({ exclude: { projects: ["~/typo", empty, basename(home.root), "no*"] } });
    const said = (entry: string) =>
      `"${entry}" in exclude.projects matches no session and no folder: nothing is excluded by it`;
    const all = ["~/typo", basename(home.root), "no*"].map(said);
    const warnings = all.map((line) => `warning: ${line}\n`).join("");
    expect(await listed()).toEqual({ ids: [kept], stderr: warnings });
    for (const command of [["search", "wombat"], ["embed"], ["activity-summary", "--current", kept]])
      expect((await home.run(command[0] ?? "", ...command.slice(1))).stderr).toStartWith(warnings);
    expect((await listed("--quiet")).stderr).toBe("");
    const { status, findings } = JSON.parse(await home.ok("health", "--json"));
    expect(status).toBe("DEGRADED");
    expect(
      findings.flatMap(({ what }: { what: string }) => (what.includes("exclude") ? [what] : [])),
    ).toEqual(all);
  });

  test("that a forgotten project left there is not called mistyped once its folder is gone", async () => {
    const cwd = join(home.root, "falcon");
    mkdirSync(cwd);
    writeTalk(home, out, [["plan of quokka", "we decided to use it"]], { cwd });
    await home.ok("forget", "--project", cwd, "--yes");
    rmSync(cwd, { recursive: true });
    rmSync(join(home.paths.claude, "projects"), { recursive: true });
    expect(await listed()).toEqual({ ids: [], stderr: "no sessions found\n" });
  });
});

describe("addExclusions()", () => {
  test("adds what is not there yet, through a link, and says what it added", async () => {
    const real = write(
      join(home.root, "dotfiles", "memory.json"),
      '{"timezone": "UTC", "exclude": {"sessions": ["a"]}}',
    );
    write(join(home.paths.home, "x"), "");
    symlinkSync(real, home.paths.config);
    const wanted = { sessions: ["a", "b", "b"], projects: ["/p"], patterns: [] };
    const added = { sessions: ["b"], projects: ["/p"], patterns: [] };
    expect(await addExclusions(home.paths.config, wanted)).toEqual(added);
    expect(lstatSync(home.paths.config).isSymbolicLink()).toBe(true);
    const exclude = { sessions: ["a", "b"], projects: ["/p"] };
    const text = `${JSON.stringify({ timezone: "UTC", exclude }, null, 2)}\n`;
    expect(readFileSync(home.paths.config, "utf8")).toBe(text);
    expect(await addExclusions(home.paths.config, wanted)).toEqual(NOTHING);
  });

  test("refuses a file that is no JSON object, and leaves it as it is", async () => {
    write(home.paths.config, "[1]");
    await expect(addExclusions(home.paths.config, { ...NOTHING, sessions: ["a"] })).rejects.toThrow(
      `Cannot change "${home.paths.config}": it is not a JSON object`,
    );
    expect(readFileSync(home.paths.config, "utf8")).toBe("[1]");
  });

  test("two at once keep what the other added", async () => {
    const all = Array.from({ length: 20 }, (_, i) => `id-${i}`);
    await Promise.all(all.map((id) => addExclusions(home.paths.config, { ...NOTHING, sessions: [id] })));
    expect(JSON.parse(readFileSync(home.paths.config, "utf8")).exclude.sessions.sort()).toEqual(all.sort());
  });
});

test("what is excluded is nothing that the index is behind by, by session or by project", async () => {
  const [out = "", other = ""] = ["out", "other"].map((seed) => uuidFrom(seed));
  for (const id of [out, other])
    writeClaude(home, {
      id,
      rows: [claudeUser({ cwd: home.project, sessionId: id, text: "count the herons" })],
    });
  for (const exclude of [{ sessions: [out, other] }, { projects: [home.project] }]) {
    home.configure({ exclude });
    for (const flags of [[], ["--no-index"]]) {
      const { stderr } = await home.run("search", "herons", ...flags);
      expect([exclude, flags, stderr.includes("behind")]).toEqual([exclude, flags, false]);
      const { results, index } = JSON.parse(await home.ok("search", "herons", "--json", ...flags));
      expect([results, index.behind]).toEqual([[], { sessions: 0, bytes: 0 }]);
    }
  }
});
