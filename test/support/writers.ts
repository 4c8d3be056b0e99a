/** Sessions that write as hosts do: a message at a time, and now and then a line in two parts. */

import { appendFileSync } from "node:fs";
import { claudeAssistant, claudeUser } from "./claude.ts";
import { type TemporaryHome, writeClaude, writePi } from "./home.ts";
import { piAssistant, piHeader, piUser } from "./pi.ts";
import type { Random } from "./random.ts";
import { hexFrom, jsonl, type Row, uuidFrom } from "./rows.ts";

export interface Writer {
  id: string;
  file: string;
  agent: "claude" | "pi";
  /** Whole messages in the file. */
  written: number;
  /** The rest of a line that was written in part. */
  rest: string;
  last: string | null;
  isAsked: boolean;
}

/** A Claude Code session for an even number, one of pi for an odd one. */
export function newWriter(home: TemporaryHome, number: number): Writer {
  const id = uuidFrom(`soak ${number}`);
  const agent = number % 2 === 0 ? "claude" : "pi";
  const file =
    agent === "claude"
      ? writeClaude(home, { id, rows: "" })
      : writePi(home, { id, rows: [piHeader({ id, cwd: home.project, at: new Date().toISOString() })] });
  return { id, file, agent, written: 0, rest: "", last: null, isAsked: false };
}

/** A message and now and then a half-written one, as hosts leave them. */
export function writeSome(writer: Writer, { home, random }: { home: TemporaryHome; random: Random }): void {
  if (writer.rest !== "") {
    appendFileSync(writer.file, writer.rest);
    writer.rest = "";
    writer.written++;
    return;
  }
  const number = writer.written + 1;
  const text = `${tokenOf(writer, number)} ${"some words of a message ".repeat(random.integer(1, 6))}`;
  const line = jsonl(...messageRows(writer, text, home));
  const cut = random.chance(0.2) ? random.integer(1, line.length - 1) : line.length;
  appendFileSync(writer.file, line.slice(0, cut));
  if (cut < line.length) writer.rest = line.slice(cut);
  else writer.written++;
}

function messageRows(writer: Writer, text: string, { project }: TemporaryHome): Row[] {
  const at = new Date().toISOString();
  writer.isAsked = !writer.isAsked;
  if (writer.agent === "claude") {
    const context = { at, cwd: project, sessionId: writer.id, parentUuid: writer.last };
    const rows = writer.isAsked ? [claudeUser({ ...context, text })] : claudeAssistant({ ...context, text });
    writer.last = String(rows.at(-1)?.uuid);
    return rows;
  }
  const id = hexFrom(`${writer.id} ${writer.written}`);
  const context = { at, id, parentId: writer.last, text };
  writer.last = id;
  return [writer.isAsked ? piUser(context) : piAssistant(context)];
}

/** A word that stands in one message alone. */
export function tokenOf({ id }: Writer, number: number): string {
  return `soak${id.slice(0, 8)}n${number}x`;
}
