/**
 * Prints the words for a moment of a session, for hosts that are told by a plugin of ours: one JSON object on stdin (moment, host,
 * session, cwd, and what the moment is about), one on stdout with `context` for the model, or nothing. Always exits 0.
 */

import { stringOf } from "../lib/base/json.ts";
import { currentDirectory } from "../lib/config/config.ts";
import { statStored } from "../lib/hosts/names.ts";
import { findLine } from "../lib/hosts/table.ts";
import { archivePlace } from "../lib/sessions/places.ts";
import { logFailure, printAnswer, requireSettings, runHook } from "./hook.ts";
import { answerMoment } from "./moments.ts";

await runHook("moment", async ({ env, input, paths }) => {
  const { moment, isTold, command, output } = input;
  const [host, id, text] = [input.host, input.session, input.text].map(stringOf);
  const asked = findLine(host)?.moments?.find((each) => each === moment);
  if (host === undefined || asked === undefined || id === undefined)
    throw new Error("Cannot answer: expected moment, host and session");
  const gone = stringOf(input.gone);
  if (gone !== undefined)
    await logFailure(paths, "moment", `${host} no longer calls ${gone}`, { source: host });
  const cwd = stringOf(input.cwd) ?? currentDirectory();
  const session = { id, cwd, file: archivePlace(paths, { agent: host, id }) };
  // one that has a copy had a turn, and was told at its start
  const known = asked === "start" && statStored(session.file) ? "resume" : asked;
  const called = { command: stringOf(command) ?? "", output: stringOf(output) ?? "" };
  const answer = await answerMoment(known, {
    host,
    session,
    env,
    isTold: isTold === true,
    text: text ?? "",
    failure: { sessionId: id, viewer: id, cwd, ...called },
    ...requireSettings(paths, { env, transcript: undefined }),
  });
  await printAnswer(answer && { ...answer, toPerson: undefined }, ({ text }) => ({ context: text }));
});
