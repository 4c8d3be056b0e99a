/**
 * Reads times as people write them: one that stands alone, or all that a question names. Dates in digits, month names of six
 * languages, "last Tuesday" and the like in English.
 */

import { DAY_MS, localTime, MONTHS } from "../base/time.ts";
import { foldText, STOP_WORDS, splitWords } from "./words.ts";

/** A stretch of time, in milliseconds. */
interface Stretch {
  from: number;
  to: number;
}

/**
 * The times that a question names; a date without a year is one in each year that may be meant. Chunks of these times are
 * preferred; no others are filtered out, since people misremember.
 */
export type TimeCues = readonly Stretch[];

interface Clock {
  now: Date;
  /** IANA name. @default the system's */
  timezone?: string | undefined;
}

const HOUR_MS = 3_600_000;
const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };
/** Around a day that is named, for work past midnight. */
const NEAR_MS = 6 * HOUR_MS;
/** A date without a year is looked for this far back: no leap day is further away. */
const YEARS_BACK = 8;

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
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
/** Words before a date that stands alone. */
const BEFORE_DATE = new RegExp(`^(?:on |in )?(?:(?:${WEEKDAYS.join("|")}),? )?(?:the )?`);

/**
 * Reads a time that stands alone: a date in any form, `2026`, `July`, a date-time, `today`, `yesterday`, a weekday, `7d`,
 * `3h ago`, `last week` and the like. A date means the whole local day, of those without a year the latest that has begun; a
 * span (`7d`) the moment that long ago.
 *
 * @param edge The end of a day, month or year that is meant: `--after` wants its start, `--before` its end.
 * @returns undefined for any other form.
 */
export function parseTime(
  text: string,
  { edge, ...clock }: Clock & { edge: "start" | "end" },
): Date | undefined {
  const word = foldText(text.trim()).replace(/\s+/g, " ");
  const stretch = readDate(word, clock) ?? readRelative(word, clock) ?? readInstant(word, clock);
  return stretch && new Date(edge === "start" ? stretch.from : stretch.to);
}

function readDate(word: string, clock: Clock): Stretch | undefined {
  const date = word.replace(BEFORE_DATE, "").replace(/-(?=\d(?!\d))/g, "-0");
  for (const written of [date, `in ${date}`]) {
    for (const pattern of [...DATES, /^(?<year>\d{4})$/g]) {
      const [found] = written.matchAll(pattern);
      if (found?.[0] !== written) continue;
      const stretches = findStretches(found.groups ?? {}, clock);
      return stretches.find(({ from }) => from <= clock.now.getTime()) ?? stretches[0];
    }
  }
  return undefined;
}

/** Reads a date with a time of day. */
function readInstant(word: string, { timezone }: Clock): Stretch | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(z|[+-]\d\d:?\d\d)?$/.exec(word);
  const [, date, time, zone] = parts ?? [];
  const instant = Date.parse(`${date}T${time}${zone?.toUpperCase() ?? "Z"}`);
  if (Number.isNaN(instant)) return undefined;
  const at = zone ? instant : toInstant(instant, timezone);
  return { from: at, to: at };
}

/** Reads a time that is told from now. */
function readRelative(word: string, { now, timezone }: Clock): Stretch | undefined {
  const { year, month, day, hour, minute, second } = localTime(now, timezone);
  const between = (from: Day, to: Day) => stretchOf(from, to, timezone);
  const days = (back: number, length: number) =>
    between([year, month, day - back], [year, month, day - back + length]);
  const moment = (at: number) => ({ from: at, to: at });
  if (word === "now") return moment(now.getTime());
  if (word === "today") return days(0, 1);
  if (word === "yesterday") return days(1, 1);
  const dayOfWeek = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
  const weekday = WEEKDAYS.indexOf(word.replace(/^(?:last|on) /, ""));
  if (weekday !== -1) return days(((dayOfWeek - weekday + 6) % 7) + 1, 1);
  const [, which, unit] = /^(this|last) (week|month|year)$/.exec(word) ?? [];
  const back = which === "last" ? 1 : 0;
  if (unit === "week") return days(((dayOfWeek + 6) % 7) + 7 * back, 7);
  if (unit === "month") return between([year, month - back, 1], [year, month - back + 1, 1]);
  if (unit === "year") return between([year - back, 1, 1], [year - back + 1, 1, 1]);
  const [, number, span] =
    /^(\d+) ?(s|m|h|d|w|mo|y|min|seconds?|minutes?|hours?|days?|weeks?|months?|years?)(?: ago)?$/.exec(
      word,
    ) ?? [];
  if (span === undefined) return undefined;
  const count = Number(number);
  const past = span.startsWith("mo")
    ? [year, month - count]
    : span.startsWith("y")
      ? [year - count, month]
      : undefined;
  if (!past) return moment(now.getTime() - count * (UNIT_MS[span.slice(0, 1)] ?? 0));
  const [inYear = 0, inMonth = 0] = past;
  return moment(toInstant(Date.UTC(inYear, inMonth - 1, day, hour, minute, second), timezone));
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
  const cues: Stretch[] = [];
  for (const date of DATES) {
    rest = rest.replace(date, (found: string, ...groups: unknown[]) => {
      const stretches = findStretches(groups.at(-1) as DateParts, clock);
      cues.push(...stretches);
      return stretches.length > 0 ? " " : found;
    });
  }
  for (const [word] of rest.matchAll(RELATIVE)) {
    const stretch = readRelative(word, clock);
    if (stretch) cues.push(widened(stretch, word));
  }
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

/** Returns the stretches that a date may mean, of one without a year the latest first. */
function findStretches({ year, month, day, last = day }: DateParts, { now, timezone }: Clock): Stretch[] {
  const number = month === undefined ? 1 : (MONTH_NUMBERS.get(month) ?? Number(month));
  const [first, end] = [Number(day ?? 1), Number(last ?? 1)];
  if (number < 1 || number > 12 || first < 1 || end < first) return [];
  const next = localTime(now, timezone).year + 1;
  const years = year ? [Number(year)] : Array.from({ length: YEARS_BACK + 2 }, (_, back) => next - back);
  return years
    .filter((each) => end <= new Date(Date.UTC(each, number, 0)).getUTCDate())
    .map((each) => {
      const after: Day = day ? [each, number, end + 1] : month ? [each, number + 1, 1] : [each + 1, 1, 1];
      return stretchOf([each, number, first], after, timezone);
    });
}

/** A day of a calendar, its month from 1 on; one beyond its range is of the next or the last month or year. */
type Day = [year: number, month: number, day: number];

/** Returns the time from the beginning of one day to that of another. */
function stretchOf(from: Day, to: Day, timezone: string | undefined): Stretch {
  const midnight = ([year, month, day]: Day) => toInstant(Date.UTC(year, month - 1, day), timezone);
  return { from: midnight(from), to: midnight(to) - 1 };
}

/** Returns the instant at which a zone's clock shows a time, read as if of UTC; in a gap of summer time, the moment after it. */
function toInstant(clock: number, timezone: string | undefined): number {
  let instant = clock;
  // The offset may differ between the guess and the answer (summer time): the second round settles it.
  for (let round = 0; round < 2; round++) {
    const { year, month, day, hour, minute, second } = localTime(new Date(instant), timezone);
    instant += clock - Date.UTC(year, month - 1, day, hour, minute, second);
  }
  return instant;
}

/** Widens a moment that is meant roughly: "3 days ago". */
function widened({ from, to }: Stretch, word: string): Stretch {
  const slack =
    from !== to ? 0 : word.includes("hour") ? 2 * HOUR_MS : word.includes("day") ? DAY_MS : 5 * DAY_MS;
  return { from: from - slack, to: to + slack };
}
