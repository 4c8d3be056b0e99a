/**
 * Speaks and acts at each moment of a session, in every host: the hooks, plugins and callbacks that hosts call
 * ask here, and only put the answer into their host's form.
 *
 * Loaded by every prompt hook: what a moment needs beyond a first look is imported by it.
 */

import { dueFile, hasViewerMoved, type Look, lookForDigest } from "../lib/activity/look.ts";
import { statPath } from "../lib/base/files.ts";
import type { Moment } from "../lib/hosts/host.ts";
import { findLine } from "../lib/hosts/table.ts";
import type { Asked, Injection, MomentAnswer, Sources } from "./asked.ts";
import { startBackground, startBeginning } from "./hook.ts";

const ANSWERS: Record<Moment, (asked: Asked) => Promise<MomentAnswer | undefined>> = {
  start: atStart,
  resume: atResume,
  prompt: atPrompt,
  failure: atFailure,
  summary: atSummary,
  compaction: atCompaction,
  turn: (asked) => atEnd(asked, []),
  end: (asked) => atEnd(asked, ["--end", ...(asked.isCleared ? ["--save", "/clear"] : [])]),
};

/** Does what is due at a moment, and returns what is to be said. */
export function answerMoment(moment: Moment, asked: Asked): Promise<MomentAnswer | undefined> {
  return ANSWERS[moment](asked);
}

/** Returns the line on the project's last session and the standing rules; what older sessions need is done in the background. */
async function atStart(asked: Asked): Promise<MomentAnswer> {
  const { host, session, env, isTold } = asked;
  await startBeginning(host, { cwd: session.cwd, env });
  const isLeft = isTold === undefined && (await leavesForPrompt(asked));
  return withPerson(asked, isLeft ? undefined : await tellBeginning(asked));
}

/** Leaves what is told of a project for the first typed prompt where the folder only claims to be of it; returns whether it did. */
async function leavesForPrompt({ session, paths }: Asked): Promise<boolean> {
  const { onlyClaimsOrigin } = await import("../lib/sessions/project.ts");
  if (!onlyClaimsOrigin(session.cwd, paths)) return false;
  const { leaveDue, START } = await import("../lib/activity/due.ts");
  leaveDue(paths, session.id, [START]);
  return true;
}

async function tellBeginning(asked: Asked): Promise<Injection> {
  const { makeBeginning } = await import("./beginning.ts");
  const { session, paths, settings, isTold } = asked;
  return toModel(asked, await makeBeginning(session, paths, settings, isTold));
}

/**
 * Returns the standing rules to a session that goes on: those laid down since its last row; all in a host that dropped what it
 * was told at its start.
 */
async function atResume(asked: Asked): Promise<MomentAnswer> {
  const { host, session, env } = asked;
  await startBeginning(host, { cwd: session.cwd, env });
  if (await leavesForPrompt(asked)) return withPerson(asked, undefined);
  if (await hears(asked, "resume")) return withPerson(asked, await tellRules(asked));
  const since = await lastRowTime(asked);
  return withPerson(asked, since ? await tellRules(asked, since) : undefined);
}

/** Returns the time of a session's last row. Lines that its host writes on going on are dated later. */
async function lastRowTime({ session: { file }, paths }: Asked): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const [{ readBackward }, { readRules }] = await Promise.all([
    import("../lib/transcripts/transcript.ts"),
    import("../lib/transcripts/rules.ts"),
  ]);
  for (const { entries } of readBackward(file, { rules: readRules(paths.rules) })) {
    const last = entries.findLast(({ at }) => at !== undefined);
    if (last) return last.at;
  }
  return undefined;
}

/** Returns the standing rules alone, since a time if one is named. */
export async function tellRules(
  asked: Pick<Asked, "session" | "paths" | "settings">,
  since?: string,
): Promise<Injection> {
  const { rulesFor } = await import("./beginning.ts");
  return toModel(asked, await rulesFor({ ...asked.session, since }, asked.paths, asked.settings));
}

/** Returns what is due, what other sessions did, and what the prompt's references mean. With nothing to say it loads little more than the look. */
async function atPrompt(asked: Asked): Promise<MomentAnswer | undefined> {
  const look = lookAround(asked);
  const due = await answerDue(asked, look);
  const { text = "" } = asked;
  if (!due && !look?.mayHaveShared && !look?.changed.length && !text.includes("@@")) {
    if (look && hasViewerMoved(look)) (await import("../lib/activity/marks.ts")).saveMarks(look);
    return undefined;
  }
  const { answerPrompt } = await import("./prompt-answer.ts");
  return answerPrompt({ session: asked.session, text }, look, await sources(asked), due);
}

/** Returns what was left for this prompt: by the start, where a program may have started it, and by a compaction that was not told. */
async function answerDue(asked: Asked, look: Look | undefined): Promise<MomentAnswer | undefined> {
  const { paths, session, isTyped } = asked;
  const hasForgotten = await wasCompacted(asked, look);
  if (!hasForgotten && !statPath(dueFile(paths, session.id))) return undefined;
  if ((await isTyped?.()) === false) return undefined;
  const { clearDue, readDue, START } = await import("../lib/activity/due.ts");
  const isStart = readDue(paths, session.id).includes(START);
  const tell = isStart ? tellBeginning : hasForgotten ? tellRules : undefined;
  const answer = await withPerson(asked, await tell?.(asked));
  return {
    ...answer,
    delivered() {
      answer.delivered();
      clearDue(paths, session.id);
    },
  };
}

async function wasCompacted({ host }: Asked, look: Look | undefined): Promise<boolean> {
  const rows = findLine(host)?.compacted;
  if (!rows || !look || !hasViewerMoved(look)) return false;
  const { hasGained } = await import("../lib/activity/marks.ts");
  return hasGained(look, rows);
}

/** Returns what other sessions did, for a host that stores it as a message of its own. */
export async function tellActivity(asked: Asked): Promise<Injection> {
  const answers = await import("./prompt-answer.ts");
  return answers.tellActivity(lookAround(asked), asked);
}

/** Returns what is known of the sessions that the prompt mentions, for a host that stores it as a message of its own. */
export async function tellReferences(asked: Asked): Promise<Injection> {
  const { referencesIn } = await import("./prompt-answer.ts");
  return referencesIn({ session: asked.session, text: asked.text ?? "" }, await sources(asked));
}

function lookAround({ paths, session, settings }: Asked) {
  return lookForDigest({ paths, viewer: session, activity: settings.activity });
}

async function sources({ paths, settings, env, session, model, hasTool = false }: Asked): Promise<Sources> {
  const { findModel } = await import("./prompt-answer.ts");
  return { paths, settings, model: model ?? findModel(env, session), hasTool };
}

/** Returns how earlier sessions ended the error of a command that failed. */
async function atFailure({ failure, paths, settings }: Asked): Promise<Injection | undefined> {
  if (!failure) return undefined;
  const { answerFailure } = await import("./prompt-answer.ts");
  return answerFailure(failure, { paths, settings });
}

/** Observes what was said last, and returns the line that announces them, in hosts that show it to the model that writes the summary. */
async function atSummary(asked: Asked): Promise<Injection | undefined> {
  const { host, session, env, paths } = asked;
  const { observeRest, announceObserved } = await import("./observed.ts");
  const settings = await observeRest({ ...session, agent: host }, { paths, env });
  return settings && (await hears(asked, "summary"))
    ? toModel(asked, announceObserved(session, paths, settings))
    : undefined;
}

/** Returns what was observed of the session that was compacted, and the standing rules again. */
async function atCompaction(asked: Asked): Promise<MomentAnswer> {
  const { makeCompacted } = await import("./beginning.ts");
  const isLeft = await leavesForPrompt(asked);
  return withPerson(asked, await toModel(asked, await makeCompacted(asked, isLeft)));
}

/** Starts the work that is due after a turn or a session, where the session has a transcript. */
async function atEnd({ host, session, env }: Asked, flags: readonly string[]): Promise<undefined> {
  const { file } = session;
  if (file !== undefined) await startBackground({ ...session, file }, host, { flags, env });
}

async function hears({ host }: Asked, moment: Moment): Promise<boolean> {
  const { findHost, listMoments } = await import("../lib/hosts/hosts.ts");
  const known = findHost(host);
  return known !== undefined && listMoments(known).includes(moment);
}

async function toModel(
  { session, paths }: Pick<Asked, "session" | "paths">,
  text: string | undefined,
): Promise<Injection> {
  const { injection } = await import("./prompt-answer.ts");
  return injection(text, session.id, paths);
}

/** Adds what a person is to know. */
async function withPerson(asked: Asked, answer: Injection | undefined): Promise<MomentAnswer> {
  const { tellPerson } = await import("./person.ts");
  const word = await tellPerson(asked);
  return {
    text: answer?.text,
    toPerson: word?.text,
    delivered() {
      answer?.delivered();
      word?.shown();
    },
  };
}
