/** Observes a session before its compaction, and gives back what was observed after it, with how to look up more. */

import { ownCommand } from "../lib/base/runtime.ts";
import { headed, OWN_LABEL, quoted } from "../lib/base/text.ts";
import { loadConfig } from "../lib/config/config.ts";
import { findHost } from "../lib/hosts/hosts.ts";
import { readLedger } from "../lib/observe/ledger.ts";
import { observationsToCome, renderObservations } from "../lib/observe/render-observations.ts";
import { readRules } from "../lib/transcripts/rules.ts";
import type { Asked } from "./asked.ts";

/** Claude Code takes 10,000 and shows the model a file's name in place of more; a host's own summary comes with it. */
const CONTEXT_MAX_CHARS = 8000;
/** The maximum wait for the observer of the last turn, which may still be running. */
const OBSERVER_WAIT_MS = 600;
/** A larger transcript is not read before a compaction: the observations after each turn must do. */
const READ_MAX_BYTES = 64 * 1024 * 1024;

/** Returns what was observed before the compaction, with the commands to look up more; undefined without observations. */
export function describeObserved(asked: Asked): string | undefined {
  const run = (name: string) => [...ownCommand(name), asked.session.id].map(quoted).join(" ");
  const foot = [
    "",
    "",
    "The rows before the compaction are still in the transcript. To see the source of an observation:",
    `${run("observe-compact")} --recall <id in brackets>`,
    "To read on around a line of it:",
    `${run("session-reader")} --line <line> --around 10`,
  ].join("\n");
  const head = `${headed("Session Observations", OWN_LABEL)}\n\n`;
  const maxChars = CONTEXT_MAX_CHARS - head.length - foot.length;
  const rendered = renderObservations(ledgerOf(asked), { maxChars, isBrief: true });
  return rendered && head + rendered + foot;
}

function ledgerOf({ host: agent, session: { id, file = "" }, paths }: Asked) {
  return readLedger({ id, agent, file }, { paths, rules: readRules(paths) }).ledger;
}

/**
 * Observes by rule what was said since the last step, since the retained tail is about to be summarised too. Returns the line
 * that announces what was observed; undefined without any, or where nothing is to be observed by itself.
 */
export async function observeRest(asked: Asked): Promise<string | undefined> {
  const { paths, session, env } = asked;
  const { settings } = await loadConfig(env, session.cwd);
  if (!settings.observe.auto) return undefined;
  // what its host keeps in a store is read from the copy
  if (findHost(asked.host)?.store) await (await import("../lib/archive/copies.ts")).updateCopies(paths);
  const { visibleSessionAt } = await import("../lib/sessions/sessions.ts");
  const found = session.file === undefined ? undefined : visibleSessionAt(session.file, paths);
  if (found && found.size <= READ_MAX_BYTES) {
    const { observeSession } = await import("../lib/observe/observe-session.ts");
    await observeSession(found, { paths, settings, when: "all", waitMs: OBSERVER_WAIT_MS });
  }
  return observationsToCome(ledgerOf(asked));
}
