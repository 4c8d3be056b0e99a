/** Others' sessions where one's own are used: found, read, referred to, and told of. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { write, writeClaude } from "./support/home.ts";
import { hasPostgres, type Postgres, startPostgres } from "./support/postgres.ts";
import { initHub, type Sharer, say, sharer, uuid } from "./support/share.ts";

// A test that takes too long has its processes killed, the server among them.
setDefaultTimeout(60_000);

const ID = uuid(1);

describe.skipIf(!hasPostgres())("a session that a colleague shares", () => {
  let postgres: Postgres;
  let alice: Sharer;
  let bob: Sharer;
  beforeAll(async () => {
    postgres = await startPostgres();
    await initHub(postgres);
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
    const now = new Date().toISOString();
    write(
      `${alice.paths.meta}/${ID}.meta.json`,
      JSON.stringify({
        schemaVersion: 1,
        sessionId: ID,
        sessionFile: "/x.jsonl",
        name: "double refunds",
        description: "Refunds were booked twice",
        summary: "The ledger key was random; it is the refund's id now",
        tags: ["ledger"],
        cwd: "/x",
        createdAt: now,
        updatedAt: now,
        model: "rules",
        lastIndexedLeafId: "line:1",
      }),
    );
    say(bob, uuid(2), ["what is the port", "8443"]);
    await alice.share();
    await bob.share();
  });
  afterAll(() => {
    alice.remove();
    bob.remove();
    postgres.stop();
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

  test("is read by lines, as search names them, by words, and with what its tools gave", async () => {
    const [head = "", ...lines] = WHOLE;
    expect(plain(await read(`alice@desk:${ID.slice(0, 8)}:2-5`))).toEqual([head, ...lines.slice(1, 4)]);
    expect(plain(await read(ID, "--grep", "refund", "--speaker", "user"))).toEqual([head, lines[0] ?? ""]);
    expect(await read(ID, "--tools", "--line", "3", "--around", "0")).toContain(
      "$ bun test ledger\n  1 fail: duplicate key",
    );
    const { session, entries } = JSON.parse(await read(ID, "--json"));
    expect(session).toMatchObject({ id: ID, name: "double refunds", agent: "claude", file: null });
    expect(session.from).toEqual({ owner: "alice", machine: "desk" });
    expect(entries.map(({ line, kind }: { line: number; kind: string }) => [line, kind])).toEqual([
      [1, "user"],
      [2, "assistant"],
      [3, "tool"],
      [5, "assistant"],
      [6, "user"],
      [7, "assistant"],
    ]);
  });

  test("brings its summary into a prompt that mentions it", async () => {
    const { stdout } = await bob.run("session-reference", 'as in @@"double refunds"', "--json");
    const { references, text } = JSON.parse(stdout);
    expect(references).toEqual([
      { reference: '@@"double refunds"', outcome: "resolved", sessionId: `alice@desk:${ID}` },
    ]);
    expect(text).toContain("Refunds were booked twice");
    expect(text).toContain("The ledger key was random; it is the refund's id now");
    expect(text).toContain(`alice@desk:${ID}`);
  });

  test("does not take a reference away from an own session, and is not there once it is kept out", async () => {
    expect(await read(uuid(2))).toContain("what is the port");
    bob.configure({ exclude: { sessions: [ID] } });
    const { stderr, exitCode } = await bob.run("session-reader", `alice@desk:${ID}`);
    expect(exitCode).toBe(1);
    expect(stderr).toStartWith("error: NOT_FOUND: ");
    bob.configure({});
  });
});
