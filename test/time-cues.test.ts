import { expect, test } from "bun:test";
import { cueSpans, readTimeCues, timeFit } from "../lib/language/time-cues.ts";

const NOW = new Date("2026-11-20T12:00:00Z"); // a Friday
const fit = (question: string, at: string, timezone = "UTC") => {
  const cues = readTimeCues(question, { now: NOW, timezone });
  return cues && timeFit(cues, at);
};

test("readTimeCues() finds no time where none is named", () => {
  for (const question of [
    "why WAL",
    "version 2.0.2025 on port 8080",
    "we may march on",
    "issue #296",
    "at the end",
    "why did another one time out on this last set",
  ]) {
    expect({ question, cues: readTimeCues(question, { now: NOW, timezone: "UTC" }) }).toEqual({
      question,
      cues: undefined,
    });
  }
});

test("timeFit() is 1 on the day, less around it, 0 far away", () => {
  for (const question of [
    "on 2025-12-24",
    "Christmas Eve 2025",
    "Xmas Eve",
    "24 December 2025",
    "December 24th",
    "am 24. Dezember",
    "le 24 décembre 2025",
    "24 de diciembre de 2025",
    "24 декабря 2025",
    "24.12.2025",
    "December 2025, what on the 24th?",
  ]) {
    const fits = [
      "2025-12-24T12:00:00Z",
      "2025-12-25T03:00:00Z",
      "2025-12-25T15:00:00Z",
      "2025-11-24T12:00:00Z",
    ];
    expect({ question, fits: fits.map((at) => fit(question, at)) }).toEqual({
      question,
      fits: [1, 0.5, 0.25, 0],
    });
  }
});

test("timeFit() knows months, their parts, feasts and spans of days", () => {
  expect(fit("in July", "2024-07-30T00:00:00Z")).toBe(1);
  expect(fit("mid-July 2025", "2025-07-14T00:00:00Z")).toBe(1);
  expect(fit("mid-July 2025", "2025-07-28T00:00:00Z")).toBe(0);
  expect(fit("around Christmas", "2025-12-26T10:00:00Z")).toBe(1);
  expect(fit("am 20. auf den 21. November 2025", "2025-11-21T02:00:00Z")).toBe(1);
  expect(fit("what changed in March", "2026-03-14T00:00:00Z")).toBe(1);
  expect(fit("in May 2025", "2025-05-31T23:00:00Z")).toBe(1);
});

test("timeFit() measures words like yesterday from now", () => {
  expect(fit("what broke last Tuesday", "2026-11-17T09:00:00Z")).toBe(1);
  expect(fit("was haben wir gestern gemacht", "2026-11-19T09:00:00Z")).toBe(1);
  expect(fit("the plan of last week", "2026-11-10T09:00:00Z")).toBe(1);
  expect(fit("what we did this week", "2026-11-18T09:00:00Z")).toBe(1);
  expect(fit("what we did on Tuesday", "2026-11-17T09:00:00Z")).toBe(1);
  expect(fit("3 days ago", "2026-11-17T20:00:00Z")).toBe(1);
  expect(fit("yesterday", "2026-11-01T09:00:00Z")).toBe(0);
});

test("timeFit() judges by the local date and the hour that is named", () => {
  expect(fit("on 2026-02-03", "2026-02-02T23:30:00Z", "Europe/Berlin")).toBe(1);
  expect(fit("on 2026-02-03", "2026-02-02T14:00:00Z", "UTC")).toBe(0.25);
  expect(fit("24 December 2025 around noon", "2025-12-24T12:30:00Z")).toBe(1);
  expect(fit("24 December 2025 around noon", "2025-12-24T20:30:00Z")).toBe(0.5);
  expect(fit("20 November 2025 at night", "2025-11-20T23:30:00Z")).toBe(1);
});

test("cueSpans() gives the days of every covered year", () => {
  const cues = readTimeCues("on Boxing Day", { now: NOW, timezone: "UTC" });
  expect(cues && cueSpans(cues, { from: "2024-06-01T00:00:00Z", to: "2026-01-02T00:00:00Z" })).toEqual([
    { from: "2024-12-25T18:00:00.000Z", to: "2024-12-27T05:59:59.999Z" },
    { from: "2025-12-25T18:00:00.000Z", to: "2025-12-27T05:59:59.999Z" },
  ]);
});
