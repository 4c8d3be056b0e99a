/** LoCoMo, its first five conversations: a pair of turns is a unit, all in one index. Outside the repository, so possibly absent. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { defaultSettings, resolvePaths } from "../../../lib/config/config.ts";
import type { Session } from "../../../lib/hosts/session.ts";
import { indexSessions } from "../../../lib/index/indexing.ts";
import { sessionAt } from "../../../lib/sessions/sessions.ts";
import type { Store } from "../../../lib/store/store.ts";
import { plainLine } from "../../support/plain.ts";

const FILE = resolve(import.meta.dir, "../../../../shared/bench/locomo-dev.json");
const ADVERSARIAL = 5;

interface Turn {
  speaker: string;
  dia_id: string;
  text: string;
}

interface Conversation {
  sample_id: string;
  conversation: Record<string, string | Turn[]>;
  qa: { question: string; evidence: string[]; category: number }[];
}

export interface LocomoQuestion {
  question: string;
  /** `<file stem>:<first line of the pair>` of each piece of evidence. */
  evidence: string[];
}

export function hasLocomo(): boolean {
  return existsSync(FILE);
}

/** Writes the conversations as plain transcripts, indexes them, and returns the questions that have an answer. */
export async function indexLocomo(store: Store, folder: string): Promise<LocomoQuestion[]> {
  mkdirSync(folder, { recursive: true });
  const conversations = JSON.parse(readFileSync(FILE, "utf8")) as Conversation[];
  const places = new Map<string, string>();
  const files = conversations.flatMap((one) => writeConversation(one, folder, places));
  const sessions = files
    .map((file) => sessionAt(file))
    .filter((session): session is Session => session !== undefined);
  const paths = resolvePaths({ HOME: folder, SESSION_MEMORY_HOME: folder });
  await indexSessions({ store, paths, sessions, settings: { ...defaultSettings(), timezone: "UTC" } });
  return conversations.flatMap(({ sample_id, qa }) =>
    qa
      .filter(({ category, evidence }) => category !== ADVERSARIAL && evidence.length > 0)
      .map(({ question, evidence }) => ({
        question,
        evidence: [...new Set(evidence.flatMap((id) => places.get(`${sample_id} ${id}`) ?? []))],
      }))
      .filter(({ evidence }) => evidence.length > 0),
  );
}

/** Returns the name of the pair of turns that a line is of, as evidence is named. */
export function pairOf(file: string, line: number): string {
  return `${basename(file, ".jsonl")}:${line - ((line - 1) % 2)}`;
}

/** Recall of the evidence among the first ten, and the mean reciprocal rank of the first piece, in percent. */
export function scoreLocomo(
  questions: readonly LocomoQuestion[],
  answer: (question: string) => string[],
): { recall10: number; meanReciprocal: number } {
  let recall = 0;
  let reciprocal = 0;
  for (const { question, evidence } of questions) {
    const found = answer(question).slice(0, 10);
    recall += evidence.filter((place) => found.includes(place)).length / evidence.length;
    const rank = found.findIndex((place) => evidence.includes(place)) + 1;
    if (rank > 0) reciprocal += 1 / rank;
  }
  const percent = 100 / questions.length;
  return { recall10: recall * percent, meanReciprocal: reciprocal * percent };
}

function writeConversation(
  { sample_id, conversation }: Conversation,
  folder: string,
  places: Map<string, string>,
): string[] {
  const files: string[] = [];
  for (let number = 1; Array.isArray(conversation[`session_${number}`]); number++) {
    const turns = conversation[`session_${number}`] as Turn[];
    const stem = `${sample_id}-session-${number}`;
    const start = readTime(String(conversation[`session_${number}_date_time`]));
    const rows = turns.map(({ speaker, dia_id, text }, i) => {
      places.set(`${sample_id} ${dia_id}`, pairOf(stem, i + 1));
      const at = new Date(start + i * 60_000).toISOString();
      return plainLine(i % 2 === 0 ? "user" : "assistant", `${speaker}: ${text}`, at);
    });
    const file = join(folder, `${stem}.jsonl`);
    writeFileSync(file, `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`);
    files.push(file);
  }
  return files;
}

/** `1:56 pm on 8 May, 2023`. */
function readTime(text: string): number {
  const [clock = "", day = ""] = text.split(" on ");
  return Date.parse(`${day.replace(",", "")} ${clock.toUpperCase()} UTC`);
}
