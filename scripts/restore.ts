#!/usr/bin/env bun

/**
 * Makes a session resumable in a folder: from its transcript, from another machine's, or from the archive.
 *
 * @module
 */

import { restoreSession } from "../lib/archive/restore.ts";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { isDirectory, resolveRealPath } from "../lib/base/files.ts";
import { quoted } from "../lib/base/text.ts";
import { filled, note, type Run, runScript, toggle } from "../lib/cli.ts";
import { expandPath } from "../lib/config/config.ts";
import { findPlace } from "../lib/index/find-place.ts";
import { listByLastRow, originId, resumeCommand } from "../lib/sessions/listing.ts";
import { hasPromptsAlone, placeOnDisk } from "../lib/transcripts/files.ts";

const USAGE = `\
Usage: session-memory restore [options] <session>

Makes a session resumable here, and prints the host's command that goes on with it: a new transcript under a new
id, in the host's own place for this folder; nothing is overwritten. From the archive when the host has deleted
the transcript, from a folder synced from another machine, or from a project that moved. Claude Code, pi, Codex.

Options:
      --to <folder>      The folder to go on in (default: this one)
      --dry-run          What would be written; change nothing
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json, --quiet    One JSON document; no remarks on stderr

Secrets are taken out, and thoughts and images left out. The new transcript is yours: "setup --remove" leaves it.

Examples:
  session-memory restore last
  session-memory restore 8463c716 --to ~/code/shop
`;

const SCRIPT = {
  usage: USAGE,
  flags: { to: filled, dryRun: toggle },
  words: [1, 1],
  readsAnyVolute: true,
} as const;

async function main({
  values,
  words,
  paths,
  env,
  cwd,
  asking,
  show,
}: Run<typeof SCRIPT.flags>): Promise<void> {
  const [reference = ""] = words;
  const { session } = await findPlace(reference, asking);
  if (session.owner !== undefined)
    throw cannot(session.id, "it is another person's", "read it with session-memory session-reader");
  if (hasPromptsAlone(session.file))
    throw cannot(
      session.id,
      "its transcript is gone, and only its prompts are left",
      "read it with session-memory session-reader",
    );
  const wanted = expandPath(values.to ?? ".", env, cwd);
  const folder = resolveRealPath(wanted);
  if (folder === undefined || !isDirectory(folder)) {
    const hint = "--to is a folder: create it; session-memory handoff takes a session to another agent";
    throw cannot(session.id, `there is no folder "${wanted}"`, hint);
  }
  const dryRun = values.dryRun;
  const [before] = listByLastRow(paths).filter(({ file }) => originId(file) === session.id);
  const { id, file, rows } = restoreSession(session, { paths, folder, dryRun });
  const command = `cd ${quoted(folder)} && ${resumeCommand({ id, agent: session.agent, file }) ?? ""}`;
  const from = { id: session.id, file: placeOnDisk(session.file), archived: session.archived === true };
  show({ dryRun, session: { id, agent: session.agent, file, cwd: folder, rows }, from, command }, [command]);
  if (before) note(`a copy of it was there already: ${resumeCommand(before) ?? before.file}`);
  note(`${dryRun ? "would write" : "wrote"} ${rows} rows to ${file}`);
}

function cannot(id: string, why: string, hint: string): SessionMemoryError {
  return new SessionMemoryError("NOT_FOUND", `Cannot restore "${id}": ${why}`, { hint });
}

if (import.meta.main) await runScript(SCRIPT, main);
