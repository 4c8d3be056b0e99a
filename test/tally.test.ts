/** What was said and done in some rows, counted in one place for digests, outlines, pages and searches. */

import { describe, expect, test } from "bun:test";
import type { Done, Outcome, Row, Said } from "../lib/hosts/session.ts";
import { exchangesIn } from "../lib/transcripts/exchanges.ts";
import { tally } from "../lib/transcripts/tally.ts";

let line = 0;

function said(who: Said["who"], text: string, at?: string): Said {
  return { line: ++line, nth: 0, who, text, at };
}

function done(kind: Done["kind"], target: string, outcome: Outcome = "done", result = ""): Done {
  const paths = kind === "command" ? [] : [target];
  return {
    ...{ line: ++line, nth: 0, who: "tool", tool: kind },
    ...{ kind, target, paths, input: "", outcome, result },
  };
}

describe("tally()", () => {
  test("counts messages, calls, files and commands, and keeps the first and the last words and the newest time", () => {
    const rows: Row[] = [
      said("summary", "what came before", "2026-02-12T11:00:00.000Z"),
      said("user", "rename the table", "2026-02-12T10:00:00.000Z"),
      done("read", "schema.sql"),
      done("edit", "schema.sql"),
      done("command", "make test", "failed"),
      done("edit", "Makefile", "unknown"),
      said("assistant", "Renamed.", "2026-02-12T10:05:00.000Z"),
      said("user", "thanks", "2026-02-12T10:04:00.000Z"),
    ];
    const { edited, tried, read, firstUser, lastAssistant, ...counts } = tally(rows);
    expect(counts).toEqual({ messages: 3, calls: 4, ran: 1, latest: "2026-02-12T10:05:00.000Z" });
    expect([...edited.keys()]).toEqual(["schema.sql", "Makefile"]);
    expect([[...read], [...tried]]).toEqual([["schema.sql"], []]);
    expect([firstUser?.text, lastAssistant?.text]).toEqual(["rename the table", "Renamed."]);
  });
});

describe("exchangesIn()", () => {
  test("parts rows before each of the user's messages; all but the last are closed", () => {
    const rows = [said("assistant", "ready"), said("user", "one"), done("read", "a.ts"), said("user", "two")];
    const [before, one, call, two] = rows as [Row, Row, Row, Row];
    expect([...exchangesIn(rows)]).toEqual([
      { items: [before], isClosed: true },
      { items: [one, call], isClosed: true },
      { items: [two], isClosed: false },
    ]);
  });
});
