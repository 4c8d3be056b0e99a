/** How well and how fast past conversation is found. */

import { join } from "node:path";
import { plainText } from "../../lib/base/lines.ts";
import { resolvePaths } from "../../lib/config/config.ts";
import { indexSessions } from "../../lib/index/indexing.ts";
import { findHits } from "../../lib/search/hits.ts";
import type { FoundHit } from "../../lib/search/print.ts";
import { printHits } from "../../lib/search/print.ts";
import { retrieve } from "../../lib/search/retrieval.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { openStore, type Store } from "../../lib/store/store.ts";
import { layFixtures, temporaryHome } from "../support/home.ts";
import { settingsWith } from "../support/index.ts";
import { seeded } from "../support/random.ts";
import { scriptPath } from "../support/run.ts";
import { sentence, writeCorpus } from "./corpus.ts";
import {
  atLeast,
  atMost,
  type BenchRow,
  bun,
  emptyScript,
  figure,
  inTemporaryFolder,
  interleaved,
  median,
  timeProcess,
  times,
} from "./measure.ts";
import { type Answers, hasAnswers, readAnswers, readDeedQuestions, scoreAnswers } from "./search/answers.ts";
import { hasCodebench, indexCodebench, judge, readQuestions, score } from "./search/codebench.ts";
import { hasLocomo, indexLocomo, scoreLocomo } from "./search/locomo.ts";
import { OWN_QUESTIONS } from "./search/own-questions.ts";

const NOW = new Date("2026-11-20T12:00:00Z");
const RUNS = 15;
const MANY_CHUNKS = 100_000;
const QUESTION = "why does the worker queue time out";
const PHRASINGS = [
  QUESTION,
  "worker timeout retry",
  "queue handler latency regression",
  "stuck consumer thread deadlock",
];

export async function rows(): Promise<BenchRow[]> {
  return [
    ...(await ownQuestions()),
    ...(await codingQuestions()),
    ...(await locomo()),
    ...(await inTemporaryFolder(shellSpeed)),
    ...(await inTemporaryFolder(manyChunks)),
  ];
}

const OUTPUT = { maxChars: 2500, timezone: "UTC", participants: { user: "User", assistant: "Assistant" } };

function find(store: Store, texts: string[], limit = 10): FoundHit[] {
  return findHits([store], texts, {
    filter: { subagents: true },
    limit,
    now: NOW,
    timezone: "UTC",
    clean: (text) => text,
    nameOf: ({ name }) => name,
    maxChars: OUTPUT.maxChars,
    around: 0,
    explain: false,
  }).hits;
}

/** What the command prints by default. */
function output(store: Store, texts: string[]): { text: string; isStrong: boolean } {
  const found = find(store, texts, 5);
  return { text: printHits(found, OUTPUT).map(plainText).join("\n"), isStrong: isStrong(found) };
}

function isStrong(found: readonly FoundHit[]): boolean {
  return found.some(({ hit }) => hit.strength === "strong");
}

async function ownQuestions(): Promise<BenchRow[]> {
  using home = temporaryHome();
  const { plain } = layFixtures(home);
  const { claude, pi, codex } = home.paths;
  const paths = { ...home.paths, transcripts: [claude, pi, codex, plain] };
  const store = openStore(home.paths.database);
  await indexSessions({
    store,
    sessions: listSessions(paths, { subagents: true }),
    settings: settingsWith(),
  });
  const right = OWN_QUESTIONS.filter(({ phrasings, answer }) => {
    const found = find(store, phrasings).filter(({ hit }) => hit.strength === "strong");
    return answer
      ? found.slice(0, 3).some(({ hit }) => hit.content.includes(answer.holds))
      : found.length === 0;
  });
  store.close();
  return [
    atLeast("questions on the committed transcripts", (100 * right.length) / OWN_QUESTIONS.length, 100),
  ];
}

async function codingQuestions(): Promise<BenchRow[]> {
  if (!hasCodebench()) return skipped("coding questions: ../shared/bench/codebench is absent");
  const questions = readQuestions();
  return await inTemporaryFolder(async (folder) => {
    const store = openStore(join(folder, "memory.db"));
    await indexCodebench(store);
    const ask = (texts: (question: (typeof questions)[number]) => string[]) =>
      judge(questions, (question) =>
        find(store, texts(question)).map(({ hit }) => ({
          file: hit.file,
          firstLine: hit.first_line,
          lastLine: hit.last_line,
          isStrong: hit.strength === "strong",
        })),
      );
    const one = ask(({ question }) => [question]);
    const all = ask(({ question, phrasings }) => [question, ...phrasings]);
    const answers = hasAnswers()
      ? answerRows(store, questions)
      : skipped("answers: ../shared/bench/answers is absent");
    store.close();
    const [alone, together] = [score(one.verdicts), score(all.verdicts)];
    return [
      atLeast("coding questions, one phrasing: evidence in the first 5", alone.evidence5, 72),
      atLeast("  right session first", alone.session1, 78),
      atLeast("  temporal: evidence in the first 5", score(one.verdicts, "temporal").evidence5, 55),
      atMost("  lines of a result, median", one.spans[one.spans.length >> 1] ?? 0, 40, { unit: "" }),
      atMost("  lines of a result, ninth decile", one.spans[Math.floor(one.spans.length * 0.9)] ?? 0, 72, {
        unit: "",
      }),
      atLeast("coding questions, four phrasings: evidence in the first 5", together.evidence5, 90),
      atLeast("  right session first", together.session1, 94),
      figure("  evidence first", together.evidence1, { unit: "%" }),
      atLeast("  first right hit is strong", together.strongRight, 85),
      ...answers,
    ];
  });
}

/** What an answer costs to read: our own output, by the characters until the answer is there. */
function answerRows(store: Store, questions: ReturnType<typeof readQuestions>): BenchRow[] {
  const needed = readAnswers();
  const cost = (texts: (question: (typeof questions)[number]) => string[]): Answers =>
    scoreAnswers(
      questions.map((question) => ({ ...output(store, texts(question)), all: needed.get(question.id) })),
    );
  const [one, four] = [
    cost(({ question }) => [question]),
    cost(({ question, phrasings }) => [question, ...phrasings]),
  ];
  const deeds = scoreAnswers(
    readDeedQuestions().map(({ question, phrasings, all }) => ({
      ...output(store, [question, ...phrasings]),
      all,
    })),
  );
  return [
    atLeast("answer printed within 2,500 characters, four phrasings", four.within2500, 76),
    atLeast("  within 1,000", four.within1000, 55),
    atLeast("  one phrasing, within 2,500", one.within2500, 58),
    atMost("  characters printed, mean", four.mean, 2300, { unit: "" }),
    atMost("  at most", Math.max(one.most, four.most), 2500, { unit: "" }),
    atMost("  where nothing answers, mean", four.meanWithout, 600, { unit: "" }),
    atMost("  never discussed, yet strong: one phrasing", one.falselyStrong, 1, { unit: "" }),
    atMost("  four phrasings", four.falselyStrong, 1, { unit: "" }),
    atLeast("only a deed answers: printed within 2,500 characters", deeds.within2500, 85),
  ];
}

async function locomo(): Promise<BenchRow[]> {
  if (!hasLocomo()) return skipped("LoCoMo: ../shared/bench/locomo-dev.json is absent");
  return await inTemporaryFolder(async (folder) => {
    const store = openStore(join(folder, "memory.db"));
    const questions = await indexLocomo(store, join(folder, "transcripts"));
    const { recall10, meanReciprocal } = scoreLocomo(questions, (question) => {
      const found = retrieve([store], [question], { filter: {}, limit: 10, now: NOW, timezone: "UTC" });
      const places = found.chunks.map(({ row }) => `${row.sessionId}:${row.exchangeLine}`);
      return [...new Set(places)].slice(0, 10);
    });
    store.close();
    return [
      atLeast("LoCoMo, pair of turns, one index: R@10", recall10, 78.3),
      atLeast("  MRR", meanReciprocal, 60.7),
    ];
  });
}

/** `search` as an agent calls it, on 3,000 sessions. */
async function shellSpeed(folder: string): Promise<BenchRow[]> {
  const claude = join(folder, "claude");
  writeCorpus(claude);
  const env = { HOME: folder, CLAUDE_CONFIG_DIR: claude, PATH: process.env.PATH };
  const paths = resolvePaths(env);
  const store = openStore(paths.database);
  await indexSessions({
    store,
    sessions: listSessions(paths, { subagents: true }),
    settings: settingsWith(),
  });
  store.close();
  const run = async (command: string[]) => (await timeProcess(command, { env, cwd: folder })).ms;
  const medians = await interleaved(
    {
      empty: () => run(bun(emptyScript(folder))),
      one: () => run(bun(scriptPath("search"), "--quiet", QUESTION)),
      four: () => run(bun(scriptPath("search"), "--quiet", ...PHRASINGS)),
    },
    RUNS,
  );
  const against = (ms: number) => ({ detail: times(ms, medians.empty) });
  return [
    atMost(
      "search from the shell, 48 MB / empty start",
      medians.one / medians.empty,
      10,
      against(medians.one),
    ),
    atMost("  four phrasings", medians.four / medians.empty, 18, against(medians.four)),
  ];
}

/** Words alone, in process, among 100,000 chunks. */
async function manyChunks(folder: string): Promise<BenchRow[]> {
  const random = seeded(7);
  const store = openStore(join(folder, "memory.db"));
  const { db } = store;
  db.exec("INSERT INTO sessions (number, id, agent, file, updated_at) VALUES (1, 's', 'plain', '/s', '')");
  const insert = db.prepare(
    `INSERT INTO session_chunks (id, session_id, chunk_index, timestamp, speakers, topic_tags, first_line, last_line,
       exchange_line, content_hash, content, context_content, entry_ids, token_count, created_at)
     VALUES (?, 's', ?, '2026-02-03T14:30:00.000Z', '["user"]', '["data"]', ?, ?, ?, x'00', ?, ?, '[]', 150, '')`,
  );
  const insertText = db.prepare(
    "INSERT INTO chunks_fts (rowid, content, header, tools, extra) VALUES (?, ?, '', '', '')",
  );
  for (let from = 0; from < MANY_CHUNKS; from += 5000) {
    db.transaction(() => {
      for (let id = from + 1; id <= from + 5000; id++) {
        const content = `User: ${sentence(random, 120)}`;
        insert.run(id, id, id, id, id, content, content);
        insertText.run(id, content);
      }
    });
  }
  const took = Array.from({ length: RUNS }, (_, i) => {
    const started = performance.now();
    find(store, [PHRASINGS[i % PHRASINGS.length] ?? QUESTION]);
    return performance.now() - started;
  });
  store.close();
  return [atMost("100,000 chunks, one phrasing by words, in process", median(took), 60, { unit: "ms" })];
}

function skipped(why: string): BenchRow[] {
  console.error(`skipped: ${why}`);
  return [];
}
