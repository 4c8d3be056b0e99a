/**
 * A recorded session of every host through every script, against the whole of what they print: `scripts.txt` beside each sample.
 * After a change to what is printed: `SESSION_MEMORY_TEST_UPDATE=1 bun test test/host-scripts.test.ts`, and read the difference.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOSTS } from "../lib/transcripts/hosts.ts";
import { type TemporaryHome, temporaryHome } from "./support/home.ts";
import { ROOT } from "./support/run.ts";

setDefaultTimeout(60_000); // each runs a dozen scripts

const isUpdate = Boolean(process.env.SESSION_MEMORY_TEST_UPDATE);
const SAMPLES = join(import.meta.dir, "samples");
const RECORDED = join(ROOT, "..", "shared/facts/hosts-2");

interface Sample {
  id: string;
  /** What is copied, below the samples or what was recorded, and where it lies below the user's home. */
  from: string;
  to: string;
  /** An error that one of its commands ended in. */
  error?: string;
}

const HOSTED: Record<string, Sample> = {
  codex: {
    id: "01a20542-8702-7701-b98b-2992c1d9c316",
    from: "codex/sessions",
    to: ".codex/sessions",
    error: "oops",
  },
  copilot: {
    id: "52dca244-e438-46cf-8b37-0991d9bb0b32",
    from: "copilot/session-state",
    to: ".copilot/session-state",
    error: "Path does not exist",
  },
  qwen: {
    id: "e992604e-598f-4218-9266-db99faeeb398",
    from: "qwen/projects",
    to: ".qwen/projects",
    error: "oops",
  },
  gemini: { id: "4eeae847-aff1-41b8-a92e-1ad6578e04da", from: "gemini/tmp", to: ".gemini/tmp" },
  opencode: {
    id: "ses_dfaf61419ffePWkPox4D5nzPzl",
    from: join(RECORDED, "opencode/opencode.db"),
    to: ".local/share/opencode/opencode.db",
    error: "oops",
  },
  openclaw: {
    id: "36e45d36-cb9f-4aa2-8582-00180ac3e994",
    from: join(RECORDED, "openclaw/openclaw-agent.sqlite"),
    to: ".openclaw/agents/main/agent/openclaw-agent.sqlite",
    error: "grep: missing.txt: No such file or directory",
  },
  kilo: {
    id: "ses_dfaaffee2ffeNesrFzjEn2zT2F",
    from: join(RECORDED, "kilo/kilo.db"),
    to: ".local/share/kilo/kilo.db",
    error: "oops",
  },
  droid: {
    id: "cfcc75a2-953d-436d-8953-7e7702f05c71",
    from: "droid/sessions",
    to: ".factory/sessions",
    error: "oops",
  },
  cline: { id: "1795385616973_0m96p", from: "cline/data", to: ".cline/data", error: "oops" },
  kimi: {
    id: "session_b0c8e2e0-507c-4417-953e-e1fa85d55bba",
    from: "kimi/sessions",
    to: ".kimi-code/sessions",
    error: "oops",
  },
  cursor: { id: "0b5c4b52-7d0e-4d6a-9a55-3f1f6a1c2d77", from: "cursor/projects", to: ".cursor/projects" },
  antigravity: {
    id: "3f0d2c1b-5a49-4c7e-8b16-9d2e7f605a41",
    from: "antigravity/brain",
    to: ".gemini/antigravity-cli/brain",
    error: "oops",
  },
};

test("every host has a sample but those that most other tests are written with", () => {
  const hosts = HOSTS.map(({ agent }) => agent).filter((agent) => agent !== "claude" && agent !== "pi");
  expect(Object.keys(HOSTED)).toEqual(hosts);
});

const placeOf = ({ from }: Sample) => (from.startsWith(RECORDED) ? from : join(SAMPLES, from));

/** Runs the scripts one after the other; returns what each was asked and printed. */
async function transcriptOf(home: TemporaryHome, { id, error }: Sample): Promise<string> {
  await home.ok("embed", "--quiet");
  const printed: string[] = [];
  const run = async (...[script = "", ...args]: string[]) => {
    const { stdout, stderr } = await home.run(script, ...args);
    const [error = ""] = /^error: .*\n/.exec(stderr) ?? [];
    const text = `$ ${[script, ...args].join(" ")}\n${stdout}${error}`;
    printed.push(text.replaceAll(home.root, "<root>").replace(/ \[[a-z0-9]{6}\]$/gm, ""));
  };
  await run("session-reader", id, "--tools");
  await run("session-reader", id, "--outline");
  await run("session-reader", id, "--resume");
  await run("search", "raise the zebra limit");
  await run("search", "--file", "limits.txt");
  if (error !== undefined) await run("search", "--error", error);
  await run("index-meta", id, "--force");
  await run("observe-compact", id, "--observe", "--render");
  await run("forget", id, "--yes");
  await run("session-reader", id);
  await run("search", "raise the zebra limit");
  return printed.join("\n");
}

test.each(Object.keys(HOSTED))(
  "the scripts print of a session of %s what they are to print",
  async (agent) => {
    const sample = HOSTED[agent] as Sample;
    if (!existsSync(placeOf(sample))) return console.error(`no recorded session of ${agent} here`);
    using home = temporaryHome();
    cpSync(placeOf(sample), join(home.home, sample.to), { recursive: true });
    const { entries } = JSON.parse(await home.ok("session-reader", sample.id, "--no-tools", "--json"));
    const page = readFileSync(
      (await home.ok("report", sample.id, "--out", join(home.root, "p.html"))).trim(),
      "utf8",
    );
    for (const { text } of entries as { text: string }[])
      expect(page).toContain(Bun.escapeHTML(text.split("\n")[0] ?? ""));
    const printed = await transcriptOf(home, sample);
    const golden = join(SAMPLES, agent, "scripts.txt");
    if (isUpdate) writeFileSync(golden, printed);
    expect(printed).toBe(readFileSync(golden, "utf8"));
  },
);
