/** Renders a session as a page, with an anchor for the line of each row, or an overview that links the pages of several. */

import { plainText } from "../base/output.ts";
import { counted, oneLine, pathWithin, repeats } from "../base/text.ts";
import { formatLocal, formatMinute } from "../base/time.ts";
import type { Done, Row, Said, Session } from "../hosts/session.ts";
import { outline } from "../naming/outline.ts";
import { isOpen, MARKS, type Memory } from "../observe/observations.ts";
import { holds, type StandingRule } from "../observe/standing-rules.ts";
import { hostName } from "../sessions/hosts.ts";
import type { SessionMeta } from "../sessions/meta.ts";
import { hasPromptsAlone } from "../transcripts/files.ts";
import { callText, cutInside, describeInside, outcomeWord } from "../transcripts/log.ts";
import { isChange } from "../transcripts/rows.ts";
import { type Rules, shownText } from "../transcripts/rules.ts";
import { type Tally, tally } from "../transcripts/tally.ts";
import { escapeHtml, type Html, htmlPage, pageLink } from "./html.ts";

/** The sources of a page. */
export interface ReportedSession {
  session: Session;
  meta: SessionMeta | undefined;
  /** The rules that its user laid down beyond the task. */
  standing: readonly StandingRule[];
  /** Its observations, if there are any. */
  memory: Memory | undefined;
  /** Oldest first. */
  rows: readonly Row[];
  isRewound: (row: Row) => boolean;
  /** True if older rows exist that are not among these. */
  isCut: boolean;
  /** The address of the overview beside its page. @default no such page */
  overview?: string | undefined;
}

export interface PageStyle {
  /** IANA name. */
  timezone: string | undefined;
  participants: { user: string; assistant: string };
  rules: Rules;
}

/** The overview's facts of a session. */
interface PageFacts extends Pick<Tally, "messages" | "calls" | "edited"> {
  title: string;
  description: string;
  project: string;
  agent: string;
  /** ISO; the first and the last dated step. */
  from: string | undefined;
  to: string;
}

const TITLE_CHARS = 160; // as a tool call in the reader
const NAME_FROM_WORDS_CHARS = 80; // of a session that nobody named: its first words, as in lists
const NAME_CHARS = 4096; // no path is longer
/** The most of the contents: a long session's oldest messages are counted, as in `session-reader --outline`. */
const CONTENTS_CHARS = 40_000;
const UNFOLDED_MAX = 25; // a screen

/** Returns what is to be said of a session in a few words. */
export function sessionFacts({ session, meta, rows }: ReportedSession, { rules }: PageStyle): PageFacts {
  const shown = shownBy(rules);
  const { messages, calls, edited } = tally(rows);
  const words = rows.find((row) => row.who === "user" && row.text.trim() !== "");
  const begins = words?.who === "user" ? words.text : "";
  const title = oneLine(
    shown(session.name) || shown(meta?.name) || oneLine(begins, NAME_FROM_WORDS_CHARS) || shown(session.id),
    TITLE_CHARS,
  );
  const description = shown(meta?.description);
  return {
    title,
    description: isSaidTwice(title, description) ? "" : description,
    project: oneLine(shown(session.cwd), NAME_CHARS),
    agent: hostName(session.agent),
    from: session.startedAt ?? rows.find(({ at }) => at)?.at,
    to: session.updatedAt,
    messages,
    calls,
    edited,
  };
}

/** Returns whether one of two texts says no more than the other. */
function isSaidTwice(a: string, b: string): boolean {
  return repeats(a, [b]) || repeats(b, [a]);
}

/** A filter for texts that never passed the reader: "" for what is missing or excluded, else redacted. */
function shownBy(rules: Rules): (text: string | undefined) => string {
  return (text) => shownText(text, rules) ?? "";
}

/** Returns the page of a session with these facts. */
export function sessionPage(reported: ReportedSession, facts: PageFacts, style: PageStyle): Html {
  const body = [
    `<header>\n${headerHtml(reported, { facts, style })}\n</header>`,
    "<main>",
    ...knownLists(reported, { facts, style }),
    contentsHtml(reported, style),
    conversationHtml(reported, style),
    "</main>",
  ];
  return htmlPage({
    title: facts.title,
    session: shownBy(style.rules)(reported.session.id),
    body: body.filter(Boolean).join("\n"),
  });
}

function headerHtml(
  { session, meta, overview }: ReportedSession,
  { facts, style }: { facts: PageFacts; style: PageStyle },
): Html {
  const shown = shownBy(style.rules);
  const time = (at: string | undefined) => (at === undefined ? "" : formatLocal(at, style.timezone));
  const amount = [
    counted(facts.messages, "message"),
    counted(facts.calls, "tool call"),
    facts.edited.size > 0 ? `${counted(facts.edited.size, "file")} edited` : "",
  ];
  const rows: [string, string][] = [
    ["Project", facts.project],
    ["Agent", facts.agent],
    ["Session", oneLine(shown(session.id), NAME_CHARS)],
    ["Time", [time(facts.from), time(facts.to)].filter(Boolean).join(" – ")],
    ["Length", amount.filter(Boolean).join(", ")],
    ["Kept", keptWhere(session)],
    ["Tags", (meta?.tags ?? []).map(shown).filter(Boolean).join(", ")],
  ];
  const summary = shown(meta?.summary);
  return [
    overview && `<nav><a href="${escapeHtml(overview)}">All sessions</a></nav>`,
    `<h1>${escapeHtml(facts.title)}</h1>`,
    facts.description && `<p dir="auto">${escapeHtml(facts.description)}</p>`,
    `<dl>\n${rows
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`)
      .join("\n")}\n</dl>`,
    summary &&
      !isSaidTwice(summary, facts.description || facts.title) &&
      `<div class="said" dir="auto">${proseHtml(summary)}</div>`,
  ]
    .filter(Boolean)
    .join("\n");
}

/** Says what of a session is left, where its transcript is gone. */
function keptWhere({ file, archived }: Session): string {
  if (hasPromptsAlone(file)) return "only its prompts: its transcript is gone";
  return archived ? "only in the archive: its transcript is gone" : "";
}

/** Returns the lists of what is known of a session, each item with the lines that it is from. */
function knownLists(
  { standing, memory }: ReportedSession,
  { facts: { edited, project }, style }: { facts: PageFacts; style: PageStyle },
): Html[] {
  const itemHtml = (text: string, lines: readonly number[]) =>
    `<li dir="auto">${escapeHtml(text)} ${lines.map(placeHtml).join(" ")}</li>`;
  const files = [...edited].map(([path, { line }]) => itemHtml(pathWithin(path, project) ?? path, [line]));
  const rules = standing.map((rule) => {
    const state = rule.isDropped ? " (ended)" : holds(rule) ? "" : " (superseded)";
    return itemHtml(`${shownText(rule.mark.words, style.rules) ?? ""}${state}`, [rule.mark.line]);
  });
  const observations = memory?.observations.map((each) => {
    const open = each.thread && isOpen(each, memory) ? " (open)" : "";
    return itemHtml(`${MARKS[each.priority]} ${each.text}${open}`, each.sources);
  });
  return [
    listHtml("Files edited", files),
    listHtml("Standing rules", rules),
    listHtml("Observations", observations ?? []),
  ];
}

function contentsHtml({ session: { cwd }, rows, isRewound }: ReportedSession, { timezone }: PageStyle): Html {
  const items = outline(rows, { timezone, maxChars: CONTENTS_CHARS, isRewound, cwd }).map(({ parts }) => {
    const part = plainText({ kind: "row", parts }).startsWith("  ") ? ' class="part"' : "";
    const linked = parts.map((each) =>
      typeof each === "string"
        ? escapeHtml(each)
        : each[0] === "place"
          ? `<a href="#${each[1]}">${each[1]}</a>`
          : escapeHtml(each[1]),
    );
    return `<li dir="auto"${part}>${linked.join("").trim()}</li>`;
  });
  return listHtml("Contents", items, "contents");
}

/** Folds a long list, so that the conversation is not a long way down. */
function listHtml(heading: string, items: readonly Html[], name?: string): Html {
  if (items.length === 0) return "";
  const open = items.length <= UNFOLDED_MAX ? " open" : "";
  const list = `<ul${name ? ` class="${name}"` : ""}>\n${items.join("\n")}\n</ul>`;
  return `<details${open}><summary><h2>${heading}</h2></summary>\n${list}\n</details>`;
}

function placeHtml(line: number): Html {
  return `<a class="place" href="#L${line}">L${line}</a>`;
}

function conversationHtml({ rows, isRewound, isCut }: ReportedSession, style: PageStyle): Html {
  let last: number | undefined;
  const parts = rows.map((row) => {
    // what was said and called on one line has one anchor
    const isFirst = row.line !== last;
    last = row.line;
    return rowHtml(row, { style, isFirst, isRewound: isRewound(row) });
  });
  const older = isCut ? '<p class="dim">Older entries are left out: session-reader shows them.</p>' : "";
  return ["<h2>Conversation</h2>", older, ...parts].filter(Boolean).join("\n");
}

function rowHtml(
  row: Row,
  { style, isFirst, isRewound }: { style: PageStyle; isFirst: boolean; isRewound: boolean },
): Html {
  const { line, at, who } = row;
  const time = at ? `<time datetime="${escapeHtml(at)}">${formatLocal(at, style.timezone)}</time>` : "";
  const mark = isRewound ? '<span class="dim">(rewound)</span> ' : "";
  const place = placeHtml(line) + time;
  const names = [who, isRewound ? "rewound" : ""].filter(Boolean).join(" ");
  const content = row.who === "tool" ? doneHtml(row, mark, place) : saidHtml(row, { style, mark, place });
  return `<article${isFirst ? ` id="L${line}"` : ""} class="${names}">${content}</article>`;
}

function saidHtml(
  { who, text }: Said,
  { style, mark, place }: { style: PageStyle; mark: Html; place: Html },
): Html {
  const said = proseHtml(text);
  if (who === "summary")
    return foldedHtml(`${mark}Compaction summary ${place}`, `<div class="said">${said}</div>`);
  const name = escapeHtml(style.participants[who]);
  return `${mark}<span class="who">${name}</span>${place}\n<div class="said" dir="auto">${said}</div>`;
}

function doneHtml(row: Done, mark: Html, place: Html): Html {
  const word = outcomeWord(row);
  const name = word === "failed" || word === "rejected" ? "failed" : "dim";
  const outcome = word === "" ? "" : ` <span class="${name}">${word}</span>`;
  const head = `${mark}<code>${escapeHtml(oneLine(callText(row), TITLE_CHARS))}</code>${outcome} ${place}`;
  const { input, result } = describeInside(row);
  const called = cutInside(input, row.line);
  const inside = [
    isChange(row) ? diffHtml(called) : escapeHtml(called),
    escapeHtml(cutInside(result, row.line)),
  ]
    .filter((html) => html.trim() !== "")
    .map((html) => `<pre>${html}</pre>`);
  return inside.length === 0 ? head : foldedHtml(head, inside.join("\n"));
}

function foldedHtml(head: Html, inside: Html): Html {
  return `<details><summary>${head}</summary>\n${inside}\n</details>`;
}

/** Marks the added and removed lines of a diff. */
function diffHtml(diff: string): Html {
  return diff
    .split("\n")
    .map((line) => {
      const tag = { "+": "ins", "-": "del" }[line[0] ?? ""];
      return tag ? `<${tag}>${escapeHtml(line)}</${tag}>` : `${escapeHtml(line)}\n`;
    })
    .join("");
}

/** Returns a message with its code blocks and its words in backticks set as code, and nothing else of Markdown. */
function proseHtml(text: string): Html {
  return text
    .trim()
    .split(/^[ \t]*(?:```|~~~)[^\n]*\n?/m)
    .map((part, i) =>
      i % 2 === 1
        ? `<pre><code>${escapeHtml(part.trimEnd())}</code></pre>`
        : escapeHtml(part.trim()).replace(/`([^`\n]+)`/g, "<code>$1</code>"),
    )
    .join("");
}

/** A session's page beside the overview. */
export interface LinkedPage {
  /** The session's id, which names its page. */
  id: string;
  facts: PageFacts;
}

/** Returns the overview: by project, the one with the newest session first. */
export function overviewPage(
  pages: readonly LinkedPage[],
  { timezone }: { timezone: string | undefined },
): Html {
  const newest = pages.toSorted((a, b) => (a.facts.to < b.facts.to ? 1 : -1));
  const projects = Map.groupBy(newest, ({ facts }) => facts.project);
  const named = [...projects].map(([project, own], i) => ({
    name: escapeHtml(project || "no project"),
    anchor: `P${i + 1}`,
    own,
  }));
  const contents = named.map(
    ({ name, anchor, own }) => `<li><a href="#${anchor}">${name}</a> ${counted(own.length, "session")}</li>`,
  );
  const sections = named.map(
    ({ name, anchor, own }) =>
      `<h2 id="${anchor}">${name}</h2>\n<ul class="sessions">\n${own
        .map((page) => itemHtml(page, timezone))
        .join("\n")}\n</ul>`,
  );
  const title = counted(pages.length, "session");
  const list = named.length > 1 ? [listHtml("Projects", contents)] : [];
  return htmlPage({
    title,
    session: "",
    body: `<header>\n<h1>${title}</h1>\n</header>\n<main>\n${[...list, ...sections].join("\n")}\n</main>`,
  });
}

function itemHtml({ id, facts }: LinkedPage, timezone: string | undefined): Html {
  const { title, description, agent, to, messages, edited } = facts;
  const length = [agent, counted(messages, "message")];
  if (edited.size > 0) length.push(`${counted(edited.size, "file")} edited`);
  return `<li><time datetime="${escapeHtml(to)}">${formatMinute(to, timezone)}</time>
<div dir="auto"><a href="${pageLink(id)}">${escapeHtml(title)}</a>
<p class="dim" dir="auto">${escapeHtml(description)}</p>
<p class="dim">${length.join(" · ")}</p></div></li>`;
}
