/**
 * Speaks and acts at each moment of a session, in every host: the hooks, plugins and callbacks that hosts call
 * ask here, and only put the answer into their host's form.
 *
 * Loaded by every prompt hook: what a moment needs beyond a first look is imported by it.
 */

import { dueFile, hasViewerMoved, type Look, lookForDigest } from "../lib/activity/look.ts";
import { statPath } from "../lib/base/files.ts";
import type { Moment } from "../lib/hosts/host.ts";
import type { Row } from "../lib/hosts/session.ts";
import { findLine } from "../lib/hosts/table.ts";
import type { Answer, Asked } from "./asked.ts";
import { BEGIN, startBackground, together } from "./hook.ts";

const ANSWERS: Record<Moment, (asked: Asked) => Promise<Answer | undefined>> = {
  start: atStart,
  resume: atResume,
  prompt: atPrompt,
  failure: atFailure,
  summary: atSummary,
  compaction: atCompaction,
  turn: (asked) => startBackground(asked),
  end: (asked) => startBackground(asked, "--end", ...(asked.isCleared ? ["--save", "/clear"] : [])),
};

/** Does what is due at a moment, and returns what is to be said. */
export function answerMoment(moment: Moment, asked: Asked): Promise<Answer | undefined> {
  return ANSWERS[moment](asked);
}

/** Returns the line on the project's last session and the standing rules; what older sessions need is done in the background. */
async function atStart(asked: Asked): Promise<Answer> {
  await startBackground(asked, BEGIN);
  const isLeft = asked.isTold === undefined && (await leavesForPrompt(asked));
  return withPerson(asked, isLeft ? undefined : await tellBeginning(asked));
}

/** Leaves the words on a project for the first typed prompt if the folder only claims to belong to it; returns whether it did. */
async function leavesForPrompt({ session, paths }: Asked): Promise<boolean> {
  const { onlyClaimsOrigin } = await import("../lib/sessions/project.ts");
  if (!onlyClaimsOrigin(session.cwd, paths)) return false;
  const { leaveDue, START } = await import("../lib/activity/due.ts");
  leaveDue(paths, session.id, [START]);
  return true;
}

async function tellBeginning(asked: Asked): Promise<Answer> {
  const { welcomeFor, rulesFor } = await import("./beginning.ts");
  return toModel(asked, await welcomeFor(asked), await rulesFor(asked));
}

/**
 * Returns the standing rules to a session that goes on: those laid down since its last row; all in a host that dropped what it
 * was told at its start.
 */
async function atResume(asked: Asked): Promise<Answer> {
  await startBackground(asked, BEGIN);
  if (await leavesForPrompt(asked)) return withPerson(asked);
  if (await hears(asked, "resume")) return withPerson(asked, await tellRules(asked));
  const since = await lastRowTime(asked);
  return withPerson(asked, since ? await tellRules(asked, since) : undefined);
}

/** Returns the time of a session's last row. Lines that its host writes on going on are dated later. */
async function lastRowTime({ session: { file }, paths }: Asked): Promise<string | undefined> {
  const [{ readLast }, { readRules }, { statUnpacked }] = await Promise.all([
    import("../lib/transcripts/transcript.ts"),
    import("../lib/transcripts/rules.ts"),
    import("../lib/transcripts/files.ts"),
  ]);
  if (file === undefined || !statUnpacked(file)?.isFile()) return undefined;
  const isWanted = ({ at }: Pick<Row, "at">) => at !== undefined;
  const { entries } = readLast(file, { rules: readRules(paths), isWanted, count: 1 });
  return entries.findLast(isWanted)?.at;
}

/** Returns the standing rules alone, since a time if one is named. */
export async function tellRules(asked: Asked, since?: string): Promise<Answer> {
  const { rulesFor } = await import("./beginning.ts");
  return toModel(asked, await rulesFor(asked, since));
}

/** Returns what is due, what other sessions did, and what the prompt's references mean. With nothing to say it loads little more than the look. */
async function atPrompt(asked: Asked): Promise<Answer | undefined> {
  const look = lookAround(asked);
  const due = await answerDue(asked, look);
  if (!due && !look?.mayHaveNews && !look?.changed.length && !asked.text?.includes("@@")) {
    if (look && hasViewerMoved(look)) (await import("../lib/activity/marks.ts")).saveMarks(look);
    return undefined;
  }
  const { answerPrompt } = await import("./prompt-answer.ts");
  return answerPrompt(asked, look, due);
}

/** Returns what was left for this prompt: by the start, where a program may have started it, and by a compaction that was not told. */
async function answerDue(asked: Asked, look: Look | undefined): Promise<Answer | undefined> {
  const { paths, session, isTyped } = asked;
  const hasForgotten = await wasCompacted(asked, look);
  if (!hasForgotten && !statPath(dueFile(paths, session.id))) return undefined;
  if ((await isTyped?.()) === false) return undefined;
  const { clearDue, readDue, START } = await import("../lib/activity/due.ts");
  const isStart = readDue(paths, session.id).includes(START);
  const tell = isStart ? tellBeginning : hasForgotten ? tellRules : undefined;
  const answer = await withPerson(asked, await tell?.(asked));
  return together(answer, { delivered: () => clearDue(paths, session.id) });
}

async function wasCompacted({ host }: Asked, look: Look | undefined): Promise<boolean> {
  const rows = findLine(host)?.compacted;
  if (!rows || !look || !hasViewerMoved(look)) return false;
  const { hasGained } = await import("../lib/activity/marks.ts");
  return hasGained(look, rows);
}

/** Returns a first look at what other sessions did. */
export function lookAround({ paths, session, settings }: Asked): Look | undefined {
  return lookForDigest({ paths, viewer: session, activity: settings.activity });
}

/** Returns how earlier sessions ended the error of a command that failed. */
async function atFailure(asked: Asked): Promise<Answer | undefined> {
  const { failure } = asked;
  if (!failure) return undefined;
  const { seenText } = await import("../lib/activity/seen.ts");
  return toModel(asked, await seenText(failure, asked));
}

/** Observes what was said last, and returns the line that announces them, in hosts that show it to the model that writes the summary. */
async function atSummary(asked: Asked): Promise<Answer | undefined> {
  const { observeRest } = await import("./observed.ts");
  const announced = await observeRest(asked);
  return (await hears(asked, "summary")) ? toModel(asked, announced) : undefined;
}

/** Returns what was observed of the session that was compacted, and the standing rules again. */
async function atCompaction(asked: Asked): Promise<Answer> {
  const { describeObserved } = await import("./observed.ts");
  const { rulesFor } = await import("./beginning.ts");
  const isLeft = await leavesForPrompt(asked);
  const rules = isLeft ? undefined : await rulesFor(asked);
  return withPerson(asked, await toModel(asked, describeObserved(asked), rules));
}

async function hears({ host }: Asked, moment: Moment): Promise<boolean> {
  const { findHost, listMoments } = await import("../lib/hosts/hosts.ts");
  const known = findHost(host);
  return known !== undefined && listMoments(known).includes(moment);
}

async function toModel(asked: Asked, ...texts: (string | undefined)[]): Promise<Answer> {
  const { injection } = await import("./exits.ts");
  return injection(asked, texts.filter(Boolean).join("\n\n") || undefined);
}

/** Adds what a person is to know. */
async function withPerson(asked: Asked, answer?: Answer): Promise<Answer> {
  const { tellPerson } = await import("./person.ts");
  return together(answer, ...(await tellPerson(asked)));
}
