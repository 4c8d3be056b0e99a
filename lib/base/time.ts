/** Formats times as people write them, in a time zone. */

interface LocalTime {
  year: number;
  /** 1 to 12. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

export const DAY_MS = 86_400_000;
export const MONTHS =
  "January February March April May June July August September October November December".split(" ");

const formatters = new Map<string, Intl.DateTimeFormat>();

/** `2026-02-12 10:30:05` in the time zone; of the system's own, without the milliseconds that loading zones takes. */
export function formatLocal(iso: string | Date, timezone?: string): string {
  const date = new Date(iso);
  if (timezone !== undefined && timezone !== "UTC") return formatter(timezone).format(date);
  const offset = timezone === undefined ? date.getTimezoneOffset() * 60_000 : 0;
  return `${new Date(date.getTime() - offset).toJSON()}`.slice(0, 19).replace("T", " ");
}

/** `2026-02-12 10:30` in the time zone. */
export function formatMinute(iso: string, timezone?: string): string {
  return formatLocal(iso, timezone).slice(0, 16);
}

/** Returns the local date, `2026-02-12`. */
export function formatDate(iso: string, timezone?: string): string {
  return formatLocal(iso, timezone).slice(0, 10);
}

/** Returns an ISO time of UTC; undefined for one later than now: nothing that was read is newer than that. */
export function pastTime(iso: string | undefined): string | undefined {
  return iso !== undefined && iso <= new Date().toISOString() ? iso : undefined;
}

/** `45s`, `3m`, `2h`, `5d`: the largest unit that fits. */
export function formatAge(seconds: number): string {
  const age = Math.max(0, Math.floor(seconds));
  if (age < 60) return `${age}s`;
  if (age < 3600) return `${Math.floor(age / 60)}m`;
  if (age < 86_400) return `${Math.floor(age / 3600)}h`;
  return `${Math.floor(age / 86_400)}d`;
}

/** Returns the wall clock of an instant in a time zone. */
export function localTime(date: Date, timezone?: string): LocalTime {
  const numbers = formatLocal(date, timezone).match(/\d+/g) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = numbers.map(Number);
  return { year, month, day, hour, minute, second };
}

export function systemTimezone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function formatter(timezone: string): Intl.DateTimeFormat {
  let known = formatters.get(timezone);
  // Swedish writes times as ISO does
  known ??= new Intl.DateTimeFormat("sv", { timeZone: timezone, dateStyle: "short", timeStyle: "medium" });
  formatters.set(timezone, known);
  return known;
}
