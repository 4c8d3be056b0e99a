/**
 * What is said at a moment of a session, for hosts that are told by a plugin of their own: one JSON object on stdin (moment,
 * host, session, cwd, and what the moment is about), one on stdout with `context` for the model, or nothing. Always exits 0.
 */

import type { Viewer } from "../lib/activity/look.ts";
import { stringOf } from "../lib/base/json.ts";
import { writeFully } from "../lib/base/output.ts";
import { currentDirectory } from "../lib/config/config.ts";
import { copiesFolder } from "../lib/transcripts/hosts.ts";
import { type HookCall, requireSettings, runHook, startBackground, startBeginning } from "./hook.ts";
import type { Injection } from "./prompt-answer.ts";

/** A moment of a session, and the host in which it comes. */
interface Moment extends HookCall {
  session: Viewer;
  host: "opencode";
}

const MOMENTS: Record<string, (moment: Moment) => Promise<Injection | undefined>> = {
  start: atStart,
  prompt: atPrompt,
  failure: atFailure,
  compaction: atCompaction,
  turn: atTurn,
};

await runHook("moment", async (call) => {
  const { moment, host, session, cwd } = call.input;
  const answer = MOMENTS[stringOf(moment) ?? ""];
  const id = stringOf(session);
  if (!answer || id === undefined || host !== "opencode")
    throw new Error("Cannot answer: expected moment, host and session");
  const viewer = { id, cwd: stringOf(cwd) ?? currentDirectory() };
  const given = await answer({ ...call, host, session: viewer });
  if (given?.text === undefined) return void given?.delivered();
  if (writeFully(`${JSON.stringify({ context: given.text })}\n`)) given.delivered();
});

/** Returns the line on the project's last session and the standing rules; what older sessions need is done in the background. */
async function atStart({ env, input, session, host, paths: places }: Moment): Promise<Injection | undefined> {
  await startBeginning(host, { cwd: session.cwd, env });
  const { paths, settings } = requireSettings(places, { env, transcript: undefined });
  const [{ makeBeginning }, { injection }] = await Promise.all([
    import("./beginning.ts"),
    import("./prompt-answer.ts"),
  ]);
  const isTold = input.isTold === true;
  return injection(await makeBeginning(session, paths, settings, isTold), session.id, paths);
}

/** Returns what other sessions did, and what the prompt's references mean. */
async function atPrompt({ env, input, session, paths: places }: Moment): Promise<Injection | undefined> {
  const { paths, settings } = requireSettings(places, { env, transcript: undefined });
  const [{ lookForDigest }, { answerPrompt, findModel }] = await Promise.all([
    import("../lib/activity/look.ts"),
    import("./prompt-answer.ts"),
  ]);
  const look = lookForDigest({ paths, viewer: session, activity: settings.activity });
  const prompt = { session, text: stringOf(input.text) ?? "" };
  return answerPrompt(prompt, look, { paths, settings, model: findModel(env, session) });
}

/** Returns how earlier sessions ended the error of a command that failed. */
async function atFailure({ env, input, session, paths: places }: Moment): Promise<Injection | undefined> {
  const { answerFailure } = await import("./prompt-answer.ts");
  const [command, output] = [stringOf(input.command) ?? "", stringOf(input.output) ?? ""];
  const failed = { sessionId: session.id, viewer: session.id, cwd: session.cwd, command, output };
  return answerFailure(failed, requireSettings(places, { env, transcript: undefined }));
}

/** Returns what was observed of the session that is compacted, and the standing rules again. */
async function atCompaction({ env, session, paths: places }: Moment): Promise<Injection | undefined> {
  const { paths, settings } = requireSettings(places, { env, transcript: undefined });
  const [{ makeCompacted }, { injection }] = await Promise.all([
    import("./beginning.ts"),
    import("./prompt-answer.ts"),
  ]);
  return injection(await makeCompacted(session, paths, settings), session.id, paths);
}

/** Starts the work that is due after a turn. */
async function atTurn({ env, host, session, paths }: Moment): Promise<undefined> {
  const file = `${copiesFolder(paths, host)}/${session.id}.jsonl`;
  await startBackground({ ...session, file }, host, { flags: [], env });
}
