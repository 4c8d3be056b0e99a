/** What the hosts' own programs wrote, with hooks, subagents, resumes and compactions: read, listed and searched. */

import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FOREIGN_LABEL } from "../lib/base/text.ts";
import { findHost } from "../lib/transcripts/hosts.ts";
import { readEntries } from "./support/entries.ts";
import { type TemporaryHome, temporaryHome } from "./support/home.ts";
import { jsonl } from "./support/rows.ts";
import { ROOT } from "./support/run.ts";

const SAMPLES = join(import.meta.dir, "samples");
/** Begins every text that a hook or a plugin added while the samples were recorded. */
const ADDED = "PROBE-";
/** Stands in what the summariser answered. */
const SUMMARY = "FAKE-SUMMARY";

/** Makes a home in which a host left its sample. */
function homeWith(agent: string): TemporaryHome {
  const home = temporaryHome();
  const { home: place = "" } = findHost(agent) ?? {};
  cpSync(join(SAMPLES, agent), home.paths.expand(place), { recursive: true });
  return home;
}

async function listed(home: TemporaryHome, ...flags: string[]): Promise<string[]> {
  const { sessions } = JSON.parse(await home.ok("session-reader", "--list", "--json", ...flags));
  return sessions.map(({ id }: { id: string }) => id).sort();
}

/** Returns what was said, and each call with its outcome and result. */
async function log(home: TemporaryHome, id: string): Promise<string[]> {
  const { entries } = JSON.parse(await home.ok("session-reader", id, "--tools", "--json"));
  return entries.map(
    ({
      kind,
      text,
      tool,
    }: {
      kind: string;
      text: string;
      tool?: { target: string; failed: boolean; result?: string };
    }) =>
      tool
        ? `${tool.target}${tool.failed ? " FAILED" : ""}: ${tool.result ?? ""}`.trim()
        : `${kind}: ${text.split("\n")[0]}`,
  );
}

describe("Claude Code 2.1.330", () => {
  const ID = "cf31cd9e-6ded-492c-b0ed-1113c60b9121";

  test("an output that it keeps beside the transcript is the command's, and nothing that a hook added", async () => {
    using home = homeWith("claude");
    const kept = join(SAMPLES, "claude", "projects", "-home-dev-proj", ID, "tool-results", "bhc0h064j.txt");
    const lines = await log(home, ID);
    expect(lines).toEqual([
      "user: Raise the zebra limit",
      "echo out; echo oops >&2; exit 3 FAILED: Exit code 3\nout\noops",
      "/home/dev/proj/limits.txt: 1\tlimit=10\n2",
      `seq 1 20000: ${readFileSync(kept, "utf8").trim()}`,
      "/home/dev/proj/limits.txt:",
      "assistant: The zebra limit is done.",
    ]);
    expect(lines.join("\n")).not.toContain(ADDED);
  });

  test("the prompts of a session without a transcript are one of them alone", async () => {
    using home = homeWith("claude");
    expect(await listed(home)).toEqual(["7e169211-8dbe-4e92-98f2-9945cbb58e14", ID]);
    expect(await log(home, "7e169211")).toEqual(["user: Raise the zebra limit", "user: run it with a 😀"]);
  });
});

describe("Qwen Code 0.24", () => {
  const [SESSION, PARENT] = ["e992604e-598f-4218-9266-db99faeeb398", "de280e3e-08e9-4411-8b97-c73228b3a67d"];
  const SUBAGENT = "agent-general-purpose-call_001_0";

  test("a prompt is what was typed, and a command's output what it printed", async () => {
    using home = homeWith("qwen");
    const [prompt, command] = await log(home, SESSION);
    expect([prompt, command]).toEqual([
      "user: Raise the zebra limit",
      "echo out; echo oops >&2; exit 3 FAILED: out\noops",
    ]);
  });

  test("notifications and reminders are nobody's words", async () => {
    using home = homeWith("qwen");
    const words = (await log(home, PARENT)).filter((line) => line.startsWith("user: "));
    expect(words).toEqual(["user: delegate it", "user: go on", "user: go on again"]);
  });

  test("a subagent's file is a session of its parent, left out unless it is asked for", async () => {
    using home = homeWith("qwen");
    expect(await listed(home)).toEqual([PARENT, SESSION]);
    expect(await listed(home, "--subagents")).toEqual([SUBAGENT, PARENT, SESSION]);
    const file = join(home.home, ".qwen/projects/-home-dev-proj/subagents", PARENT, `${SUBAGENT}.jsonl`);
    const { session } = JSON.parse(await home.ok("session-reader", file, "--json"));
    expect(session.id).toBe(SUBAGENT);
  });

  test("what we added to a result that it keeps nowhere without that is cut off", () => {
    using home = temporaryHome();
    const file = join(home.root, "x.jsonl");
    const error = `File not found: a.ts\n\n[Seen Before] ${FOREIGN_LABEL}\n- the zebra was ended so`;
    const row = {
      uuid: "1",
      sessionId: PARENT,
      timestamp: "2026-11-22T21:32:05.629Z",
      cwd: "/a",
      type: "tool_result",
    };
    const part = { functionResponse: { id: "c", name: "read_file", response: { error } } };
    const state = { callId: "c", status: "error", resultDisplay: error };
    writeFileSync(file, jsonl({ ...row, message: { role: "user", parts: [part] }, toolCallResult: state }));
    const [result] = [...readEntries(file, { results: true })];
    expect([result?.text, result?.isError]).toEqual(["File not found: a.ts", true]);
  });
});

describe("Gemini CLI 0.61", () => {
  const [RESUMED, COMPRESSED] = [
    "d3d19fa3-0874-47fa-be88-99e5a5386c5f",
    "4eeae847-aff1-41b8-a92e-1ad6578e04da",
  ];

  test("what hooks added is in no prompt and no output, and a resumed history is told once", async () => {
    using home = homeWith("gemini");
    expect(await log(home, RESUMED)).toEqual([
      "user: first",
      "assistant: one",
      "user: again",
      "assistant: resumed",
    ]);
    expect(await log(home, COMPRESSED)).toEqual([
      "user: third",
      "assistant: three",
      "user: compress",
      "echo big: big",
      "assistant: after compress",
    ]);
  });

  test("the empty file that a resume begins takes no session's place", async () => {
    using home = homeWith("gemini");
    expect(await listed(home)).toEqual([COMPRESSED, RESUMED].sort());
    const chats = join(home.home, ".gemini/tmp/proj/chats");
    const stub = join(chats, "session-2026-11-22T21-23-d3d19fa3.jsonl");
    writeFileSync(stub, readFileSync(stub)); // the newest
    const { session } = JSON.parse(await home.ok("session-reader", RESUMED, "--json"));
    expect(session.file).toBe(join(chats, "session-2026-11-22T21-22-d3d19fa3.jsonl"));
  });

  test("that it deletes what was resumed is said beside the command and by health", async () => {
    using home = homeWith("gemini");
    const about = "Gemini CLI 0.61 deletes a resumed session at its next start: copy its transcript first";
    expect(await home.ok("session-reader", "--list", "--resume")).toContain(
      `   gemini --resume ${RESUMED}  # ${about}\n`,
    );
    const { stdout, stderr } = await home.run("session-reader", RESUMED, "--resume");
    expect([stdout, stderr.includes(about)]).toEqual([`gemini --resume ${RESUMED}\n`, true]);
    const { findings } = JSON.parse((await home.run("health", "--json")).stdout);
    const found = findings.filter(({ what }: { what: string }) => what.includes("that was resumed"));
    expect(found).toEqual([
      {
        level: "warning",
        what: `Gemini CLI 0.61 deletes a session that was resumed when it next starts in that project: ${join(home.home, ".gemini/tmp/proj/chats/session-*-d3d19fa3.jsonl")}`,
        remedy: "copy these files to another folder before",
      },
    ]);
  });
});

describe("Copilot CLI 1.0.102", () => {
  test("outputs are without a hook's guidance, and a failing command has failed", async () => {
    using home = homeWith("copilot");
    expect(await log(home, "52dca244-e438-46cf-8b37-0991d9bb0b32")).toEqual([
      "user: Raise the zebra limit",
      "exit 3 FAILED:",
      "/home/dev/proj/none.txt FAILED: Path does not exist",
      "/home/dev/proj/limits.txt:",
      "assistant: ok",
    ]);
  });

  test("subagents inside the file, hook rows and a cancelled compaction are no part of it", async () => {
    using home = homeWith("copilot");
    expect(await log(home, "dd416c70-8243-47cd-bc68-04e49ee8882f")).toEqual([
      "user: delegate it",
      "count: One.",
      "assistant: The helper counted.",
      "user: second prompt",
      "echo a: a",
      "assistant: ok after",
      "user: third prompt",
      "echo a: a",
      "sleep 2:",
      "summary: <overview>",
      "assistant: ok after",
    ]);
  });
});

describe("opencode 1.18", () => {
  const RECORDED = join(ROOT, "..", "shared/facts/hosts-2/opencode/opencode.db");
  const isThere = existsSync(RECORDED);

  test.skipIf(!isThere)(
    "outputs are without a plugin's words, and a summary is no answer (if recorded)",
    async () => {
      using home = temporaryHome();
      cpSync(RECORDED, join(home.home, ".local/share/opencode/opencode.db"));
      const shown = await log(home, "ses_dfaf61419ffePWkPox4D5nzPzl");
      expect(shown.filter((line) => !/^(?:user|assistant): /.test(line))).toEqual([
        "echo out; echo oops >&2; exit 3 FAILED: out\noops",
        "ls /nonexistent FAILED: ls: cannot access '/nonexistent': No such file or directory",
        `summary: <state_snapshot>${SUMMARY} of what was said.</state_snapshot>`,
      ]);
      expect(shown.filter((line) => line.includes(ADDED))).toEqual([]);
    },
  );
});

describe("Kilo Code 7.7", () => {
  const RECORDED = join(ROOT, "..", "shared/facts/hosts-2/kilo/kilo.db");

  test.skipIf(!existsSync(RECORDED))(
    "its database is read as opencode's, whose fork it is (if recorded)",
    async () => {
      using home = temporaryHome();
      cpSync(RECORDED, join(home.home, ".local/share/kilo/kilo.db"));
      const [id = ""] = await listed(home, "--agent", "kilo");
      const shown = await log(home, id);
      expect(shown.filter((line) => !line.startsWith("/home/dev/proj/limits.txt: <path>"))).toEqual([
        "user: Raise the zebra limit",
        "echo out; echo oops >&2; exit 3 FAILED: out\noops",
        "/home/dev/proj/limits.txt:",
        "assistant: The zebra limit is 20 now.",
      ]);
    },
  );
});

describe("Factory Droid 0.215", () => {
  const [EDITED, DELEGATED] = [
    "cfcc75a2-953d-436d-8953-7e7702f05c71",
    "20a9dd37-6c0a-4488-a4c4-dd2cdc3427d3",
  ];

  test("hooks' runs and what the client tells the model are nobody's words", async () => {
    using home = homeWith("droid");
    expect(await log(home, EDITED)).toEqual([
      "user: Raise the zebra limit",
      "echo out; echo oops >&2; exit 3 FAILED: out\noops",
      "/home/dev/proj/limits.txt:",
      "assistant: The zebra limit is 20 now.",
    ]);
    expect(await log(home, DELEGATED)).toEqual([
      "user: delegate it",
      "count FAILED: Error: Error running task subagent: Could not reach the daemon. It may still be starting.",
      "assistant: One.",
    ]);
    const { entries } = JSON.parse(await home.ok("session-reader", EDITED, "--tools", "--json"));
    expect(entries[2].tool.input).toBe("@@\n-limit=10\n+limit=20");
  });
});

describe("Cline 3.0", () => {
  const [FAILING, COMPACTED, PARENT] = ["1795385616973_0m96p", "1795385665732_xzz0e", "1795385814651_e5557"];
  const CHILD = `${PARENT}__agent_1795385817369_us8lr2`;

  test("prompts are what was typed, outputs what was printed, and what plugins add is neither", async () => {
    using home = homeWith("cline");
    expect(await log(home, FAILING)).toEqual([
      "user: Raise the zebra limit",
      "echo out; echo oops >&2; exit 3 FAILED: out\noops",
      "assistant: x",
    ]);
    expect(await log(home, PARENT)).toEqual([
      "user: delegate please",
      expect.stringContaining("Count to one"),
      "assistant: sub done",
    ]);
  });

  test("a summary stands behind what it sums up, and is no answer", async () => {
    using home = homeWith("cline");
    expect(await log(home, COMPACTED)).toEqual([
      "user: again",
      "assistant: First",
      `summary: <state_snapshot>${SUMMARY} of what was said.</state_snapshot>`,
    ]);
  });

  test("a subagent's document is a session of its parent's folder, left out unless it is asked for", async () => {
    using home = homeWith("cline");
    expect(await listed(home)).toEqual([FAILING, COMPACTED, "1795385763877_7i3q8", PARENT].sort());
    expect(await listed(home, "--subagents")).toContain(CHILD);
    const child = join(home.paths.home, "cline", PARENT, `${CHILD}.jsonl`);
    expect(await log(home, child)).toEqual(["user: Count to one", "assistant: One."]);
  });
});

describe("Kimi Code 2.1", () => {
  const [EDITED, DELEGATED] = [
    "session_b0c8e2e0-507c-4417-953e-e1fa85d55bba",
    "session_71522491-6c5c-4612-88c4-7941f5ac1dc3",
  ];

  test("what is logged twice is told once, and hooks' and the client's words are nobody's", async () => {
    using home = homeWith("kimi");
    expect((await log(home, EDITED)).slice(0, 4)).toEqual([
      "user: Raise the zebra limit",
      "echo out; echo oops >&2; exit 3 FAILED: out\noops",
      "/home/dev/proj/limits.txt:",
      "assistant: The zebra limit is 20 now.",
    ]);
    expect(await log(home, DELEGATED)).toEqual([
      "user: delegate it",
      expect.stringMatching(/^count: agent_id: agent-0\n/),
      "echo big: big",
      "summary: after compaction",
      "assistant: more",
    ]);
    const { session } = JSON.parse(await home.ok("session-reader", DELEGATED, "--json"));
    expect([session.cwd, session.startedAt]).toEqual(["/home/dev/proj", "2026-11-22T22:22:59.571Z"]);
  });

  test("an agent that another started is a session of it, left out unless it is asked for", async () => {
    using home = homeWith("kimi");
    expect(await listed(home)).toEqual([DELEGATED, EDITED].sort());
    expect(await listed(home, "--subagents")).toContain(`${DELEGATED}.agent-0`);
    const sessions = join(home.home, ".kimi-code/sessions/wd_proj_912cdf6f8b10");
    const file = join(sessions, DELEGATED, "agents/agent-0/wire.jsonl");
    expect(await log(home, file)).toEqual(["user: Count to one", "assistant: One two three."]);
  });
});

describe("OpenClaw 2026.9", () => {
  const RECORDED = join(ROOT, "..", "shared/facts/hosts-2/openclaw/openclaw-agent.sqlite");

  test.skipIf(!existsSync(RECORDED))(
    "commands fail by their exit code, a plugin's words are no output (if recorded)",
    async () => {
      using home = temporaryHome();
      cpSync(RECORDED, join(home.home, ".openclaw/agents/main/agent/openclaw-agent.sqlite"));
      expect((await log(home, "36e45d36-cb9f-4aa2-8582-00180ac3e994")).slice(0, 4)).toEqual([
        "user: Raise the zebra limit in limits.txt to 20",
        "grep zebra missing.txt; exit 2 FAILED: grep: missing.txt: No such file or directory",
        "limits.txt: limit=10",
        "limits.txt:",
      ]);
      const [prompt, command, answer, summary] = await log(home, "b90c906e-4945-4227-a995-aed084843014");
      expect([prompt, command, answer]).toEqual([
        "user: with plugin 2",
        "echo oops >&2; exit 3 FAILED: oops",
        "assistant: done",
      ]);
      expect(summary).toStartWith("summary: ");
      expect((await log(home, "21837cde-59b8-4d63-bd5a-f0a2d5c6c41f")).length).toBe(4);
    },
  );
});

describe("Codex 0.169", () => {
  const PARENT = "01a20545-ab2b-7a12-95e7-a5c26f1f99da";
  const CHILD = "01a20545-ac94-7961-8dd1-35abc56a81b4";
  const [FAILING, COMPACTED] = [
    "01a20542-8702-7701-b98b-2992c1d9c316",
    "01a20545-4597-7282-a881-ef08f36085ac",
  ];

  test("each message and each command is told once, a summary is no answer", async () => {
    using home = homeWith("codex");
    expect(await log(home, FAILING)).toEqual([
      "user: Raise the zebra limit",
      "echo out; echo oops >&2; exit 3 FAILED: out\noops",
      "assistant: The zebra limit is done.",
    ]);
    const [prompt, command, summary, answer, ...more] = await log(home, COMPACTED);
    expect([prompt, command, answer, more]).toEqual([
      "user: compact please",
      "echo a: a",
      "assistant: done after compact",
      [],
    ]);
    expect(summary).toStartWith("summary: Another language model started");
  });

  test("a subagent's rollout belongs to its parent, and is left out unless it is asked for", async () => {
    using home = homeWith("codex");
    expect(await listed(home)).toEqual([FAILING, COMPACTED, PARENT].sort());
    expect(await listed(home, "--subagents")).toEqual([FAILING, COMPACTED, PARENT, CHILD].sort());
    await home.ok("embed");
    const found = async (...flags: string[]) =>
      JSON.parse(await home.ok("search", "Count to one", "--json", ...flags)).results.map(
        (hit: { session_id: string }) => hit.session_id,
      );
    expect(await found()).toEqual([PARENT]);
    expect((await found("--subagents")).sort()).toEqual([PARENT, CHILD].sort());
  });

  test("a session of its memory, which has no transcript, is told nothing and logs nothing", async () => {
    using home = homeWith("codex");
    const input = {
      session_id: "m",
      transcript_path: null,
      cwd: join(home.home, ".codex/memories_v2"),
      model: "m",
    };
    for (const [hook, more] of [
      ["session-start", { source: "startup" }],
      ["user-prompt-submit", { prompt: "Tidy up @@zebra" }],
    ] as const) {
      const { stdout, stderr, exitCode } = await home.hook(hook, { ...input, ...more });
      expect([hook, stdout, stderr, exitCode]).toEqual([hook, "", "", 0]);
    }
    expect(await Bun.file(home.paths.log).exists()).toBe(false);
  });
});

test.each(readdirSync(SAMPLES))("nothing that a hook added to a session of %s is found", async (agent) => {
  using home = homeWith(agent);
  await home.ok("embed");
  const { results } = JSON.parse(await home.ok("search", "PROBE", "--full", "--subagents", "--json"));
  const own = results.filter(({ content }: { content: string }) => content.includes(ADDED));
  expect(own).toEqual([]);
  const said = JSON.parse(await home.ok("search", "FAKE-SUMMARY state_snapshot", "--full", "--json")).results;
  expect(said.filter(({ content }: { content: string }) => content.includes(SUMMARY))).toEqual([]);
});
