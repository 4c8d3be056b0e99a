/** The host whose program can be the model, if a person says so. */

import { changeConfig } from "../config/config-file.ts";

/** Its name, and the text that a person reads before they are asked. */
export const ASKED_HOST = {
  name: "Claude Code",
  offer: [
    "Without a model sessions are named and observed by their own words, and cannot answer questions. Claude Code can",
    "do that without a key: `claude -p` with its small model, no tools, no hooks and no transcript. It is given the redacted text",
    "of your sessions by your own account: in the background from the next turn on, and by commands, at most 30 times a day.",
  ],
};

/** The `llm` block by which it is the model. */
const BLOCK = { command: "claude" };

/** Makes it the model if none is configured, or takes that back as it was written. Returns whether it did. */
export async function setHostAsModel(config: string, isAsked: boolean): Promise<boolean> {
  return await changeConfig(config, ({ llm, ...others }) => {
    if (isAsked) return llm === undefined ? { ...others, llm: BLOCK } : undefined;
    return isHostModel(llm) ? others : undefined;
  });
}

/** Returns whether an `llm` block is the one that makes it the model, as it was written. */
export function isHostModel(llm: unknown): boolean {
  return JSON.stringify(llm) === JSON.stringify(BLOCK);
}
