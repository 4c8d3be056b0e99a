#!/usr/bin/env bun
/**
 * Writes one page on which another agent, machine or person can go on with a session's work.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { ownCommand } from "../lib/base/runtime.ts";
import { onMachine, quoted, shortId } from "../lib/base/text.ts";
import { integer, note, type Run, runScript, toggle } from "../lib/cli.ts";
import { REQUEST } from "../lib/hosts/handed.ts";
import { findPlace } from "../lib/index/find-place.ts";
import { handoffPage, readHandedOver } from "../lib/naming/handoff.ts";

const USAGE = `\
Usage: session-memory handoff [options] <session>

Prints one page on which another agent can go on: what was asked, what was decided and forbidden, what was
done, what is open, the last exchange, and where the rest can be read. From observations where there are some.

Options:
      --max-chars <n>    Characters of the page (default: 6000, at least 1000)
      --prompt           The page as a prompt: after the request to go on with it
      --subagents        <session> may be a subagent's
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json, --quiet    One JSON document (session, page, start); no remarks on stderr

<session> is an id, a name, last, a path, or what somebody shares (alice@desk:<id>). Where none or several
fit, or nothing was said, it exits with 1, so that no agent starts on an empty page.

Examples:
  session-memory handoff last
  page="$(session-memory handoff last --prompt)" && codex "$page"
`;

const [MAX_CHARS, LEAST_CHARS] = [6000, 1000]; // promised; less holds no exchange

const SCRIPT = {
  usage: USAGE,
  flags: { maxChars: integer({ min: LEAST_CHARS }), prompt: toggle, subagents: toggle },
  words: [1, 1],
  readsAnyVolute: true,
} as const;

async function main({
  values,
  words,
  paths,
  settings,
  rules,
  asking,
  show,
}: Run<typeof SCRIPT.flags>): Promise<void> {
  const { maxChars = MAX_CHARS } = values;
  const [reference = ""] = words;
  const { session } = await findPlace(reference, { ...asking, subagents: values.subagents });
  const handed = readHandedOver(session, { paths, rules, maxBytes: Number.POSITIVE_INFINITY });
  const page = handoffPage(handed, { maxChars, timezone: settings.timezone });
  if (page === undefined) {
    throw new SessionMemoryError("NOT_FOUND", `Cannot hand over "${session.id}": nothing was said in it`, {
      hint: "session-memory session-reader --list shows the sessions that hold conversation",
    });
  }
  const id = quoted(onMachine(shortId(session.id), session));
  const start = startLine(ownCommand("handoff").map(quoted).join(" "), id);
  const text = values.prompt ? `${REQUEST}\n\n${page}` : page;
  show({ session: { id: session.id, name: session.name ?? null, agent: session.agent }, page: text, start }, [
    text,
  ]);
  if (!values.prompt) note(`to start another agent with it: ${startLine("session-memory handoff", id)}`);
}

/** Returns the line of a shell that starts an agent with the page, and none without a page. */
function startLine(command: string, id: string): string {
  return `page="$(${command} ${id} --prompt)" && claude "$page"`;
}

if (import.meta.main) await runScript(SCRIPT, main);
