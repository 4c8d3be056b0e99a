/**
 * Claude Code's PreCompact: observes what was said last, and says in one line that the observations follow the summary. It
 * prints no more than that, since the line becomes part of the summariser's prompt, is shown to the user and is stored. Never
 * blocks a compaction. For Codex, which writes its summary without us, it only observes.
 */

import { writeFully } from "../../lib/base/output.ts";
import { readAsked, readRecorded, runHook } from "../hook.ts";
import { answerMoment } from "../moments.ts";

await runHook("pre-compact", async (call) => {
  readRecorded(call.input);
  const answer = await answerMoment("summary", readAsked(call));
  if (answer?.text !== undefined && writeFully(`${answer.text}\n`)) answer.delivered();
});
