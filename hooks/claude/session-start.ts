/**
 * Claude Code's and Codex's SessionStart: a line on the project's last session when one begins, this session's own observations
 * after a compaction, and at both what the user laid down in the project.
 */

import type { Moment } from "../../lib/hosts/host.ts";
import { printAnswer, readAsked, readRecorded, runHook } from "../hook.ts";
import { answerMoment } from "../moments.ts";

/** Tells a session that begins anew, or goes on after a compaction; one that is resumed or forked was told before. */
const MOMENTS: Record<string, Moment> = { startup: "start", clear: "start", compact: "compaction" };

await runHook("session-start", async (call) => {
  readRecorded(call.input);
  const { source } = call.input;
  const asked = { ...readAsked(call), isStarted: source === "startup" };
  await printAnswer(await answerMoment(MOMENTS[`${source}`] ?? "resume", asked), "SessionStart");
});
