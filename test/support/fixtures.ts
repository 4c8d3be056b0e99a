/** The committed transcripts: what each one is. All work in `FIXTURES_CWD`. */

import { join } from "node:path";

export interface Fixture {
  file: string;
  /** The session's id as the host gives it. */
  id: string;
  startedAt: string;
}

/** The directory named in every fixture. */
export const FIXTURES_CWD = "/home/dev/shop";

/**
 * Stands in every text of the fixtures that is no conversation: thinking, tool results, injected context, meta rows.
 * Nothing shown may contain it.
 */
export const HIDDEN = "not-conversation";

export const FIXTURES_FOLDER = join(import.meta.dir, "..", "fixtures");

export const FIXTURES = {
  /** `folder` is the content of one project folder. */
  claude: {
    folder: join(FIXTURES_FOLDER, "claude"),
    /** 2.1.329: what Jason said about posting frequency; titled "posting frequency"; hooks, request blobs. */
    posting: claude("7c41f0b2-5d0e-4b8e-9a14-2f6f1f3f9a10", "2026-02-03T14:29:58.000Z"),
    /** Its fork: the same rows with the same ids, and one exchange more. */
    fork: claude("b90e6d3a-1c57-4f0d-8a6e-53d1f7a2c944", "2026-02-03T14:29:58.000Z"),
    /** 2.1.39: a deploy; progress rows, slash commands, a manual compaction, a subagent. */
    deploy: claude("e2b5a8d4-3f19-4c6a-b7d0-91c8e4f05b27", "2026-02-01T09:12:00.000Z"),
    /** The deploy's subagent, with meta file. */
    agent: claude(
      "agent-a3f09c2e7b1d48567",
      "2026-02-01T09:13:10.000Z",
      "e2b5a8d4-3f19-4c6a-b7d0-91c8e4f05b27/subagents/",
    ),
    /** 2.0.76, German: a flaky login test; an edited prompt (two branches), images, an API error. */
    login: claude("0f6d2c88-7ab4-4b1f-9c02-dd5e8b6417f3", "2026-01-20T08:02:00.000Z"),
    /** 2.0.76: a subagent's file beside the sessions. */
    warmup: claude("agent-0b9c1d2e", "2026-01-20T08:02:01.000Z"),
    /** 1.0.35: subagent rows inside the main file, shell commands of the user. */
    legacy: claude("5b8e9f10-22c3-4d47-8e61-0a9b7c6d5e4f", "2025-07-02T15:00:00.000Z"),
  },
  pi: {
    /** v3: a production rollout; two branches, branch summary, compaction, injected messages. */
    deploy: pi("01a18c11-7d20-7b45-9e01-5f8c2d9a6b30", "2026-02-02T10:00:00.000Z"),
    /** v1: a flaky login test; no entry ids, two entries fused on one line, a compaction by index. */
    login: pi("3d0a7c52-6f4e-4c1b-a8d9-b2e7f1905c66", "2025-12-09T00:53:29.825Z"),
    /** v2: a cron config request; a hook message. */
    invoice: pi("c4b1d7e8-95a0-4f36-8d2c-7e60a1f3b859", "2026-01-04T18:20:00.000Z"),
  },
  codex: {
    /** A flaky login test; typed events, apply_patch. */
    login: codex("019c6f2a-4b7d-7d10-b5c3-8e2f9a1d0c44", "2026-01-27T13:05:00.000Z"),
    /** Older: a deploy script; no typed events, shell arrays, compacted, a parent's meta repeated. */
    deploy: codex("019b1e77-30aa-7c22-9d81-4f6b2e8c7a90", "2025-12-14T11:30:00.000Z"),
  },
  plain: {
    /** `{role, content, timestamp}`, with a blank line, a torn line and missing times. */
    standup: plain("standup", "2026-02-04T07:45:00.000Z"),
    /** `{type: "message", message}`. */
    support: plain("2026-02-05-support", "2026-02-05T16:00:00.000Z"),
  },
};

/** Every transcript among the fixtures. */
export function allFixtures(): Fixture[] {
  const { folder: _, ...claudeOnes } = FIXTURES.claude;
  return [claudeOnes, FIXTURES.pi, FIXTURES.codex, FIXTURES.plain].flatMap((group) => Object.values(group));
}

function claude(id: string, startedAt: string, under = ""): Fixture {
  return { id, startedAt, file: join(FIXTURES_FOLDER, "claude", `${under}${id}.jsonl`) };
}

function pi(id: string, startedAt: string): Fixture {
  const time = startedAt.replace(/[:.]/g, "-");
  return { id, startedAt, file: join(FIXTURES_FOLDER, "pi", `${time}_${id}.jsonl`) };
}

function codex(id: string, startedAt: string): Fixture {
  const time = startedAt.slice(0, 19).replaceAll(":", "-");
  return { id, startedAt, file: join(FIXTURES_FOLDER, "codex", `rollout-${time}-${id}.jsonl`) };
}

function plain(id: string, startedAt: string): Fixture {
  return { id, startedAt, file: join(FIXTURES_FOLDER, "plain", `${id}.jsonl`) };
}
