/** The work done in a session: its plans, tickets, commits and edits; and all of it on one page, under what the user said. */

import { countPoints, type Line, type Part } from "../base/lines.ts";
import { counted, truncate } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import { isDecision, sentences } from "../language/speech.ts";
import { commitMessage } from "../observe/work-notes.ts";
import { oneLine } from "../redact/redact.ts";
import { outcomeOf } from "../transcripts/calls.ts";
import type { Entry } from "../transcripts/session.ts";
import type { Step } from "../transcripts/steps.ts";

/** Fewer commands and edits than this name no conversation. */
const WORK_MIN = 3;
const RESULT_CHARS = 4000;
/** Tasks that share their verb. */
const ALIKE_MIN = 3;
/** Verbs of work: `Add …`, `Fixing …`, `Replaced …`. */
export const DOING =
  /^(?:re-?)?(?:add|allow|analy[sz]|automat|build|built|chang|clean|compar|configur|consolidat|convert|creat|debug|decid|deduplicat|defin|detect|delet|deploy|design|diagnos|document|enabl|explor|export|extend|extract|fix|format|generat|handl|implement|import|improv|inject|install|instrument|integrat|introduc|investigat|mak|measur|merg|migrat|mov|nam|optimi[sz]|organi[sz]|plan|port|prepar|propos|publish|redirect|reduc|refactor|releas|remov|renam|replac|research|restor|restructur|revert|rewrit|rework|set up|simplif|speed|split|stop|subscrib|summari[sz]|support|switch|test|trac|translat|understand|unif|updat|upgrad|us|validat|verif|writ|behebe|baue|erstelle|ergänze|füge|schreib|ändere|corrig|ajout|crée|añad|agreg|arregl)\w{0,4}\b/i;

/** A plan's or a ticket's title, as agents and trackers show it. */
const HEADING = /(?:^|\\n|\n|")#\s+(?:plan:?\s+)?([^\n\\"#]{8,90})/i;
const TICKET =
  /(?<=\b(?:bead|issue|ticket|epic|task|show|implement|start|on|fix|close) )[a-z]\w*-[a-z0-9]{3}(?:\.\d+)?(?![\w-])|(?<![\w-])(?:[a-z]\w*-\d+(?:\.\d+)?|#\d+)(?![\w-])/gi;

/** Returns the titles of the plans, each once. */
export function planTitles(entries: readonly Entry[]): string[] {
  const plans = entries.flatMap(({ tool }) =>
    tool?.name === "ExitPlanMode" ? (HEADING.exec(tool.target)?.[1]?.trim() ?? []) : [],
  );
  return [...new Set(plans)];
}

/** Returns the title that a tracker shows for a ticket that the first request names. */
export function* ticketTitles(entries: readonly Entry[]): Generator<string> {
  const asked = entries.find(({ kind }) => kind === "user")?.text ?? "";
  for (const ticket of new Set(asked.slice(0, 2000).match(TICKET) ?? [])) {
    const shown = new RegExp(
      `${ticket.replace(/\W/g, "\\$&")}(?![\\w.-])[^\\n·:]{0,30}[·:]\\s+([^\\n]{8,120})`,
      "i",
    );
    for (const { kind, text } of entries) {
      const title = kind === "result" ? shown.exec(text.slice(0, RESULT_CHARS))?.[1] : undefined;
      if (title === undefined) continue;
      yield title.replace(/\s*(?:\[.*|\s{2,}.*)$/, "");
      return;
    }
  }
}

/** Returns a commit's first line without its type. Targets are on one line, so it ends where the next thing begins to be done. */
function commitSubject(message: string): string {
  const subject = message
    .replace(/^\w+(?:\([^)]*\))?!?:\s*/, "")
    .replace(/^[\w ]{0,12}\d+ [—–-] /, "")
    .replace(/\s*\((?:[a-z]\w*-[\w.]+|#\d+)\).*$/, "");
  const words = subject.split(" ");
  const end = words.findIndex((word, index) => index >= 3 && /^\p{Lu}\p{Ll}/u.test(word) && DOING.test(word));
  return words.slice(0, end === -1 ? undefined : end).join(" ");
}

/** Returns what tasks given to three or more subagents have in common, and each: `Research plan mode, teammates, worktrees`. */
export function sharedTask(entries: readonly Entry[]): string | undefined {
  const tasks = entries.flatMap(({ tool }) =>
    tool && /^(?:Task|Agent)$/.test(tool.name) ? [tool.target.split(" ")] : [],
  );
  const alike = tasks.filter(([verb]) => verb === tasks[0]?.[0]);
  if (alike.length < ALIKE_MIN) return undefined;
  return alike
    .map((words, at) => {
      const before = alike[at - 1] ?? [];
      const same = words.findIndex((word, index) => word !== before[index]);
      return words.slice(Math.max(same, at === 0 ? 0 : 1)).join(" ");
    })
    .join(", ");
}

/** Returns the subjects of the commits, oldest first. */
export function commitSubjects(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ tool }) => {
    const message = tool && commitMessage(tool.target);
    return message ? [commitSubject(message)] : [];
  });
}

/** Returns the names of the files edited, the one edited most first. */
export function editedFiles(entries: readonly Entry[]): string[] {
  const counts = new Map<string, number>();
  for (const { tool } of entries) {
    for (const path of tool?.action === "edit" ? tool.paths : []) {
      const file = path.split(/[\\/]/).at(-1) ?? "";
      if (file !== "") counts.set(file, (counts.get(file) ?? 0) + 1);
    }
  }
  return [...counts].toSorted((a, b) => b[1] - a[1]).map(([file]) => file);
}

/** `105 commands, 20 edits`; of a tool on a server that is called most, what it did: `Execute workflow with cloud-associates`. */
export function workDone(entries: readonly Entry[]): string | undefined {
  const counts = new Map<string, number>();
  let [commands, edits] = [0, 0];
  for (const { tool } of entries) {
    if (!tool) continue;
    if (tool.action === "edit") edits++;
    else if (tool.action === "run") commands++;
    const [, server, call] = /^mcp__(.+?)__(.+)$/.exec(tool.name) ?? [];
    const does =
      call && `${call.charAt(0).toUpperCase()}${call.slice(1).replaceAll("_", " ")} with ${server}`;
    if (does) counts.set(does, (counts.get(does) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted((a, b) => b[1] - a[1]);
  if (most && most[1] > commands + edits) return most[0];
  if (commands + edits < WORK_MIN) return undefined;
  const parts = [commands > 0 ? counted(commands, "command") : "", edits > 0 ? counted(edits, "edit") : ""];
  return parts.filter(Boolean).join(" and ") || undefined;
}

interface OutlineOptions {
  /** IANA name. */
  timezone: string;
  /** Code points in all. */
  maxChars: number;
  /** What the two who talk are called. @default User and Assistant */
  participants?: Participants | undefined;
  isRewound: (step: Step) => boolean;
}

const PROMPT_CHARS = 120;
const PART_CHARS = 80;
/** For the line that counts what is not shown. */
const COUNT_CHARS = 80;

/** The amount of detail of a section's work. */
interface Detail {
  chars: number;
  files: number;
  /** Commands that failed, and commits. */
  each: number;
}

/** A session of a few messages has room for more. */
const DETAILS: readonly Detail[] = [
  { chars: 1600, files: 20, each: 12 },
  { chars: 600, files: 8, each: 5 },
  { chars: 240, files: 4, each: 2 },
];

/** A user message or a compaction, or what came before the first one, and the steps up to the next one. */
type Section = Step[];

/** Returns the lines of an outline, oldest first; of a long session the oldest sections are counted only. */
export function outline(steps: readonly Step[], options: OutlineOptions): Line[] {
  const sections = sectionsOf(steps);
  let lines: Line[][] = [];
  for (const detail of DETAILS) {
    lines = sections.map((section) => sectionLines(section, options, detail));
    if (lines.reduce((sum, section) => sum + countPoints(section), 0) <= options.maxChars)
      return lines.flat();
  }
  let left = options.maxChars - COUNT_CHARS;
  let from = lines.length;
  while (from > 0 && countPoints(lines[from - 1] ?? []) <= left) left -= countPoints(lines[--from] ?? []);
  const [first, next] = [sections[0]?.[0], sections[from]?.[0]].map((step) => step?.entry.line ?? 0);
  const end = next ? `-${next - 1}` : " and on";
  const before = `[${counted(from, "message")} before: lines ${first}${end}]`;
  return [{ kind: "text", parts: [["faint", before]] }, ...lines.slice(from).flat()];
}

function sectionsOf(steps: readonly Step[]): Section[] {
  const sections: Section[] = [];
  for (const step of steps) {
    const { kind } = step.entry;
    if (kind === "user" || kind === "summary" || sections.length === 0) sections.push([step]);
    else sections.at(-1)?.push(step);
  }
  return sections;
}

function sectionLines(
  steps: Section,
  { timezone, isRewound, participants = PARTICIPANTS }: OutlineOptions,
  detail: Detail,
): Line[] {
  const lines: Line[] = [];
  const add = (...parts: Part[]) => lines.push({ kind: "row", parts });
  for (const step of steps) {
    const { line, at, kind, text } = step.entry;
    if (kind !== "user" && kind !== "summary") continue;
    const time = at ? formatLocal(at, timezone).slice(0, 16) : "no time";
    const rewound: Part[] = isRewound(step) ? [["bad", "(rewound)"], " "] : [];
    const said: Part[] =
      kind === "user"
        ? [["user", `${participants.user}:`], " ", ["said", oneLine(text, PROMPT_CHARS)]]
        : [["tool", "[Compacted]"]];
    add(["place", `L${line}`], " ", ["time", `[${time}]`], " ", ...rewound, ...said);
  }
  const work = workLine(steps, detail);
  if (work !== "") add(`  ${work}`);
  const decision = decisionOf(steps);
  if (decision !== undefined) add("  decided ", ["place", `L${decision.line}`], `: ${decision.text}`);
  return lines;
}

/** Lists the files edited, the commands that failed and the commits. */
function workLine(steps: readonly Step[], { chars, files, each }: Detail): string {
  const edited = new Set<string>();
  const failed = new Set<string>();
  const commits: string[] = [];
  let ran = 0;
  for (const { entry, result } of steps) {
    const { tool } = entry;
    const outcome = outcomeOf(result);
    if (tool?.action === "edit" && outcome !== "failed" && outcome !== "rejected") {
      for (const path of tool.paths) edited.add(baseName(path));
    }
    if (tool?.action !== "run") continue;
    ran++;
    if (outcome === "failed") failed.add(oneLine(tool.target, PART_CHARS));
    const commit = outcome === "failed" ? undefined : commitMessage(tool.target);
    if (commit !== undefined) commits.push(oneLine(commit, PART_CHARS));
  }
  const parts = [
    edited.size > 0 ? `edited ${some([...edited], files)}` : "",
    ran > 0 ? `ran ${counted(ran, "command")}` : "",
    failed.size > 0 ? `failed: ${some([...failed], each)}` : "",
    commits.length > 0 ? `committed: ${some(commits, each)}` : "",
  ];
  return truncate(parts.filter(Boolean).join("; "), chars);
}

function decisionOf(steps: readonly Step[]): { line: number; text: string } | undefined {
  for (const { entry } of steps.toReversed()) {
    if (entry.kind !== "assistant") continue;
    const sentence = sentences(entry.text).find(isDecision);
    if (sentence !== undefined) return { line: entry.line, text: oneLine(sentence, PROMPT_CHARS) };
  }
  return undefined;
}

function some(items: readonly string[], max: number): string {
  const more = items.length - max;
  return `${items.slice(0, max).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
