/**
 * The times a question names ("around Christmas", "last Tuesday", "12 février vers midi") as a preference among chunks,
 * judged by the local date: people misremember, so it never filters.
 */

import { instantOf, localTime, parseTime } from "../base/time.ts";
import {
  AMBIGUOUS_MONTHS,
  DAY_PARTS,
  FEASTS,
  FOREIGN_RELATIVE,
  LAST_DAY,
  MONTH_NUMBERS,
  PARTS_OF_MONTH,
} from "./calendar-words.ts";
import { foldText } from "./words.ts";

/** Calendar days of a month, of one year or of any; or a stretch between two instants. */
type TimeRange =
  | { kind: "days"; year: number | undefined; month: number | undefined; first: number; last: number }
  | { kind: "span"; from: number; to: number };

export interface TimeCues {
  stretches: TimeRange[];
  /** Hours of the day, from and to; past 24 is the next morning. */
  hours: readonly [from: number, to: number] | undefined;
  timezone: string | undefined;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Around a day that is named, for work past midnight. */
const NEAR_MS = 6 * HOUR_MS;

const MONTH = [...MONTH_NUMBERS.keys()].sort((a, b) => b.length - a.length).join("|");
const NOT_BEFORE = "(?<![\\p{L}\\p{N}])";
const NOT_AFTER = "(?![\\p{L}\\p{N}])";
const OF = "(?:\\s+(?:of|de|do|den))?";
const ORDINAL = "(?:st|nd|rd|th|er|\\.|º)?";
const YEAR = "(?:,?\\s+(?:(?:of|de|in)\\s+)?(\\d{4}))?";
const TO = "\\s*(?:-|–|to|and|bis|auf den|und|au|et|al|y|ao|e|по)\\s*";

/** Each kind of date with how its parts are read; what one has taken is not there for the next. */
const DATES: [pattern: RegExp, read: (part: string[]) => TimeRange | undefined][] = [
  [/(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)/g, ([year, month, day]) => days({ year, month, first: day })],
  [/(?<!\d)(\d{4})-(\d\d)(?![\d-])/g, ([year, month]) => days({ year, month })],
  [/(?<!\d)(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)/g, ([day, month, year]) => days({ year, month, first: day })],
  [
    new RegExp(
      `${NOT_BEFORE}(\\d{1,2})${ORDINAL}${TO}(\\d{1,2})${ORDINAL}${OF}\\s+(${MONTH})\\.?${YEAR}${NOT_AFTER}`,
      "gu",
    ),
    ([first, last, month, year]) => days({ year, month, first, last }),
  ],
  [
    new RegExp(`${NOT_BEFORE}(\\d{1,2})${ORDINAL}${OF}\\s+(${MONTH})\\.?${YEAR}${NOT_AFTER}`, "gu"),
    ([day, month, year]) => days({ year, month, first: day }),
  ],
  [
    new RegExp(
      `${NOT_BEFORE}(${MONTH})\\.?\\s+(?:the\\s+)?(\\d{1,2})(?:st|nd|rd|th)?(?!\\d)${YEAR}${NOT_AFTER}`,
      "gu",
    ),
    ([month, day, year]) => days({ year, month, first: day }),
  ],
];
const WHOLE_MONTH = new RegExp(
  `(?:${NOT_BEFORE}(early|mid|late|anfang|mitte|ende|debut|mi|fin|principios de|mediados de|finales de)[- ](?:de )?)?` +
    `(?:${NOT_BEFORE}(in|of|since|until|during|last|this|im|seit|en|depuis|desde|em|в|с)\\s+)?` +
    `${NOT_BEFORE}(${MONTH})\\.?${YEAR}${NOT_AFTER}`,
  "gu",
);
const DAY_ALONE =
  /\b(?:on|from|until|since|am|le|el|o dia)\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th|\.)?(?=$|[\s?!.,;])/;
const RELATIVE =
  /\b(?:today|yesterday|(?:this|last) (?:week|month|year)|(?:last |on )(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d+ (?:days?|weeks?|months?|hours?) ago)\b/g;
/** Without any of this no time is named; to ask once is cheaper than for each kind, which costs a third of an empty start. */
const MAY_NAME_TIME =
  /\d|\b(?:jan|jän|feb|mar|mär|apr|avr|abr|may|mai|jun|jul|juin|aug|aout|aoû|ago|sep|setem|oct|okt|outub|nov|d[eéi][cz]|ene|fév|fev|marc|chr|xmas|x-mas|boxing|new year|valen|hallow|thanks|indep|heilig|weihn|no[eë]l|navid|natal|noche|silv|neuj|ano n|año n|v[eé]spera|veille|today|yester|(?:this|last)\s+(?:week|month|year)|(?:last|on)\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day|heute|gestern|hier|hoje|hoy|ayer|ontem|aujourd|letzte|vergang|sema|mitte|anfang|ende)|[а-яё]/i;

/** Reads the times a question names; undefined when it names none. */
export function readTimeCues(
  text: string,
  { now, timezone }: { now: Date; timezone?: string | undefined },
): TimeCues | undefined {
  if (!MAY_NAME_TIME.test(text)) return undefined;
  let rest = foldText(text);
  const stretches: TimeRange[] = [];
  const take = (pattern: RegExp, read: (part: string[]) => TimeRange | undefined) => {
    rest = rest.replace(pattern, (found: string, ...groups: unknown[]) => {
      const stretch = read(groups.map((group) => (typeof group === "string" ? group : "")));
      if (stretch) stretches.push(stretch);
      return stretch ? " " : found;
    });
  };
  for (const [pattern, read] of DATES) take(pattern, read);
  const dayAlone = DAY_ALONE.exec(rest)?.[1];
  take(WHOLE_MONTH, ([part = "", lead = "", month = "", year = ""]) =>
    AMBIGUOUS_MONTHS.has(month) && part + lead + year === ""
      ? undefined
      : wholeMonth({ part, month, year, day: dayAlone }),
  );
  for (const [pattern, month, first, last] of FEASTS) {
    take(pattern, () => ({ kind: "days", year: undefined, month, first, last }));
  }
  take(RELATIVE, () => undefined);
  stretches.push(...relativeSpans(rest, { now, timezone }));
  addYear(stretches, rest);
  const hours = hoursOf(rest);
  return stretches.length === 0 ? undefined : { stretches, hours, timezone };
}

/** Returns how well a time fits, from 0 to 1. */
export function timeFit(cues: TimeCues, iso: string): number {
  const time = Date.parse(iso);
  if (Number.isNaN(time)) return 0;
  let best = 0;
  for (const stretch of cues.stretches) best = Math.max(best, stretchFit(stretch, time, cues.timezone));
  if (best < 0.5 || cues.hours === undefined) return best;
  return best * hoursFit(cues.hours, time, cues.timezone);
}

/** Returns the stretches as instants within what the index covers, for finding candidates by time. */
export function cueSpans(
  cues: TimeCues,
  covered: { from: string; to: string },
): { from: string; to: string }[] {
  const earliest = Date.parse(covered.from);
  const latest = Date.parse(covered.to);
  if (Number.isNaN(earliest) || Number.isNaN(latest)) return [];
  const spans: [number, number][] = [];
  for (const stretch of cues.stretches) {
    if (stretch.kind === "span") spans.push([stretch.from, stretch.to]);
    else {
      const [first, last] = [new Date(earliest).getUTCFullYear(), new Date(latest).getUTCFullYear()];
      for (let year = stretch.year ?? first - 1; year <= (stretch.year ?? last + 1); year++) {
        spans.push(daySpan(stretch, year, cues.timezone));
      }
    }
  }
  return spans
    .filter(([from, to]) => to >= earliest && from <= latest)
    .map(([from, to]) => ({
      from: new Date(from - NEAR_MS).toISOString(),
      to: new Date(to + NEAR_MS).toISOString(),
    }));
}

function days({
  year,
  month,
  first,
  last,
}: {
  year?: string | undefined;
  month?: string | undefined;
  first?: string | undefined;
  last?: string | undefined;
}): TimeRange | undefined {
  const number = MONTH_NUMBERS.get(month ?? "") ?? Number(month);
  const from = first ? Number(first) : 1;
  const to = last ? Number(last) : first ? from : LAST_DAY;
  if (!(number >= 1 && number <= 12) || from < 1 || from > LAST_DAY || to > LAST_DAY) return undefined;
  return {
    kind: "days",
    year: year ? Number(year) : undefined,
    month: number,
    first: from,
    last: Math.max(from, to),
  };
}

function wholeMonth({
  part,
  month,
  year,
  day,
}: {
  part: string;
  month: string;
  year: string;
  day: string | undefined;
}): TimeRange | undefined {
  if (day !== undefined) return days({ year, month, first: day });
  const named = PARTS_OF_MONTH.find(([pattern]) => pattern.test(part));
  return days(named ? { year, month, first: String(named[1]), last: String(named[2]) } : { year, month });
}

function relativeSpans(
  text: string,
  { now, timezone }: { now: Date; timezone: string | undefined },
): TimeRange[] {
  const words = [...text.matchAll(RELATIVE)].map(([found]) => found);
  for (const [pattern, word] of FOREIGN_RELATIVE) if (pattern.test(text)) words.push(word);
  return words.flatMap((word): TimeRange[] => {
    const from = parseTime(word, { now, edge: "start", timezone })?.getTime();
    const to = parseTime(word, { now, edge: "end", timezone })?.getTime();
    if (from === undefined || to === undefined) return [];
    // "3 days ago" is a moment, and meant roughly
    const slack =
      from === to ? (/hour/.test(word) ? 2 * HOUR_MS : /day/.test(word) ? DAY_MS : 5 * DAY_MS) : 0;
    return [{ kind: "span", from: from - slack, to: to + slack }];
  });
}

/** Assigns a lone year to the dates without one; without dates it counts only after "in". */
function addYear(stretches: TimeRange[], rest: string): void {
  const year = /(?<![\d-])(20\d\d)(?![\d-])/.exec(rest)?.[1];
  if (year === undefined) return;
  for (const stretch of stretches) if (stretch.kind === "days") stretch.year ??= Number(year);
  if (stretches.length === 0 && /\b(?:in|en|em) 20\d\d\b/.test(rest)) {
    stretches.push({ kind: "days", year: Number(year), month: undefined, first: 1, last: LAST_DAY });
  }
}

function hoursOf(text: string): TimeCues["hours"] {
  const clock = /\b(?:at|around|about|gegen|um|vers|a las|as)\s+(\d{1,2})(?::(\d\d)|\s*(am|pm|h|uhr)\b)/.exec(
    text,
  );
  if (clock) {
    const hour = (Number(clock[1]) % 24) + (clock[3] === "pm" && Number(clock[1]) < 12 ? 12 : 0);
    return [hour - 1, hour + 2];
  }
  const part = DAY_PARTS.find(([pattern]) => pattern.test(text));
  return part && [part[1], part[2]];
}

function stretchFit(stretch: TimeRange, time: number, timezone: string | undefined): number {
  if (stretch.kind === "span") return nearness(time, stretch.from, stretch.to);
  const year = localTime(new Date(time), timezone).year;
  if (stretch.year !== undefined) return nearness(time, ...daySpan(stretch, stretch.year, timezone));
  return Math.max(
    ...[year - 1, year, year + 1].map((any) => nearness(time, ...daySpan(stretch, any, timezone))),
  );
}

/** From the first moment of the first day to the last of the last. */
function daySpan(
  { month, first, last }: Extract<TimeRange, { kind: "days" }>,
  year: number,
  timezone: string | undefined,
): [number, number] {
  if (month === undefined) {
    return [
      midnightOf({ year, month: 1, day: 1 }, timezone),
      midnightOf({ year: year + 1, month: 1, day: 1 }, timezone) - 1,
    ];
  }
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return [
    midnightOf({ year, month, day: Math.min(first, length) }, timezone),
    midnightOf({ year, month, day: Math.min(last, length) + 1 }, timezone) - 1,
  ];
}

/** Returns the instant at which a day begins in a zone, or in the system's own. */
function midnightOf(
  { year, month, day }: { year: number; month: number; day: number },
  timezone: string | undefined,
): number {
  if (timezone === undefined) return new Date(year, month - 1, day).getTime();
  return instantOf({ year, month, day, hour: 0, minute: 0, second: 0 }, timezone).getTime();
}

function nearness(time: number, from: number, to: number): number {
  const away = Math.max(from - time, time - to, 0);
  if (away === 0) return 1;
  return away < NEAR_MS ? 0.5 : away < DAY_MS ? 0.25 : 0;
}

function hoursFit([from, to]: readonly [number, number], time: number, timezone: string | undefined): number {
  const { hour, minute } = localTime(new Date(time), timezone);
  const clock = hour + minute / 60;
  const away = Math.min(...[clock, clock + 24].map((at) => Math.max(from - at, at - to, 0)));
  return away === 0 ? 1 : away < 1.5 ? 0.75 : 0.5;
}
