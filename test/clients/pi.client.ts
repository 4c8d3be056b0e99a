/** The package in the real pi, whose model is a server on loopback. Run by `bun run test:clients`. */

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { write } from "../support/home.ts";
import { type ClientHome, logged } from "./client.ts";
import { ACTIVITY, goesOnWithRestored, keepsRules, type Lab, tellsOfOthers } from "./hooked.ts";
import { CLIENTS, installed, nameOf, unpackedPi } from "./install.ts";
import { type Answer, type ModelRequest, startChat } from "./models.ts";
import { type PiOptions, type PiRpc, piHome, runPi, sessionEntries, startRpc } from "./pi.ts";

const modules = await installed(CLIENTS.piOld);
const cli = join(modules ?? "", "@earendil-works/pi-coding-agent/dist/cli.js");
const node = join(modules ?? "", "node/bin/node");
const onNode = [node, cli];
const newest = modules ? await unpackedPi(node) : undefined;
const runtimes: [string, string[] | undefined][] = [
  [`${nameOf(CLIENTS.piOld)} on Node 22`, modules ? onNode : undefined],
  [`${nameOf(CLIENTS.piOld)} on Bun`, modules ? [process.execPath, cli] : undefined],
  [`${nameOf(CLIENTS.pi)} on Node 22`, newest],
];

const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const clean of cleanups) clean();
});

interface PiLab extends Lab {
  /** Runs one prompt, or what goes on with the newest session. */
  ask(text: string, ...args: string[]): Promise<void>;
  rpc(...args: string[]): PiRpc;
}

async function lab(options: Partial<PiOptions> = {}, answer?: Answer): Promise<PiLab> {
  const model = startChat(answer);
  const command = options.command ?? onNode;
  const home = await piHome({ ...options, command, url: model.url });
  cleanups.push(() => {
    model.stop();
    home.remove();
  });
  const ask = async (text: string, ...args: string[]) =>
    void (await runPi(command, home, ...args, "-p", text));
  return {
    home,
    model,
    project: home.project,
    shell: (command) => ({ tool: "bash", input: { command } }),
    ask,
    async prompt(text, session) {
      await ask(text, ...(session === undefined ? [] : ["--session", session]));
      return String(sessionEntries(home)[0]?.id);
    },
    rpc: (...args) => startRpc(command, home, args),
  };
}

/** Small enough that a few prompts come to a compaction. */
const SMALL = { compaction: { keepRecentTokens: 100 }, contextWindow: 60_000 };
const RULES = { observe: { model: "none", rules: true, observerTokens: 100_000 } };
const LEDGER = "session-memory:observations";
const LONG = `Please keep the port 8443 for the gateway. ${"The deploy notes say more about it. ".repeat(40)}`;

function custom(home: ClientHome, type: string) {
  return sessionEntries(home).filter((entry) => entry.customType === type);
}

/** Whether the observer asks. */
function isObserving({ raw }: ModelRequest): boolean {
  return raw.includes('\\"observations\\"');
}

function observation({ messages }: ModelRequest): string {
  const line = Number(/(?:^|\n)\D{0,3}(\d+)\D/.exec(messages.at(-1)?.text ?? "")?.[1]);
  return JSON.stringify({
    observations: [{ priority: "red", text: "The gateway keeps port 8443", sources: [line] }],
  });
}

function notifications(rpc: PiRpc): string[] {
  return rpc.events.filter((event) => event.method === "notify").map((event) => String(event.message));
}

for (const [name, command = []] of runtimes) {
  describe.skipIf(command.length === 0)(name, () => {
    const story = tellsOfOthers((answer) => lab({ command }, answer), { welcome: false });

    test("keeps digest, reference and ends of errors as messages of their own, sent after what they are of", async () => {
      const { lab, heard } = await story();
      const [, met, again] = heard.map(({ messages }) => messages.map(({ text }) => text));
      const at = met?.findIndex((text) => text.startsWith("Why does the gateway")) ?? -1;
      const [, activity, reference] = met?.slice(at + 1) ?? []; // behind the rules
      expect(activity).toStartWith(`${ACTIVITY}\n- `);
      const told = (type: string) => custom(lab.home, type).map((entry) => entry.content);
      expect(told("session-update")).toContain(activity);
      expect(told("session-reference")[0]).toBe(reference);
      const [result, said] = met?.slice(-2) ?? [];
      expect(result).toStartWith("deploy: cannot find the zebra config");
      expect(result).not.toContain("Seen Before");
      expect(told("seen-before")).toEqual([said]);
      expect(again?.slice(0, met?.length)).toEqual(met); // the prefix stays, so the host's cache does
    });
    if (name.endsWith("on Bun")) keepsRules(story);
    goesOnWithRestored(story, (lab, text, { file }) =>
      runPi(command, lab.home, "--session", file, "-p", text),
    );

    test("puts rendered observations in the place of pi's summary when rules may", async () => {
      const { home, model, rpc } = await lab({ command, ...SMALL });
      home.configure(RULES);
      const pi = rpc();
      await pi.prompt(LONG);
      await pi.prompt(`And now the tests. ${LONG}`);
      const before = model.requests.length;
      const { success } = await pi.call({ type: "compact" });
      expect({ success, asked: model.requests.length - before }).toEqual({ success: true, asked: 0 });
      const compaction = sessionEntries(home).findLast(({ type }) => type === "compaction");
      expect(compaction?.fromHook).toBe(true);
      expect(compaction?.summary).toContain("## Observations");
      expect(compaction?.summary).toContain("keep the port 8443 for the gateway");
      expect(compaction?.details).toMatchObject({ schemaVersion: 1 });
      await pi.prompt("go on");
      expect(model.requests.at(-1)?.messages.some(({ text }) => text.includes("## Observations"))).toBe(true);
      expect(await pi.end()).toEqual({ exitCode: 0, stderr: "" });
    });
  });
}

describe.skipIf(!modules)("pi 0.87.1", () => {
  test("observes by the host's model in the background, and compacts by itself when enough has come together and a person agrees", async () => {
    const { home, rpc } = await lab(SMALL, (request) =>
      isObserving(request) ? observation(request) : undefined,
    );
    home.configure({ observe: { observerTokens: 900, retainTokens: 300, stepTokens: 300 } });
    const pi = rpc();
    const compacted = pi.waitFor("compaction_end", ({ type }) => type === "compaction_end");
    const question = pi.waitFor("the question", ({ method }) => method === "select");
    let isAsked = false;
    const noted = () => {
      isAsked = true;
    };
    void question.then(noted, noted);
    // what is observed while no turn ends is counted at the end of the next one
    for (let turn = 0; turn < 4 || (!isAsked && turn < 40); turn++) await pi.prompt(`${turn}: ${LONG}`);
    const { options } = await question;
    pi.answer(await question, (options as string[])[0] ?? "");
    await compacted;
    const entries = sessionEntries(home);
    expect(entries.some(({ customType }) => customType === "session-memory:observations")).toBe(true);
    const compaction = entries.findLast(({ type }) => type === "compaction");
    expect(compaction?.summary).toContain("8443");
    const said = pi.events.filter(({ method }) => method === "setStatus").map((event) => event.statusText);
    const announced =
      "observing with fake/fake-1, at most $1.00 a day · to switch it off: /obs-auto-compact off";
    expect(said.filter((text) => text === announced)).toHaveLength(1);
    for (let turn = 0; turn < 4; turn++) await pi.prompt(`again ${turn}: ${LONG}`);
    expect(pi.events.filter(({ method }) => method === "select")).toHaveLength(1);
    await pi.end();
  });

  test("observes on in a new session, and what the change cut off is no failure", async () => {
    let isHeld = true;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { home, model, rpc } = await lab(SMALL, async (request) => {
      if (!isObserving(request)) return undefined;
      if (isHeld) await held;
      return observation(request);
    });
    home.configure({ observe: { retainTokens: 0, stepTokens: 300 } });
    const asked = () => model.requests.filter(isObserving).length;
    const pi = rpc();
    for (let turn = 0; turn < 3; turn++) await pi.prompt(`${turn}: ${LONG}`);
    await eventually("a step under way", () => asked() > 0);
    expect((await pi.call({ type: "new_session" })).success).toBe(true);
    isHeld = false;
    for (let turn = 0; turn < 3; turn++) await pi.prompt(`again ${turn}: ${LONG}`);
    await eventually("a step in the new session", () => custom(home, LEDGER).length > 0);
    release();
    expect(await pi.end()).toEqual({ exitCode: 0, stderr: "" });
    const folder = home.paths.observations;
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  });

  test("says which models are not there and goes by rules; a session not kept has no memory to look at", async () => {
    const { home, model, rpc } = await lab();
    home.configure({ modelKeys: ["fake/none", "nobody/fake-1"] });
    const pi = rpc("--no-session");
    await pi.prompt(LONG);
    for (const command of ["/obs-memory-status", "/obs-rebuild", "/obs-view", "/index-session"])
      await pi.prompt(command);
    await pi.call({ type: "compact" });
    const said = notifications(pi);
    expect(said).toContain("This session is not kept: there is nothing to index");
    expect(existsSync(join(home.paths.pi, "sessions-meta"))).toBe(false);
    for (const key of ["fake/none", "nobody/fake-1"])
      expect(said).toContain(`session-memory: pi has no model "${key}", which modelKeys names`);
    expect(said.filter((text) => text.includes("it is not kept in a file"))).toHaveLength(3);
    expect(model.requests.filter(isObserving)).toEqual([]);
    expect(await pi.end()).toEqual({ exitCode: 0, stderr: "" });
    expect(existsSync(home.paths.observations)).toBe(false);
  });

  test("names the session on command, with status line and telemetry entry", async () => {
    const { home, rpc } = await lab();
    const pi = rpc();
    await pi.prompt("Why does the login test fail on Mondays?");
    await pi.prompt("/index-session");
    const status = pi.events.find(
      (event) => event.method === "setStatus" && event.statusKey === "session-index",
    );
    expect(String(status?.statusText)).toMatch(/^indexed ".*login test.*" \(\$0\.0000\)$/i);
    const [telemetry] = custom(home, "session-index:index");
    expect(telemetry?.data).toMatchObject({ success: true, model: "rules" });
    const { sessionId } = (telemetry?.data ?? {}) as { sessionId?: string };
    expect(existsSync(join(home.paths.pi, "sessions-meta", `${sessionId}.meta.json`))).toBe(true);
    await pi.end();
  });

  test("names the session by the host's model once enough was said, and tells when that fails", async () => {
    let isDown = false;
    const { home, model, rpc } = await lab({}, ({ raw }) => {
      if (!raw.includes("catalogue conversations")) return undefined;
      if (isDown) return "no JSON at all";
      const answer = { name: "Login test failing on Mondays", description: "d", summary: "s", tags: ["ci"] };
      return JSON.stringify(answer);
    });
    home.configure({ modelKeys: ["fake/fake-1"], minNewUserMessages: 2, observe: { auto: false } });
    const asked = () => model.requests.filter(({ raw }) => raw.includes("catalogue conversations")).length;
    const pi = rpc();
    await pi.prompt("Why does the login test fail on Mondays?");
    await pi.prompt("And on CI?");
    const [entry] = await eventually("the telemetry entry", () => {
      const entries = custom(home, "session-index:index");
      return entries.length > 0 ? entries : undefined;
    });
    const { sessionId, timestamp, usage, ...rest } = (entry?.data ?? {}) as Record<string, unknown>;
    expect(rest).toEqual({ success: true, model: "fake/fake-1" });
    expect(usage).toEqual({ input: expect.any(Number), output: 20 });
    expect(Number.isNaN(Date.parse(String(timestamp)))).toBe(false);
    const file = join(home.paths.pi, "sessions-meta", `${sessionId}.meta.json`);
    expect(JSON.parse(readFileSync(file, "utf8")).name).toBe("Login test failing on Mondays");
    expect(asked()).toBe(1);
    isDown = true;
    await pi.prompt("/index-session");
    const failed = custom(home, "session-index:index").at(-1)?.data as Record<string, unknown>;
    expect([failed.success, failed.model, String(failed.error).split(":", 1)[0]]).toEqual([
      false,
      "fake/fake-1",
      "MODEL_FAILED",
    ]);
    const said = pi.events.filter(({ method }) => method === "setStatus").map((event) => event.statusText);
    expect(
      said.some((text) => /^indexed "Login test failing on Mondays" \(\$0\.\d{4}\)$/.test(`${text}`)),
    ).toBe(true);
    expect(said.some((text) => `${text}`.startsWith("indexing failed: MODEL_FAILED"))).toBe(true);
    expect([asked(), JSON.parse(readFileSync(file, "utf8")).model]).toEqual([4, "fake/fake-1"]);
    await pi.end();
  });

  test("answers every observation command", async () => {
    const { home, rpc } = await lab(SMALL);
    home.configure(RULES);
    const pi = rpc();
    await pi.prompt(LONG);
    for (const command of [
      "/obs-rebuild",
      "/obs-memory-status",
      "/obs-auto-compact off buffered 20000 30000 5000",
      "/obs-mode blocking",
      "/obs-view obs raw 50",
      "/obs-reflect the port",
      "/obs-dump",
    ]) {
      const before = notifications(pi).length;
      await pi.prompt(command);
      await eventually(`an answer to ${command}`, () => notifications(pi).length > before);
    }
    const said = notifications(pi);
    expect(said[0]).toMatch(/^observed again: [1-9]\d* observations in 1 steps$/);
    expect(said[2]).toBe(
      "observations: buffered, automatic off, compact at 20000 + 5000 retained, reflect at 30000",
    );
    expect(said[3]).toBe(
      "observations: blocking, automatic off, compact at 20000 + 5000 retained, reflect at 30000",
    );
    expect(said[4]).toContain("8443");
    expect(said[6]).toContain('"kind":"observed"');
    await pi.end();
  });

  test("summarises a branch that is left", async () => {
    const { home, rpc } = await lab(SMALL);
    home.configure(RULES);
    const toy = write(
      join(home.root, "tree.ts"),
      `export default function (pi) {
  pi.registerCommand("back", { description: "to the first prompt", handler: async (_, context) => {
    const first = context.sessionManager.getEntries().find((entry) => entry.type === "message" && entry.message.role === "user");
    await context.navigateTree(first.id, { summarize: true });
  } });
}
`,
    );
    const pi = rpc("-e", toy);
    await pi.prompt("first");
    await pi.prompt(LONG);
    await pi.prompt("/back");
    const summary = await eventually("the branch summary", () =>
      sessionEntries(home).find(({ type }) => type === "branch_summary"),
    );
    expect(summary.fromHook).toBe(true);
    expect(summary.summary).toContain("8443");
    await pi.end();
  });

  test("indexes in the background without Bun, and the note of /new is saved", async () => {
    const { home, rpc } = await lab({ bun: false });
    const pi = rpc();
    await pi.prompt("Please keep the port 8443 for the gateway.");
    await eventually("the index", () => existsSync(home.paths.database));
    const { success } = await pi.call({ type: "new_session" });
    expect(success).toBe(true);
    const saved = await eventually("the note", () => logged(home, '"save-session"')[0]);
    const note = JSON.parse(saved);
    expect(note.ok).toBe(true);
    expect(readFileSync(note.path, "utf8")).toContain("User: Please keep the port 8443");
    await pi.end();
  });

  test("indexes in small slices in its own process where nothing else can run us", async () => {
    const { home, rpc } = await lab({ bun: false, underModules: true });
    const pi = rpc();
    await pi.prompt("Please keep the port 8443 for the gateway.");
    // pi transpiles each of our files here.
    await eventually("the index", () => existsSync(home.paths.database), 120);
    const search = () => home.run("search", "gateway port", "--no-index");
    const isFound = async () => {
      if ((await search()).stdout.includes("8443")) return true;
      await pi.prompt("go on"); // a slice that began before pi had written a turn leaves it to the next one
      return false;
    };
    await eventually("the rows", isFound, 120);
    expect(await pi.end()).toEqual({ exitCode: 0, stderr: "" });
  });

  test.each([
    ["a clone", {}],
    ["a published package", { underModules: true, isBuilt: true }],
  ])("transpiles of %s index.ts alone, which imports the rest natively", async (_what, options) => {
    const { home, ask } = await lab(options);
    await ask("Please keep the port 8443 for the gateway.");
    const transpiled = readdirSync(join(home.root, "tmp", "jiti"));
    expect(transpiled.map((name) => name.split(".")[0])).toEqual(["session-memory-index"]);
  });

  test("runs on as if we were not there when config.json is broken, and says so once", async () => {
    const { home, rpc } = await lab();
    write(home.paths.config, "{");
    const pi = rpc();
    await pi.prompt("hello");
    expect(notifications(pi).filter((text) => text.includes("session-memory does nothing")).length).toBe(1);
    expect(await pi.end()).toEqual({ exitCode: 0, stderr: "" });
  });
});
