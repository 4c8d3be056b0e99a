import { beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hasChromium, startBrowser } from "./support/browser.ts";
import { chain, claudeAssistant, claudeState, claudeToolResult, claudeUser } from "./support/claude.ts";
import { homePerTest, write, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";
import { lay } from "./support/world.ts";

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
  lay(
    home,
    `@claude ${id} 2026-02-03 14:30
User: Make deploy.sh keep links
Assistant: I will use \`rsync\`:
  \`\`\`sh
  rsync -a . host:
  \`\`\`
  Done.
[Edit ${home.project}/deploy.sh]
  -cp -r .
  +rsync -a .
[Bash sh deploy.sh] failed
  rsync: not found
User: Install it then
Assistant: Installed.
{"type": "custom-title", "customTitle": "${title}"}`,
  );
}

beforeEach(() => layDeploy());

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
