/** Asks a model about one session, and checks what it cites. */

import { defuse, takeStart } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import type { CompleteJson } from "../model/answers.ts";
import { toRows } from "../transcripts/calls.ts";
import { placeOnDisk } from "../transcripts/files.ts";
import { readRules } from "../transcripts/rules.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import {
  type Citation,
  type Confidence,
  checkCitations,
  conversationText,
  relevanceTo,
  textByLine,
} from "./conversation.ts";

/** About 30,000 tokens. */
const INPUT_MAX_BYTES = 96_000;
const ANSWER_MAX_TOKENS = 2000; // a page and its citations
const QUESTION_MAX_CHARS = 4000; // a page

interface QueryOptions {
  /** The configured model, or the host's own. */
  complete: CompleteJson;
  paths: PathsWithRules;
  signal?: AbortSignal | undefined;
}

interface SessionAnswer {
  answer: string;
  confidence: Confidence;
  citations: (Citation & { file: string })[];
  notes: string[];
  usd: number | null;
  tokens: number;
}

/** Asks the model a question about one session. */
export async function querySession(
  { session }: { session: Session },
  question: string,
  { complete, paths, signal }: QueryOptions,
): Promise<SessionAnswer> {
  const { NOT_IN_SESSION, questionRequest } = await import("../model/prompts.ts");
  const rules = readRules(paths);
  const said = toRows(readActiveBranch(session.file, { rules, results: true }));
  const asked = takeStart(rules.clean(question), QUESTION_MAX_CHARS);
  const relevance = await relevanceTo(asked, said);
  const { text, omitted } = conversationText(said, { maxBytes: INPUT_MAX_BYTES, lines: true, relevance });
  if (text === "") return { ...NOTHING_SAID, answer: NOT_IN_SESSION };
  const request = { ...questionRequest(text, asked), maxTokens: ANSWER_MAX_TOKENS, signal };
  const { value, usd, tokens } = await complete({ feature: "query", ...request });
  const checked = checkCitations(value.citations, value.confidence, textByLine(said));
  const file = (session.owner === undefined && placeOnDisk(session.file)) || session.id;
  return {
    answer: defuse(value.answer),
    confidence: checked.confidence,
    citations: checked.citations.map((citation) => ({ file, ...citation })),
    notes: [
      ...(value.answer === NOT_IN_SESSION ? [] : checked.notes),
      ...(omitted > 0 ? [`${omitted} entries of the session were left out to fit`] : []),
    ],
    usd,
    tokens,
  };
}

const NOTHING_SAID: Omit<SessionAnswer, "answer"> = {
  confidence: "low",
  citations: [],
  notes: ["the session holds no conversation"],
  usd: 0,
  tokens: 0,
};
