/**
 * Reads the times a question names: dates in digits, month names of six languages, "last Tuesday" and the like in English.
 * Chunks of that time are preferred; no others are filtered out, since people misremember.
 */

import { DAY_MS, localTime, MONTHS, parseTime, toInstant } from "../base/time.ts";
import { foldText, STOP_WORDS, splitWords } from "./words.ts";

/** Stretches of time, in milliseconds; a date without a year is one in each year that may be meant. */
export type TimeCues = readonly { from: number; to: number }[];

const HOUR_MS = 3_600_000;
/** Around a day that is named, for work past midnight. */
const NEAR_MS = 6 * HOUR_MS;
/** A date without a year is looked for this far back. */
const YEARS_BACK = 5;
/** A day beyond a shorter month is the next one's. */
const LAST_DAY = 31;

/** The months in German, French, Spanish, Portuguese and Russian (in a date and after "in"), folded, and short in English. */
const OTHER_MONTHS = `
jan januar janner janvier enero janeiro января январе|feb februar fevrier febrero fevereiro февраля феврале
mar marz mars marzo marco марта марте|apr avril abril апреля апреле|mai mayo maio мая мае
jun juni juin junio junho июня июне|jul juli juillet julio julho июля июле|aug aout agosto августа августе
sep sept septembre septiembre setembro сентября сентябре|oct oktober octobre octubre outubro октября октябре
nov novembre noviembre novembro ноября ноябре|dec dezember decembre diciembre dezembro декабря декабре`;
const MONTH_NUMBERS = new Map(
  OTHER_MONTHS.trim()
    .split(/[|\n]/)
    .flatMap((names, index) =>
      [MONTHS[index] ?? "", ...names.split(" ")].map((name) => [name.toLowerCase(), index + 1] as const),
    ),
);
/** "may" and "march" are words too: a month needs a number or a word such as "in" beside it. */
const MONTH = [...MONTH_NUMBERS.keys()].sort((a, b) => b.length - a.length).join("|");

const [START, END] = ["(?<![\\p{L}\\p{N}])", "(?![\\p{L}\\p{N}])"];
const YEAR = "(?:,?\\s+(?:(?:of|de|in)\\s+)?(?<year>\\d{4}))?";
const ORDINAL = "(?:st|nd|rd|th|er|\\.|º)?";
/** "10 to 12 July", "July 10-12". */
const TO_DAY = `(?:\\s*(?:[-–]|to|until|till|through|and|bis|au|al|ao)\\s*(?<last>\\d{1,2})${ORDINAL})?`;

/** Each form of a date; what one has taken is not there for the next. */
const DATES = [
  /(?<!\d)(?<year>\d{4})-(?<month>\d\d)(?:-(?<day>\d\d))?(?![\d-])/g,
  /(?<!\d)(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})(?!\d)/g,
  new RegExp(
    `${START}(?<day>\\d{1,2})${ORDINAL}${TO_DAY}(?:\\s+(?:of|de))?\\s+(?<month>${MONTH})\\.?${YEAR}${END}`,
    "gu",
  ),
  new RegExp(
    `${START}(?<month>${MONTH})\\.?\\s+(?:the\\s+)?(?<day>\\d{1,2})(?:st|nd|rd|th)?${TO_DAY}(?!\\d)${YEAR}${END}`,
    "gu",
  ),
  new RegExp(`${START}(?<month>${MONTH})\\.?,?\\s+(?:(?:of|de)\\s+)?(?<year>\\d{4})${END}`, "gu"),
  new RegExp(
    `${START}(?:in|of|since|until|during|last|this|im|seit|en|em|в)\\s+(?<month>${MONTH})${END}`,
    "gu",
  ),
  /(?<![\p{L}\p{N}])(?:in|en|em)\s+(?<year>20\d\d)(?!\d)/gu,
];
const RELATIVE =
  /\b(?:today|yesterday|(?:this|last) (?:week|month|year)|(?:last |on )(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d+ (?:days?|weeks?|months?|hours?) ago)\b/g;

interface Clock {
  now: Date;
  timezone?: string | undefined;
}

/** Reads the times a question names; undefined when it names none. */
export function readTimeCues(text: string, clock: Clock): TimeCues | undefined {
  return readTimes(text, clock)?.cues;
}

/** Words that only ask what was done. */
const ASKING =
  /^(?:we|do|did|does|done|doing|work|worked|working|make|made|get|got|change|changes|changed|happen|happened|going|accomplish|accomplished|session|sessions|project|repo|repository|all|day|summary|summarize|summarise)$/;

/**
 * Reads a question that asks for nothing but what was done at a time, in one of these projects perhaps: "what did we do in
 * shop on 14 July?"; undefined for any other.
 */
export function readTimeAsked(
  text: string,
  clock: Clock,
  projects: readonly string[] = [],
): { times: TimeCues; projects: string[] } | undefined {
  const { cues, rest } = readTimes(text, clock) ?? { cues: [], rest: text };
  let left = ` ${splitWords(rest).join(" ")} `;
  const named = projects
    .toSorted((a, b) => b.length - a.length)
    .filter((name) => {
      const words = splitWords(name);
      const found = ` ${words.join(" ")} `;
      if (words.every(isAsking) || !left.includes(found)) return false;
      left = left.replace(found, " ");
      return true;
    });
  return splitWords(left).every(isAsking) ? { times: cues, projects: named } : undefined;
}

function isAsking(word: string): boolean {
  return STOP_WORDS.has(word) || ASKING.test(word);
}

/** Reads times, and what is left of a text without them. */
function readTimes(text: string, clock: Clock): { cues: TimeCues; rest: string } | undefined {
  let rest = foldText(text);
  if (!mayNameTime(rest)) return undefined;
  const cues: { from: number; to: number }[] = [];
  for (const date of DATES) {
    rest = rest.replace(date, (found: string, ...groups: unknown[]) => {
      const stretches = findStretches(groups.at(-1) as DateParts, clock);
      cues.push(...stretches);
      return stretches.length > 0 ? " " : found;
    });
  }
  for (const [word] of rest.matchAll(RELATIVE)) cues.push(...relativeStretch(word, clock));
  return cues.length > 0 ? { cues, rest: rest.replace(RELATIVE, " ") } : undefined;
}

/** Returns whether it is worth while to look for dates: to compile their patterns takes a third of an empty start. */
function mayNameTime(text: string): boolean {
  if (/\d|day|week|month|year/.test(text)) return true;
  return (text.match(/\p{L}+/gu) ?? []).some((word) => MONTH_NUMBERS.has(word));
}

/** Returns how well a time fits, from 0 to 1. */
export function timeFit(cues: TimeCues, iso: string): number {
  const time = Date.parse(iso);
  let best = 0;
  for (const { from, to } of cues) {
    const away = Math.max(from - time, time - to, 0);
    const fit = away === 0 ? 1 : away < NEAR_MS ? 0.5 : away < DAY_MS ? 0.25 : 0;
    if (fit > best) best = fit;
  }
  return best;
}

/** Returns the stretches within what the index covers, with the hours around them, for finding candidates by time. */
export function cueSpans(
  cues: TimeCues,
  covered: { from: string; to: string },
): { from: string; to: string }[] {
  const [earliest, latest] = [Date.parse(covered.from), Date.parse(covered.to)];
  const iso = (time: number) => new Date(time).toISOString();
  return cues
    .filter(({ from, to }) => to >= earliest && from <= latest)
    .map(({ from, to }) => ({ from: iso(from - NEAR_MS), to: iso(to + NEAR_MS) }));
}

/** As written; a missing part means its whole range. */
type DateParts = { [part in "year" | "month" | "day" | "last"]?: string };

function findStretches({ year, month, day, last = day }: DateParts, { now, timezone }: Clock): TimeCues {
  const number = month === undefined ? 1 : (MONTH_NUMBERS.get(month) ?? Number(month));
  const first = day === undefined ? 1 : Number(day);
  const end = last === undefined ? first : Number(last);
  if (number < 1 || number > 12 || first < 1 || end < first || end > LAST_DAY) return [];
  const next = localTime(now, timezone).year + 1;
  const years = year ? [Number(year)] : Array.from({ length: YEARS_BACK + 2 }, (_, back) => next - back);
  return years.map((year) => {
    const after = day ? [year, number, end + 1] : month ? [year, number + 1, 1] : [year + 1, 1, 1];
    return { from: midnight([year, number, first], timezone), to: midnight(after, timezone) - 1 };
  });
}

/** Returns the instant at which a day begins in a zone, or in the system's own; month 13 is next year's first. */
function midnight([year = 0, month = 1, day = 1]: readonly number[], timezone: string | undefined): number {
  if (timezone === undefined) return new Date(year, month - 1, day).getTime();
  return toInstant({ year, month, day, hour: 0, minute: 0, second: 0 }, timezone).getTime();
}

function relativeStretch(word: string, { now, timezone }: Clock): TimeCues {
  const from = parseTime(word, { now, edge: "start", timezone })?.getTime();
  const to = parseTime(word, { now, edge: "end", timezone })?.getTime();
  if (from === undefined || to === undefined) return [];
  // "3 days ago" is a moment, and meant roughly
  const slack =
    from !== to ? 0 : word.includes("hour") ? 2 * HOUR_MS : word.includes("day") ? DAY_MS : 5 * DAY_MS;
  return [{ from: from - slack, to: to + slack }];
}
