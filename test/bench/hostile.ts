/** Hostile texts through what every text passes: ten times the text must not cost much more than ten times the time. */

import { join } from "node:path";
import { oneLine } from "../../lib/base/text.ts";
import type { Entry } from "../../lib/hosts/session.ts";
import { chunkExchange, searchableRows } from "../../lib/index/chunk.ts";
import { fullTextColumns } from "../../lib/index/chunk-text.ts";
import { conversationText } from "../../lib/naming/conversation.ts";
import { summarizeByRule } from "../../lib/naming/meta-words.ts";
import { sanitizeSlug } from "../../lib/naming/note.ts";
import { observe } from "../../lib/observe/observe.ts";
import { redact } from "../../lib/redact/redact.ts";
import { retrieve } from "../../lib/search/retrieval.ts";
import { findReferences } from "../../lib/sessions/references.ts";
import { openStore } from "../../lib/store/store.ts";
import { toRows } from "../../lib/transcripts/calls.ts";
import { conversation, observing } from "../support/conversation.ts";
import { readEntries } from "../support/entries.ts";
import { temporaryHome, write, writeClaude } from "../support/home.ts";
import { hostileTexts } from "../support/hostile.ts";
import { indexHome, turn } from "../support/index.ts";
import { atMost, type BenchRow } from "./measure.ts";

const SMALL = Number(process.env.HOSTILE_SMALL ?? 100_000);
const LARGE = 10 * SMALL;
const BAR = 20;
/** Shorter times say nothing of their ratio. */
const FLOOR_MS = 5;
/** A text that takes this long when it is small is not tried large. */
const HOPELESS_MS = 4000;

type Work = (text: string) => unknown;

export async function rows(): Promise<BenchRow[]> {
  using home = temporaryHome();
  writeClaude(home, { rows: [turn("why WAL for the index?", "because readers must not block")] });
  const store = openStore(home.paths.database);
  await indexHome(home, store);
  const works: Record<string, Work> = {
    redact: (text) => oneLine(redact(text), 80),
    read: (text) =>
      [...readEntries(write(join(home.root, "a.jsonl"), lineOf(text)))].map((entry) => entry.text),
    chunk: (text) => chunkExchange(searchableRows(toRows(talk(text))), CHUNKS).map(fullTextColumns),
    summarise: (text) => summarizeByRule(toRows(talk(text)), { project: "shop", date: "2026-02-03" }),
    observe: (text) => observe(observing(talk(text))),
    converse: (text) => conversationText(toRows(talk(text)), { maxBytes: 48_000 }),
    refer: (text) => findReferences(`see @@a ${text}`),
    slug: (text) => sanitizeSlug(text),
    query: (text) => retrieve(store, [text], { filter: {}, limit: 5, now: new Date() }),
  };
  const wanted = process.env.HOSTILE?.split(",");
  const result: BenchRow[] = [];
  for (const [name, work] of Object.entries(works)) {
    if (wanted && !wanted.includes(name)) continue;
    result.push(await worst(name, work));
  }
  store.close();
  return result;
}

const CHUNKS = {
  sessionId: "s",
  firstIndex: 0,
  participants: { user: "User", assistant: "Assistant" },
  timezone: "UTC",
};

/** A conversation of it: said by both, called with and given back. */
function talk(text: string): Entry[] {
  return conversation([
    ["user", text],
    ["assistant", text],
    ["run", text.replace(/\s+/g, " "), text, true],
    ["summary", text],
    ["user", text],
    ["assistant", text],
  ]);
}

function lineOf(text: string): string {
  const row = {
    type: "user",
    sessionId: "s",
    uuid: "u",
    message: { role: "user", content: text.toWellFormed() },
  };
  return `${JSON.stringify(row)}\n`;
}

async function worst(name: string, work: Work): Promise<BenchRow> {
  let top = { ratio: 0, text: "", detail: "" };
  for (const hostile of hostileTexts({ tokens: name === "redact" })) {
    const { ratio, detail } = await growth(work, hostile.of);
    if (ratio > BAR) console.error(`  ${name}: ${hostile.name} ${detail}`);
    if (ratio > top.ratio) top = { ratio, text: hostile.name, detail };
  }
  const detail = `${top.text} ${top.detail}`;
  return atMost(`hostile texts, ${name}: 1 MB to 100 KB`, top.ratio, BAR, { detail });
}

async function growth(
  work: Work,
  of: (length: number) => string,
): Promise<{ ratio: number; detail: string }> {
  const [small, large] = [of(SMALL), of(LARGE)];
  let few = await time(work, small);
  if (few > HOPELESS_MS) return { ratio: Number.POSITIVE_INFINITY, detail: `(100 KB ${few.toFixed(0)} ms)` };
  let many = await time(work, large);
  for (let again = 0; again < 2 && many > BAR * Math.max(FLOOR_MS, few); again++) {
    few = Math.max(few, await time(work, small));
    many = Math.min(many, await time(work, large));
  }
  const detail = `(${many.toFixed(0)} / ${few.toFixed(0)} ms)`;
  return { ratio: many / Math.max(FLOOR_MS, few), detail };
}

async function time(work: Work, text: string): Promise<number> {
  // the time of the process, not of the clock: others may be at work on the machine
  const started = process.cpuUsage();
  await work(text);
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1000;
}
