/** What observing a session would send: the work itself on a copy of its ledger, with a model that takes notes. */

import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Paths } from "../config/config.ts";
import type { CompleteJson } from "../model/answers.ts";
import { type Notes, noteTaker } from "../model/configured-model.ts";
import { copyDatabase } from "../store/store.ts";
import { ledgerFile } from "./ledger.ts";
import { OVERRIDES } from "./observe-state.ts";

/** The first line that an observer's prompt asks about. */
const FIRST_LINE = /<new-conversation>\n\[(\d+)\]/;

/** Does work on a session's memory that is thrown away; returns what a model would have been sent. */
export async function planObserving(
  session: { id: string },
  paths: Paths,
  work: (context: { paths: Paths; complete: CompleteJson }) => Promise<unknown>,
): Promise<Notes> {
  const folder = mkdtempSync(join(tmpdir(), "session-memory-plan-"));
  try {
    for (const file of [ledgerFile(paths, session.id), join(paths.observations, OVERRIDES)]) {
      if (existsSync(file)) copyFileSync(file, join(folder, basename(file)));
    }
    const state = join(folder, "state.db");
    copyDatabase(paths.state, state);
    const { complete, notes } = noteTaker("plan", ({ prompt }) => answerTo(prompt));
    await work({ paths: { ...paths, observations: folder, state }, complete });
    return notes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Answers in place of a model. A reflection that keeps nothing is refused, so it changes nothing. */
function answerTo(prompt: string): object {
  const line = FIRST_LINE.exec(prompt)?.[1];
  return {
    observations: line ? [{ priority: "green", text: "to be observed", sources: [Number(line)] }] : [],
  };
}
