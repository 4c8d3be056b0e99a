/**
 * Claude Code's UserPromptSubmit: runs before every prompt, so where a glance shows that nothing has changed since the
 * last look, this is all that is loaded. Exits 0 whatever happens.
 */

import { readFileSync } from "node:fs";
import { isAllAsItWas } from "../../lib/sessions/glance.ts";

const STDIN = 0;

async function main(): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const input = readInput();
  if (!isAllAsItWas(input, process)) await (await import("./prompt-look.ts")).answerByLook(input);
  else if (input.includes("@@")) await (await import("./prompt-answer.ts")).answerReferences(input);
}

function readInput(): string {
  try {
    return readFileSync(STDIN, "utf8");
  } catch {
    return ""; // which is then logged as no JSON
  }
}

await main();
