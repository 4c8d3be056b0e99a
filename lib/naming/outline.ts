/** Renders a whole session on one page: each message of the user, and under it what was done. */

import { countPoints, type Line, type Part } from "../base/output.ts";
import { counted, folderName, truncate } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import { isDecision, sentences } from "../language/speech.ts";
import { oneLine } from "../redact/redact.ts";
import { outcomeOf } from "../transcripts/calls.ts";
import type { Step } from "../transcripts/steps.ts";
import { commitMessage } from "../transcripts/tool-call.ts";

interface OutlineOptions {
  /** IANA name. */
  timezone: string;
  /** Code points in all. */
  maxChars: number;
  /** What the two who talk are called. @default User and Assistant */
  participants?: Participants | undefined;
  isRewound: (step: Step) => boolean;
  /** The session's directory, which its files are named in. */
  cwd?: string | undefined;
  /** Whether the first sections are shown where not all fit. @default {false} */
  fromStart?: boolean | undefined;
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

/** Returns the lines of an outline, oldest first; of a long session the oldest sections, or the newest, are counted only. */
export function outline(steps: readonly Step[], options: OutlineOptions): Line[] {
  const sections = sectionsOf(steps);
  let lines: Line[][] = [];
  for (const detail of DETAILS) {
    lines = sections.map((section) => sectionLines(section, options, detail));
    if (lines.reduce((sum, section) => sum + countPoints(section), 0) <= options.maxChars)
      return lines.flat();
  }
  let left = options.maxChars - COUNT_CHARS;
  const isTooLong = (section: Line[]) => {
    left -= countPoints(section);
    return left < 0;
  };
  const remark = (text: string): Line => ({ kind: "text", parts: [["faint", `[${text}]`]] });
  const lineOf = (at: number) => sections[at]?.[0]?.entry.line ?? 0;
  if (options.fromStart) {
    const to = lines.findIndex(isTooLong);
    const after = `${counted(lines.length - to, "message")} after: lines ${lineOf(to)} and on`;
    return [...lines.slice(0, to).flat(), remark(after)];
  }
  const from = lines.findLastIndex(isTooLong) + 1;
  const end = from < lines.length ? `-${lineOf(from) - 1}` : " and on";
  return [
    remark(`${counted(from, "message")} before: lines ${lineOf(0)}${end}`),
    ...lines.slice(from).flat(),
  ];
}

/** Parts steps before each user message and compaction. */
function sectionsOf(steps: readonly Step[]): Step[][] {
  const sections: Step[][] = [];
  for (const step of steps) {
    const { kind } = step.entry;
    if (kind === "user" || kind === "summary" || sections.length === 0) sections.push([step]);
    else sections.at(-1)?.push(step);
  }
  return sections;
}

function sectionLines(
  steps: readonly Step[],
  { timezone, isRewound, cwd, participants = PARTICIPANTS }: OutlineOptions,
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
  const work = workLine(steps, { ...detail, cwd });
  if (work !== "") add(`  ${work}`);
  const decision = decisionOf(steps);
  if (decision !== undefined) add("  decided ", ["place", `L${decision.line}`], `: ${decision.text}`);
  return lines;
}

/** Lists the files edited, the commands that failed and the commits. */
function workLine(
  steps: readonly Step[],
  { chars, files, each, cwd = "" }: Detail & Pick<OutlineOptions, "cwd">,
): string {
  const edited = new Set<string>();
  const outside = new Set<string>();
  const failed = new Set<string>();
  const commits: string[] = [];
  let ran = 0;
  for (const { entry, result } of steps) {
    const { tool } = entry;
    const outcome = outcomeOf(result);
    if (tool?.action === "edit" && outcome !== "failed" && outcome !== "rejected") {
      for (const path of tool.paths) {
        const inside = pathInside(path, cwd);
        if (inside === undefined) outside.add(folderName(path));
        else edited.add(inside);
      }
    }
    if (tool?.action !== "run") continue;
    ran++;
    if (outcome === "failed") failed.add(oneLine(tool.target, PART_CHARS));
    const commit = outcome === "failed" ? undefined : commitMessage(tool.target);
    if (commit !== undefined) commits.push(oneLine(commit, PART_CHARS));
  }
  const touched = [...edited, ...[...outside].map((name, i) => (i === 0 ? `outside: ${name}` : name))];
  const parts = [
    ...(touched.length > 0 ? [`edited ${some(touched, files)}`] : []),
    ...(ran > 0 ? [`ran ${counted(ran, "command")}`] : []),
    ...(failed.size > 0 ? [`failed: ${some([...failed], each)}`] : []),
    ...(commits.length > 0 ? [`committed: ${some(commits, each)}`] : []),
  ];
  return truncate(parts.join("; "), chars);
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

/** Returns a path from a directory, whichever system's; undefined for one that leads outside of it. */
function pathInside(path: string, directory: string): string | undefined {
  const [plain = "", top = ""] = [path, directory].map((one) =>
    one.replaceAll("\\", "/").replace(/\/+$/, ""),
  );
  if (!/^(?:[a-z]:)?\/|^\.\.\/|^~/i.test(plain)) return plain.replace(/^\.\//, "");
  const [file, folder] = /^[a-z]:/i.test(top) ? [plain.toLowerCase(), top.toLowerCase()] : [plain, top];
  return top !== "" && file.startsWith(`${folder}/`) ? plain.slice(top.length + 1) : undefined;
}
