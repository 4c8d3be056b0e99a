/** Others' sessions where one's own are used: found, read, referred to, and told of. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { openStore } from "../lib/store/store.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { writeClaude, writeMeta } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import { hubPerBlock, notePull, type Sharer, say, sharer, uuid } from "./support/share.ts";

const ID = uuid(1);
const ALICE = { owner: "alice", machine: "desk" };
const server = serverPerFile();

describe.skipIf(!hasPostgres())("a session that a colleague shares", () => {
  const postgres = hubPerBlock();
  let alice: Sharer;
  let bob: Sharer;
  beforeAll(async () => {
    alice = sharer(postgres, { role: "alice", machine: "desk" });
    bob = sharer(postgres, { role: "bob", machine: "tower" });
    const at = (second: number) => new Date(Date.now() - 600_000 + second * 1000).toISOString();
    const row = (second: number) => ({ sessionId: ID, cwd: alice.project, at: at(second) });
    writeClaude(alice, {
      id: ID,
      rows: [
        claudeUser({ ...row(0), text: "why are refunds booked twice" }),
        ...claudeAssistant({
          ...row(1),
          text: "the webhook is retried and the ledger key is random",
          tools: [{ name: "Bash", id: "toolu_1", input: { command: "bun test ledger" } }],
        }),
        claudeToolResult({
          ...row(2),
          toolUseId: "toolu_1",
          content: "1 fail: duplicate key",
          isError: true,
        }),
        ...claudeAssistant({ ...row(3), text: "fixed: the key is the refund's id now" }),
        claudeUser({ ...row(4), text: "thank you, merge it" }),
        ...claudeAssistant({ ...row(5), text: "merged" }),
      ],
    });
    writeMeta(alice, {
      sessionId: ID,
      name: "double refunds",
      description: "Refunds were booked twice",
      summary: "The ledger key was random; it is the refund's id now",
      tags: ["ledger"],
      updatedAt: new Date().toISOString(),
      model: "rules",
    });
    say(bob, uuid(2), ["what is the port", "8443"]);
    await alice.run("observe-compact", ID, "--observe");
    await alice.share();
    await bob.share();
  });
  afterAll(() => {
    alice.remove();
    bob.remove();
  });

  const read = async (reference: string, ...args: string[]) => {
    const { stdout, stderr, exitCode } = await bob.run("session-reader", reference, "--utc", ...args);
    expect([exitCode, stderr]).toEqual([0, ""]);
    return stdout;
  };
  const WHOLE = [
    `# double refunds · claude · alice@desk:${ID} · github.com/acme/shop`,
    "L1 [T] User: why are refunds booked twice",
    "L2 [T] Assistant: the webhook is retried and the ledger key is random",
    "L3 [T] [Bash bun test ledger] failed",
    "L5 [T] Assistant: fixed: the key is the refund's id now",
    "L6 [T] User: thank you, merge it",
    "L7 [T] Assistant: merged",
  ];
  const plain = (text: string) =>
    text
      .trimEnd()
      .replace(/\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]/g, "[T]")
      .split("\n");

  test.each([
    ["its reference", `alice@desk:${ID}`],
    ["the start of it", `alice@desk:${ID.slice(0, 12)}`],
    ["its id", ID],
    ["its name", "Double-Refunds"],
  ])("is read by %s", async (_, reference) => {
    expect(plain(await read(reference))).toEqual(WHOLE);
  });

  test("is handed over, and restored for nobody but its owner", async () => {
    const { stderr, exitCode } = await bob.run("restore", `alice@desk:${ID}`);
    expect([exitCode, stderr.split("\n")[0]]).toEqual([
      1,
      `error: NOT_FOUND: Cannot restore "alice@desk:${ID}": it is another person's`,
    ]);
    expect(await bob.ok("handoff", `alice@desk:${ID}`)).toContain("why are refunds booked twice");
  });

  test("is described in a prompt under its reference as it is printed, with how to ask more", async () => {
    for (const written of [`@@alice@desk:${ID.slice(0, 12)}`, `@@${ID}`]) {
      const lines = (await bob.ok("session-reference", `go on with ${written}, please`))
        .trimEnd()
        .split("\n");
      expect(lines[1]).toStartWith(`${written} is "double refunds" · claude · "alice@desk:${ID}"`);
      expect(lines.at(-1)).toMatch(new RegExp(`^- to read more: sh .* session-reader '?alice@desk:${ID}`));
    }
    expect(
      await bob.ok("session-reference", "mail @@alice@desk.example: the rest, or @@alice@desk.example."),
    ).toBe("");
  });

  test("is read by lines, as search names them, by words, and with what its tools gave", async () => {
    const [head = "", ...lines] = WHOLE;
    expect(plain(await read(`alice@desk:${ID.slice(0, 8)}:2-5`))).toEqual([head, ...lines.slice(1, 4)]);
    expect(plain(await read(ID, "--grep", "refund", "--speaker", "user"))).toEqual([head, lines[0] ?? ""]);
    expect(await read(ID, "--tools", "--line", "3", "--around", "0")).toContain(
      "$ bun test ledger\n  1 fail: duplicate key",
    );
    const { session } = JSON.parse(await read(ID, "--json"));
    expect(session).toMatchObject({
      id: ID,
      name: "double refunds",
      agent: "claude",
      file: null,
      from: ALICE,
    });
  });

  test("answers a question from what is here of it, by query-session and by @@, with places that name it", async () => {
    const prices = { tiny: { input: 1, output: 1 } };
    bob.configure({ llm: { baseUrl: server.baseUrl, apiKeyEnv: "OPENAI_API_KEY", model: "tiny", prices } });
    const citations = [{ line: 5, excerpt: "the key is the refund's id now" }];
    const answer = { answer: "Its key was random.", confidence: "high", citations };
    server.script({ kind: "chat", content: JSON.stringify(answer) });
    const asked = await bob.run(
      "query-session",
      `alice@desk:${ID.slice(0, 8)}`,
      "why were refunds booked twice?",
    );
    expect([asked.stdout, asked.exitCode]).toEqual([
      `Its key was random.\n\nconfidence: high\nalice@desk:${ID}:5 "the key is the refund's id now"\n`,
      0,
    ]);
    expect(server.requests.at(-1)?.text).toContain("1 fail: duplicate key");
    server.script({ kind: "chat", content: JSON.stringify(answer) });
    const { stdout } = await bob.run("session-reference", '@@"double refunds": why were they booked twice?');
    expect(stdout).toContain("Its key was random.");
    bob.configure({});
  });

  test("shows what its owner's machine observed, and lets nobody else observe it", async () => {
    const compact = async (...args: string[]) => await bob.run("observe-compact", ...args);
    const own = await alice.run("observe-compact", ID, "--render");
    const shared = await compact(`alice@desk:${ID.slice(0, 8)}:2-5`, "--render");
    expect([shared.exitCode, shared.stderr, shared.stdout]).toEqual([0, "", own.stdout]);
    const { session } = JSON.parse((await compact(ID, "--json")).stdout);
    expect(session).toEqual({ id: ID, name: "double refunds", agent: "claude", file: "", from: ALICE });
    const { stdout: cut } = await compact(ID, "--max-chars", "250");
    const [, kept = "", leftOut] = /^([\s\S]*\n)\((\d+) more lines left out\)\n$/.exec(cut) ?? [];
    expect([[...cut].length <= 251, kept !== "" && own.stdout.startsWith(kept)]).toEqual([true, true]);
    expect(own.stdout.slice(kept.length).split("\n").filter(Boolean)).toHaveLength(Number(leftOut));
    const refused = await compact(`alice@desk:${ID}`, "--observe");
    expect([refused.exitCode, refused.stdout, refused.stderr]).toEqual([
      1,
      "",
      `error: VALIDATION_ERROR: Cannot observe "alice@desk:${ID}": alice@desk does, and shares the result\nhint: see it with --render\n`,
    ]);
  });

  const search = async (...args: string[]) => {
    const { stdout, exitCode, stderr } = await bob.run("search", ...args);
    expect([exitCode, stderr.includes("error")]).toEqual([0, false]);
    return stdout;
  };
  const found = async (...args: string[]) =>
    (JSON.parse(await search(...args, "--json")).results as { session_id: string; from?: object }[]).map(
      ({ session_id, from }) => [session_id, from],
    );

  test("is found, with whose it is and a place that the reader takes as it stands", async () => {
    expect(await found("why are refunds booked twice")).toEqual([[ID, ALICE]]);
    const [head = ""] = (await search("why are refunds booked twice", "ledger key random")).split("\n");
    expect(head).toMatch(/^1\. alice@desk:0{8}\S*:\d+-\d+ · double refunds · shop · /);
    const [, place = ""] = head.split(" ");
    expect(await read(place)).toContain("the webhook is retried and the ledger key is random");
  });

  test("is left out by --own, and found by project, session and agent", async () => {
    const question = "why are refunds booked twice";
    expect(await found(question, "--own")).toEqual([]);
    for (const filter of [
      ["--project", "."],
      ["--project", "shop"],
      ["--session", `alice@desk:${ID}`],
      ["--session", "double refunds"],
      ["--agent", "claude"],
    ]) {
      expect([filter, await found(question, ...filter)]).toEqual([filter, [[ID, ALICE]]]);
    }
    for (const filter of [
      ["--project", "other"],
      ["--session", uuid(2)],
      ["--agent", "pi"],
      ["--after", "2099"],
    ]) {
      expect([filter, await found(question, ...filter)]).toEqual([filter, []]);
    }
  });

  test("is read whole from its copy, is in no list of own sessions, and comes back where its copy or the list was lost", async () => {
    const listed = await bob.json("session-reader", "--list");
    expect(listed.sessions.map(({ id }: { id: string }) => id)).toEqual([uuid(2)]);
    const all = await bob.ok("session-reader", "--list", "--shared", "--project", ".", "--resume");
    expect(all).toContain(`double refunds · alice@desk:${ID} · claude · github.com/acme/shop`);
    expect(all.match(/claude --resume/g)).toHaveLength(1);
    expect(await bob.ok("session-reader", "--list", "--shared", "--agent", "pi")).toBe("");
    rmSync(bob.paths.copies, { recursive: true });
    await bob.share("--pull");
    expect(plain(await read(ID))).toEqual(WHOLE);
    for (const part of ["", "-wal", "-shm"]) rmSync(bob.paths.database + part, { force: true });
    expect(plain(await read(ID))).toEqual(WHOLE);
    expect(await found("why are refunds booked twice")).toEqual([[ID, ALICE]]);
    const own = await bob.ok("search", "why are refunds booked twice", "--json", "--own");
    expect(JSON.parse(own).results).toEqual([]);
    const { metrics } = await bob.json("health");
    expect(metrics.totalSessions).toBe(1);
    await bob.share("--pull");
    expect(plain(await read(ID))).toEqual(WHOLE);
    expect(await bob.ok("session-reference", '@@"double refunds"')).toContain("Refunds were booked twice");
  });

  test("counts once where its transcript is here as well", async () => {
    writeClaude(bob, {
      id: ID,
      rows: [claudeUser({ sessionId: ID, cwd: bob.project, text: "why are refunds booked twice" })],
    });
    expect(await found("why are refunds booked twice")).toEqual([[ID, undefined]]);
    await bob.share("--pull");
    expect(await found("why are refunds booked twice")).toEqual([[ID, undefined]]);
  });

  test("is not searched any more when nothing has been pulled for 30 days", async () => {
    say(alice, uuid(3), ["where is the badger", "in the set"]);
    await alice.share();
    await bob.share();
    expect(await found("where is the badger")).toEqual([[uuid(3), ALICE]]);
    notePull(bob, 31);
    expect(await found("where is the badger")).toEqual([]);
    notePull(bob, 29);
    expect(await found("where is the badger")).toEqual([[uuid(3), ALICE]]);
  });

  test("is what the first prompt brings in a new clone, where it is the project's last", async () => {
    using carol = sharer(postgres, { role: "bob", machine: "attic" });
    await carol.share("--pull");
    delete carol.env.SESSION_MEMORY_HUB_URL;
    const session = { session_id: uuid(40), transcript_path: "/none.jsonl", cwd: carol.project };
    const begin = async () => {
      const { stdout } = await carol.hook("session-start", { ...session, source: "startup" });
      expect(stdout).not.toContain("additionalContext");
      return await carol.prompt("go on", session);
    };
    expect(await begin()).not.toContain("the last session in this project"); // the digest names it
    carol.configure({ activity: { digest: false } });
    const additionalContext = await begin();
    expect(additionalContext).toMatch(
      /the last session in this project was ".+" \(\S+ ago\).* Read on: sh \S+ session-reader 'alice@desk:00000000' --outline$/,
    );
    expect([...additionalContext].length).toBeLessThanOrEqual(400);
  });

  test("is told of once before a prompt in the same project, and nowhere else", async () => {
    const prompt = (cwd: string, session_id: string) => bob.prompt("go on", { cwd, session_id });
    say(alice, uuid(20), ["where is the puffin", "on the cliff"]);
    await alice.share();
    await bob.share();
    expect(await prompt(bob.root, uuid(30))).not.toContain("puffin");
    const told = await prompt(bob.project, uuid(31));
    expect(told).toStartWith("[Session Activity] ");
    expect(told).toContain("alice@desk:00000000");
    expect(told).toContain('"where is the puffin"');
    expect(told).toContain('"on the cliff"');
    expect(await prompt(bob.project, uuid(31))).not.toContain("puffin");
    say(alice, uuid(20), ["where is the puffin", "on the cliff"], ["and its nest", "in a burrow"]);
    await alice.share();
    await bob.share();
    expect(await prompt(bob.project, uuid(31))).toContain("in a burrow");
  });

  test("has an id that forges no line, and its subagent the same parent, whatever the hub holds", async () => {
    for (const id of [21, 22]) say(alice, uuid(id), [`where is newt ${id}`, "under a leaf"]);
    await alice.share();
    const id = "a\n2. forged\u001b[31m";
    postgres.sql(`UPDATE session_memory.sessions SET id = E'a\\n2. forged\\x1b[31m' WHERE id = '${uuid(21)}';
      UPDATE session_memory.sessions SET parent_id = E'a\\n2. forged\\x1b[31m' WHERE id = '${uuid(22)}'`);
    await bob.share();
    const replica = openStore(bob.paths.database);
    const rows = replica.prepare("SELECT id, parent_id FROM sessions").all();
    replica.close();
    const own = rows.find((row) => String(row.id).includes("forged"))?.id;
    expect(own).toBe(`alice@desk:${id.replace(/[\n\u001b ]/g, "_")}`);
    expect(rows.find((row) => row.id === `alice@desk:${uuid(22)}`)?.parent_id).toBe(own);
    expect(await search("where is newt 21")).not.toContain("forged\u001b");
  });

  test("does not take a reference away from an own session, and is not there once it is kept out", async () => {
    expect(await read(uuid(2))).toContain("what is the port");
    bob.configure({ exclude: { sessions: [ID] } });
    const { stderr, exitCode } = await bob.run("session-reader", `alice@desk:${ID}`);
    expect(exitCode).toBe(1);
    expect(stderr).toStartWith("error: NOT_FOUND: ");
    bob.configure({});
  });

  test("holds no word of the user's to whom it is handed over", async () => {
    say(alice, uuid(60), ["never book a refund twice", "I book each once."], ["now merge it", "merged"]);
    await alice.share();
    await bob.share();
    const page = await bob.ok("handoff", `alice@desk:${uuid(60)}`);
    expect(page).toContain('## Asked\n- L1 "never book a refund twice"');
    expect(page).not.toContain("Decided and forbidden");
  });
});
