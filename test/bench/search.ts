/** How well past conversation is found. */

import { join } from "node:path";
import { retrieve } from "../../lib/search/retrieval.ts";
import { listSessionFiles } from "../../lib/sessions/listing.ts";
import { sessionAt } from "../../lib/sessions/sessions.ts";
import { openStore } from "../../lib/store/store.ts";
import { atLeast, atMost, type BenchRow, figure, inTemporaryFolder } from "./measure.ts";
import { baselineOver } from "./search/baseline.ts";
import { areaUnderCurve, evaluate, share } from "./search/evaluate.ts";
import { hasLocomo, indexLocomo, pairOf, scoreLocomo } from "./search/locomo.ts";

const NOW = new Date("2026-11-20T12:00:00Z");

export async function rows(): Promise<BenchRow[]> {
  return [...(await realQuestions()), ...(await locomo())];
}

/** Questions on real sessions: `bun test/bench/search/evaluate.ts` says more, and which are missed. */
async function realQuestions(): Promise<BenchRow[]> {
  const evaluations = await inTemporaryFolder((folder) => evaluate(folder));
  if (evaluations.length === 0) return skipped("questions on real sessions: ../shared/bench is absent");
  return evaluations.flatMap((evaluation) => {
    const { set, mode, there, absent, plain } = evaluation;
    const { within, evidence, absentStrong = 100 } = BARS[`${set} ${mode}`] ?? { within: 0, evidence: 0 };
    const name = `${set}, ${mode === "one" ? "one phrasing" : "four phrasings"}`;
    const printed = share(there, ({ end }) => end <= 2500);
    const printedPlainly = share(plain, ({ end }) => end <= 2500);
    const found = share(there, ({ isEvidenceInFive }) => isEvidenceInFive);
    const foundPlainly = share(plain, ({ isEvidenceInFive }) => isEvidenceInFive);
    const rows = [
      atLeast(`${name}: answer printed within 2,500 characters`, printed, within),
      atLeast("  more than by bm25 over single rows", printed - printedPlainly, 0),
      atLeast("  evidence in the first 5", found, evidence),
      atLeast("  more than by bm25 over single rows", found - foundPlainly, 0),
      figure(
        "  first hit strong",
        share(there, ({ isStrong }) => isStrong),
        { unit: "%" },
      ),
    ];
    if (absent.length === 0) return rows;
    const strong = share(absent, ({ isStrong }) => isStrong);
    const same = there.filter((one) => absent.some(({ question }) => question.id === one.question.id));
    return [
      ...rows,
      atMost("  strong without the repository that answers", strong, absentStrong, { unit: "%" }),
      figure("  AUC with against without it", areaUnderCurve(same, absent)),
    ];
  });
}

/** Percent within 2,500 characters, of evidence, and of strong hits where nothing answers. */
const BARS: Record<string, { within: number; evidence: number; absentStrong?: number }> = {
  "real2 one": { within: 58, evidence: 80 },
  "real2 four": { within: 80, evidence: 96, absentStrong: 15 },
  "codebench one": { within: 56, evidence: 70 },
  "codebench four": { within: 74, evidence: 90, absentStrong: 30 },
  "deeds one": { within: 40, evidence: 0 },
  "deeds four": { within: 85, evidence: 0 },
};

async function locomo(): Promise<BenchRow[]> {
  if (!hasLocomo()) return skipped("LoCoMo: ../shared/bench/locomo-dev.json is absent");
  return await inTemporaryFolder(async (folder) => {
    const store = openStore(join(folder, "memory.db"));
    const transcripts = join(folder, "transcripts");
    const questions = await indexLocomo(store, transcripts);
    const plain = baselineOver(
      (await listSessionFiles(transcripts)).flatMap((file) => sessionAt(file) ?? []),
    );
    const plainly = scoreLocomo(questions, (question) => {
      const places = plain([question]).map(({ file, first_line }) => pairOf(file, first_line));
      return [...new Set(places)];
    });
    const { recall10, meanReciprocal } = scoreLocomo(questions, (question) => {
      const found = retrieve(store, [question], { filter: {}, limit: 10, now: NOW, timezone: "UTC" });
      const places = found.ranked.map(({ chunk: row }) => `${row.sessionId}:${row.exchangeLine}`);
      return [...new Set(places)].slice(0, 10);
    });
    store.close();
    return [
      atLeast("LoCoMo, pair of turns, one index: R@10", recall10, 78.3),
      atLeast("  more than by bm25 over single turns", recall10 - plainly.recall10, 0),
      atLeast("  MRR", meanReciprocal, 60.7),
      atLeast("  more than by bm25 over single turns", meanReciprocal - plainly.meanReciprocal, 0),
    ];
  });
}

function skipped(why: string): BenchRow[] {
  console.error(`skipped: ${why}`);
  return [];
}
