import { beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { hasChromium, startBrowser } from "./support/browser.ts";
import { chain, claudeAssistant, claudeState, claudeToolResult, claudeUser } from "./support/claude.ts";
import { homePerTest, write, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const ID = uuidFrom("reported");
const OTHER = uuidFrom("reported beside it");

const home = homePerTest();

/** Runs it and returns what it printed. */
async function ok(...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await home.run("report", ...args);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  return stdout.trim();
}

/** A session of two turns with an edit, a failed command and a decision. */
function layDeploy({ id = ID, title = "fix deploy" } = {}): void {
  const context = { sessionId: id, cwd: home.project, at: "2026-02-03T14:30:00.000Z" };
  const edit = {
    file_path: join(home.project, "deploy.sh"),
    old_string: "cp -r .",
    new_string: "rsync -a .",
  };
  const rows = chain([
    claudeUser({ ...context, text: "Make deploy.sh keep links" }),
    ...claudeAssistant({
      ...context,
      text: "I will use `rsync`:\n```sh\nrsync -a . host:\n```\nDone.",
      tools: [{ name: "Edit", id: "t1", input: edit }],
    }),
    claudeToolResult({ ...context, toolUseId: "t1", content: "ok" }),
    ...claudeAssistant({
      ...context,
      tools: [{ name: "Bash", id: "t2", input: { command: "sh deploy.sh" } }],
    }),
    claudeToolResult({ ...context, toolUseId: "t2", content: "rsync: not found", isError: true }),
    claudeUser({ ...context, text: "Install it then" }),
    ...claudeAssistant({ ...context, text: "Installed." }),
  ]);
  writeClaude(home, { id, rows: [...rows, claudeState("custom-title", { customTitle: title }, id)] });
}

beforeEach(() => layDeploy());

test("a page has an anchor for each line that the reader shows, and each once", async () => {
  const html = readFileSync(await ok(ID), "utf8");
  const read = await runScript("session-reader", [ID, "--json"], { env: home.env });
  const lines = JSON.parse(read.stdout).entries.map(({ line }: { line: number }) => line);
  const anchors = [...html.matchAll(/<article id="L(\d+)"/g)].map(([, line]) => Number(line));
  expect(anchors).toEqual([...new Set<number>(lines)]);
});

test("a page says what the session is, what was edited and how each call ended", async () => {
  home.env.TZ = "UTC";
  const html = readFileSync(await ok(ID), "utf8");
  expect(html).toContain("<h1>fix deploy</h1>");
  expect(html).toContain(`<dt>Project</dt><dd>${home.project}</dd>`);
  expect(html).toContain("<dd>4 messages, 2 tool calls, 1 file edited</dd>");
  expect(html).toContain("2026-02-03 14:30:00");
  expect(html).toMatch(/<li>deploy\.sh <a class="place" href="#L\d+">/);
  expect(html).toContain("<pre><code>rsync -a . host:</code></pre>");
  expect(html).toContain("I will use <code>rsync</code>:");
  expect(html).toContain("<del>-cp -r .</del><ins>+rsync -a .</ins>");
  expect(html).toMatch(/<code>Bash sh deploy\.sh<\/code> <span class="failed">failed<\/span>/);
  expect(html).toContain("<pre>rsync: not found</pre>");
});

test("nothing in a session becomes markup, and a page asks for nothing", async () => {
  const hostile = `</pre></style><script src="//evil.example/x.js"></script><img src=x onerror=alert(1)> "'&`;
  const context = { sessionId: ID, cwd: join(home.root, `a"><b>`), at: "2026-02-03T14:30:00.000Z" };
  const rows = chain([
    claudeUser({ ...context, text: `${hostile}\n\`\`\`\n${hostile}\n\`\`\`` }),
    ...claudeAssistant({
      ...context,
      text: `\`${hostile}\``,
      tools: [
        {
          name: "Edit",
          id: "t1",
          input: { file_path: hostile, old_string: hostile, new_string: `<b>${hostile}` },
        },
        { name: hostile, id: "t2", input: { query: hostile } },
      ],
    }),
    claudeToolResult({ ...context, toolUseId: "t2", content: hostile }),
  ]);
  writeClaude(home, { id: ID, rows: [...rows, claudeState("custom-title", { customTitle: hostile }, ID)] });
  const folder = join(home.root, "pages");
  await ok("--all", "--out", folder);
  for (const name of [`${ID}.html`, "index.html"]) {
    const html = readFileSync(join(folder, name), "utf8");
    const tags = Array.from(html.matchAll(/<([a-z]\w*)([^<>]*)>/g), ([, name = "", rest = ""]) => ({
      name,
      rest,
    }));
    const foreign = ["script", "img", "b", "iframe", "link", "object", "form"];
    expect(tags.filter(({ name }) => foreign.includes(name))).toEqual([]);
    const addresses = tags.flatMap(({ rest }) => rest.match(/\s(?:src|href|on\w+)=("[^"]*"|\S*)/g) ?? []);
    expect(addresses.filter((each) => !/^ href="(?:#L\d+|[\w-]+\.html)"$/.test(each))).toEqual([]);
    expect(html).toContain(`content="default-src 'none'; style-src 'sha256-`);
  }
});

test("observations are shown with links to their places", async () => {
  await runScript("observe-compact", [ID, "--set", "retainTokens=0", "--observe"], { env: home.env });
  const html = readFileSync(await ok(ID), "utf8");
  const [, list = ""] = /<h2>Observations<\/h2><\/summary>\n<ul>([\s\S]*?)<\/ul>/.exec(html) ?? [];
  expect(list).toContain("Make deploy.sh keep links");
  expect(list).toMatch(/href="#L1"/);
});

test("an overview links the sessions of a project, by --since, and no others", async () => {
  layDeploy({ id: OTHER, title: "also here" });
  const elsewhere = {
    sessionId: uuidFrom("elsewhere"),
    cwd: join(home.root, "bakery"),
    at: "2026-02-03T14:30:00.000Z",
  };
  writeClaude(home, {
    id: elsewhere.sessionId,
    cwd: elsewhere.cwd,
    rows: chain([claudeUser({ ...elsewhere, text: "bake" })]),
  });
  const folder = join(home.root, "pages");
  expect(await ok("--project", ".", "--out", folder)).toBe(join(folder, "index.html"));
  expect(readdirSync(folder).sort()).toEqual([`${ID}.html`, `${OTHER}.html`, "index.html"].sort());
  const html = readFileSync(join(folder, "index.html"), "utf8");
  const links = Array.from(html.matchAll(/<a href="([^"]+)">([^<]+)<\/a>/g), ([, file, name]) => [
    file,
    name,
  ]);
  expect(links.sort()).toEqual(
    [
      [`${ID}.html`, "fix deploy"],
      [`${OTHER}.html`, "also here"],
    ].sort(),
  );
  const page = (name: string) => readFileSync(join(folder, name), "utf8");
  const back = '<nav><a href="index.html">All sessions</a></nav>';
  expect(page(`${OTHER}.html`)).toContain(back);
  await ok(ID, "--out", join(folder, "one.html"));
  expect(page("one.html")).toContain(back);
  await ok(ID, "--out", join(home.root, "alone.html"));
  expect(readFileSync(join(home.root, "alone.html"), "utf8")).not.toContain("<nav>");
  const none = await home.run("report", "--all", "--since", "1h", "--json");
  expect(none.stderr).toBe("no sessions found\n");
  expect(JSON.parse(none.stdout)).toEqual({ pages: [], overview: null });
});

test("an overview of several projects begins with them and their counts, and names a session by its first words", async () => {
  layDeploy({ id: OTHER, title: "also here" });
  const cwd = join(home.root, "bakery");
  const unnamed = { sessionId: uuidFrom("unnamed"), cwd, at: "2026-02-02T14:30:00.000Z" };
  const said = `Bake <b>rye</b> bread${" slowly".repeat(20)}`;
  writeClaude(home, { id: unnamed.sessionId, cwd, rows: chain([claudeUser({ ...unnamed, text: said })]) });
  const html = readFileSync(await ok("--all"), "utf8");
  const [, projects] = /<summary><h2>Projects<\/h2><\/summary>\n<ul>\n([\s\S]*?)<\/ul>/.exec(html) ?? [];
  expect(projects?.trim().split("\n")).toEqual([
    `<li><a href="#P1">${home.project}</a> 2 sessions</li>`,
    `<li><a href="#P2">${cwd}</a> 1 session</li>`,
  ]);
  expect(html).toContain(`<h2 id="P2">${cwd}</h2>`);
  expect(html).toMatch(/<a href="[\w-]+\.html">Bake ‹b&gt;rye‹\/b&gt; bread(?: slowly)+ s…<\/a>/);
});

test.skipIf(!hasChromium())(
  "no page scrolls sideways, at 360 pixels either",
  async () => {
    const long = "a/very/long/path/without/a/blank".repeat(12);
    layDeploy({ title: `move ${long}` });
    layDeploy({ id: OTHER, title: "also here" });
    const folder = join(home.root, "pages");
    await ok("--all", "--out", folder);
    const browser = await startBrowser();
    const overflows: number[] = [];
    for (const file of ["index.html", `${ID}.html`]) {
      for (const width of [360, 390, 800, 1400]) {
        overflows.push(await browser.overflowAt(pathToFileURL(join(folder, file)).href, width));
      }
    }
    await browser.close();
    expect(overflows).toEqual(new Array(8).fill(0));
  },
  60_000,
);

test("--json names the pages and the overview", async () => {
  const page = join(home.paths.reports, `${ID}.html`);
  const one = JSON.parse(await ok(ID, "--json"));
  expect(one).toEqual({
    pages: [{ session: expect.objectContaining({ id: ID, name: "fix deploy" }), file: page }],
    overview: null,
  });
  const all = JSON.parse(await ok("--all", "--json"));
  expect(all.overview).toBe(join(home.paths.reports, "index.html"));
  expect(all.pages).toEqual(one.pages);
});

test("a page of more than a megabyte is known as ours, too", async () => {
  const context = { sessionId: OTHER, cwd: home.project };
  const said = Array.from({ length: 30 }, (_, i) =>
    claudeUser({ ...context, text: `${i} ${"words ".repeat(10_000)}` }),
  );
  writeClaude(home, { id: OTHER, rows: chain(said) });
  const page = await ok(OTHER, "--out", "page.html");
  expect(readFileSync(page).length).toBeGreaterThan(1024 * 1024);
  expect(await ok(ID, "--out", "page.html")).toBe(page);
});

test("--out is a file or a folder, is written again, and never takes the place of another file", async () => {
  expect(await ok(ID, "--out", "page.html")).toBe(join(home.project, "page.html"));
  expect(await ok(ID, "--out", "page.html")).toBe(join(home.project, "page.html"));
  expect(await ok(ID, "--out", "pages/")).toBe(join(home.project, "pages", `${ID}.html`));
  expect(await ok(ID, "--out", ".")).toBe(join(home.project, `${ID}.html`));
  writeFileSync(join(home.project, "page.html"), "mine now");
  const { stdout, stderr, exitCode } = await home.run("report", ID, "--out", "page.html");
  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
  expect(stderr).toContain("a file that is not a report is there");
  expect(stderr).toContain("hint: name another place with --out");
  expect(readFileSync(join(home.project, "page.html"), "utf8")).toBe("mine now");
});

test("--open starts the system's opener with the place that was named, and without one says so", async () => {
  const bin = join(home.root, "bin");
  const opened = join(home.root, "opened");
  write(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > "${opened}"\n`);
  chmodSync(join(bin, "xdg-open"), 0o755);
  const env = { ...home.env, PATH: `${bin}:${home.env.PATH}` };
  const { stdout } = await runScript("report", [`${ID}:2`, "--open"], { env });
  while (!existsSync(opened) || readFileSync(opened, "utf8") === "") await Bun.sleep(5);
  expect(readFileSync(opened, "utf8")).toBe(`${pathToFileURL(stdout.trim()).href}#L2`);
  const without = await runScript("report", [ID, "--open"], {
    env: { ...home.env, PATH: bin.replace("bin", "no") },
  });
  expect(without.stderr).toContain('warning: cannot start "xdg-open" to show it');
  expect(without.stdout.trim()).toBe(join(home.paths.reports, `${ID}.html`));
});

test("what is asked for wrongly is refused with a hint", async () => {
  for (const args of [
    [],
    [ID, "--all"],
    ["--all", "--project", "."],
    [ID, "--since", "1d"],
    ["--all", "--since", "soon"],
  ]) {
    const { stdout, stderr, exitCode } = await home.run("report", ...args);
    expect({ args, stdout, exitCode }).toEqual({ args, stdout: "", exitCode: 2 });
    expect(stderr).toMatch(/^error: .+\nhint: .+\n$/);
  }
  expect((await home.run("report", "nobody")).stderr).toContain("error: NOT_FOUND");
  expect(existsSync(home.paths.reports)).toBe(false);
});

test("a page is made of what the index has of a session whose transcript is gone", async () => {
  await runScript("embed", ["--quiet"], { env: home.env });
  rmSync(join(home.paths.claude, "projects"), { recursive: true });
  const { stdout, stderr, exitCode } = await home.run("report", ID.slice(0, 8));
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  expect(readFileSync(stdout.trim(), "utf8")).toContain("Make deploy.sh keep links");
});

test("forget removes the pages of a session and its fork and the overviews that link them, and lists a page that was changed", async () => {
  layDeploy({ id: OTHER, title: "also here" });
  await ok("--all");
  const ours = await ok(ID, "--out", "ours.html");
  const changed = await ok(ID, "--out", "changed.html");
  writeFileSync(changed, readFileSync(changed, "utf8").replace("</body>", "<!-- mine --></body>"));
  const forgot = await home.run("forget", ID, "--yes", "--json");
  const { removed, keptFiles } = JSON.parse(forgot.stdout);
  expect(removed.reports.map((file: string) => basename(file)).sort()).toEqual(
    [`${ID}.html`, `${OTHER}.html`, "index.html", "ours.html"].sort(),
  );
  expect(keptFiles).toEqual([changed]);
  expect([existsSync(ours), existsSync(changed)]).toEqual([false, true]);
  expect(readdirSync(home.paths.reports)).toEqual([]);
});

test("forget --pattern removes the pages that hold a match, also one that HTML writes otherwise", async () => {
  const context = { sessionId: ID, cwd: home.project, at: "2026-02-03T14:30:00.000Z" };
  writeClaude(home, { id: ID, rows: chain([claudeUser({ ...context, text: "if (a<b && c) violin" })]) });
  layDeploy({ id: OTHER, title: "also here" });
  const [page, other] = [await ok(ID), await ok(OTHER)];
  const forgot = await home.run("forget", "--pattern", "a<b && c", "--yes");
  expect(forgot.exitCode).toBe(0);
  expect([existsSync(page), existsSync(other)]).toEqual([false, true]);
});
