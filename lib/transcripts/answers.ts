/** What the user answered to a tool that asked, as the user's own words with the question behind them. */

import { arrayOf, isRecord, stringOf } from "../base/json.ts";

export interface Answer {
  question: string;
  /** What there was to choose from. */
  options: string[];
  answer: string;
}

/** Writes the answers, each followed by its question. */
export function answerText(answers: readonly Answer[]): string {
  return answers
    .map(({ question, options, answer }) => {
      const choices = options.length > 0 ? `; options: ${options.join(" | ")}` : "";
      return question === "" ? answer : `${answer}\n(asked: ${question}${choices})`;
    })
    .join("\n");
}

/** Returns the labels of a question's options. */
export function optionLabels(options: unknown): string[] {
  return arrayOf(options).flatMap((option) => {
    const label = isRecord(option) ? (stringOf(option.label) ?? stringOf(option.value)) : stringOf(option);
    return label === undefined ? [] : [label];
  });
}
