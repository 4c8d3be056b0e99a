import { describe, expect, test } from "bun:test";
import { formatAge } from "../lib/base/time.ts";
import { parseTime } from "../lib/language/times.ts";

const now = new Date("2026-02-12T10:30:05Z"); // a Thursday

function parsed(text: string, edge: "start" | "end" = "start", timezone = "UTC"): string | undefined {
  return parseTime(text, { now, edge, timezone })?.toISOString();
}

describe("parseTime()", () => {
  const starts: [string, string][] = [
    ["2026-02-03", "2026-02-03T00:00:00.000Z"],
    ["2026-02", "2026-02-01T00:00:00.000Z"],
    ["2025", "2025-01-01T00:00:00.000Z"],
    ["2026-02-03T10:15:00Z", "2026-02-03T10:15:00.000Z"],
    ["2026-02-03 10:15", "2026-02-03T10:15:00.000Z"],
    ["2026-02-03T10:15:00+02:00", "2026-02-03T08:15:00.000Z"],
    ["today", "2026-02-12T00:00:00.000Z"],
    ["Yesterday", "2026-02-11T00:00:00.000Z"],
    ["7d", "2026-02-05T10:30:05.000Z"],
    ["3 hours ago", "2026-02-12T07:30:05.000Z"],
    ["2 months ago", "2025-12-12T10:30:05.000Z"],
    ["last week", "2026-02-02T00:00:00.000Z"],
    ["this week", "2026-02-09T00:00:00.000Z"],
    ["last year", "2025-01-01T00:00:00.000Z"],
    ["last tuesday", "2026-02-10T00:00:00.000Z"],
    ["now", "2026-02-12T10:30:05.000Z"],
    ["14 July 2026", "2026-07-14T00:00:00.000Z"],
    ["the 3rd of Feb 2026", "2026-02-03T00:00:00.000Z"],
    ["on 12 February", "2026-02-12T00:00:00.000Z"],
    ["14 July", "2025-07-14T00:00:00.000Z"],
    ["Sept. 9", "2025-09-09T00:00:00.000Z"],
    ["29 February", "2024-02-29T00:00:00.000Z"],
    ["Tuesday, 10 February 2026", "2026-02-10T00:00:00.000Z"],
    ["July 2025", "2025-07-01T00:00:00.000Z"],
    ["in may", "2025-05-01T00:00:00.000Z"],
    ["3.2.2026", "2026-02-03T00:00:00.000Z"],
  ];
  for (const [text, start] of starts) {
    test(`reads "${text}" as from ${start}`, () => expect(parsed(text)).toBe(start));
  }

  const ends: [string, string][] = [
    ["2026-02-03", "2026-02-03T23:59:59.999Z"],
    ["2026-02", "2026-02-28T23:59:59.999Z"],
    ["yesterday", "2026-02-11T23:59:59.999Z"],
    ["last week", "2026-02-08T23:59:59.999Z"],
    ["last month", "2026-01-31T23:59:59.999Z"],
    ["July 2025", "2025-07-31T23:59:59.999Z"],
    ["7d", "2026-02-05T10:30:05.000Z"],
  ];
  for (const [text, end] of ends) {
    test(`reads "${text}" as up to ${end}`, () => expect(parsed(text, "end")).toBe(end));
  }

  for (const text of [
    "",
    "soon",
    "2026-13",
    "2026-02-30",
    "2026-02-03T25:00",
    "7x",
    "-3d",
    "30 February",
    "14 Juli x",
    "32.1.2026",
    "ju 3",
  ]) {
    test(`refuses "${text}"`, () => expect(parsed(text)).toBeUndefined());
  }

  test("means the local day of the time zone, summer time included", () => {
    expect(parsed("2026-07-01", "start", "Europe/Berlin")).toBe("2026-06-30T22:00:00.000Z");
    expect(parsed("2026-03-29", "end", "Europe/Berlin")).toBe("2026-03-29T21:59:59.999Z");
    expect(parsed("today", "start", "Australia/Melbourne")).toBe("2026-02-11T13:00:00.000Z");
  });
});

test("formatAge() uses the largest unit that fits", () => {
  expect([0, 59, 60, 3599, 3600, 86_399, 86_400, 950_400].map(formatAge)).toEqual([
    "0s",
    "59s",
    "1m",
    "59m",
    "1h",
    "23h",
    "1d",
    "11d",
  ]);
});
