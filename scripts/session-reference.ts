#!/usr/bin/env bun

/**
 * Resolves the `@@name` references of a prompt to what is known of those sessions.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { type Run, runScript } from "../lib/cli.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { referenceContext } from "../lib/naming/prompt-references.ts";

const USAGE = `\
Usage: session-memory session-reference [options] [<text> | -]

Prints what is known of the sessions that a text mentions; nothing when it mentions none. Reads stdin without a text.
  @@name             @@"two words", @@id-prefix and @@last too
  @@name: question   the answer of query-session; without a model the rows that search finds in the session
  @@name~2           with the 2 sessions it came from

Options:
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json, --quiet    One JSON document (references, text); no warnings

At most 3 references of one text are followed.

Examples:
  session-memory session-reference 'as in @@"fix login test"'
  session-memory session-reference '@@deploy: which port did we use?' --json
`;

const STDIN = 0; // POSIX

async function main(run: Run<Record<never, never>>): Promise<void> {
  const [given = "-"] = run.words;
  const prompt = given === "-" ? readFileSync(STDIN, "utf8") : given;
  const model = async () => configuredModel(run);
  const { references, text } = await referenceContext(prompt, { ...run, current: run.currentSession, model });
  run.show({ references, text }, text === "" ? [] : [text]);
}

if (import.meta.main) await runScript({ usage: USAGE, flags: {}, words: [0, 1], readsAnyVolute: true }, main);
