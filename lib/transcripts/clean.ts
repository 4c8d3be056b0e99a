/** Texts made fit to be kept and shown: redacted, and names on one line. */

import type { Settings } from "../config/config.ts";
import { compilePatterns, oneLine, redact } from "../redact/redact.ts";

const NAME_CHARS = 80;
const NAME_WORDS = 8;

/** Redacts by our own rules and by those of config.json. */
export function cleaner({ extra }: Settings["redact"]): (text: string) => string {
  const patterns = compilePatterns(extra);
  return (text) => redact(text, patterns);
}

/** One line of at most eight words without punctuation or quotes at its ends. */
export function tidyName(name: string): string {
  const line = oneLine(name, 200).replace(/^["'“„«`\s]+|["'”“»`\s.,;:!?。！？、…-]+$/gu, "");
  const words = line.split(" ").slice(0, NAME_WORDS).join(" ");
  return oneLine(words, NAME_CHARS).replace(/[\s.,;:!?。！？、…-]+$/u, "");
}
