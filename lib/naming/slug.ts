/** A few words of a conversation as part of a file name, by the model or by rule. */

import { describeError } from "../base/errors.ts";
import { logEvent } from "../base/output.ts";
import { formatLocal } from "../base/time.ts";
import { defaultSettings, resolvePaths } from "../config/config.ts";
import type { SendChat } from "../model/answers.ts";
import type { SpendLedger } from "../model/spend.ts";
import { redact } from "../redact/redact.ts";
import type { Entry } from "../transcripts/session.ts";
import { nameByRule } from "./naming.ts";

const SLUG_MAX = 50;
/** A cut at a word's end may cost this much of the length. */
const SLUG_CUT_MIN = 25;
const CONTENT_MAX = 2000;
const ANSWER_TOKENS = 20;
const TEMPERATURE = 0.3;
const TIMEOUT_MS = 15_000;

const PROVIDERS = {
  openai: { baseUrl: "https://api.openai.com/v1", model: "gpt-4o-mini" },
  deepseek: { baseUrl: "https://api.deepseek.com/v1", model: "deepseek-chat" },
  openrouter: { baseUrl: "https://openrouter.ai/api/v1", model: "openai/gpt-4o-mini" },
};

export interface SlugOptions {
  provider: keyof typeof PROVIDERS;
  apiKey: string;
  /** @default {the provider's} */
  baseUrl?: string | undefined;
  /** @default {the provider's small one} */
  model?: string | undefined;
  timeoutMs?: number | undefined;
  /** Where the call is counted. @default {the ledger of the environment's home} */
  spend?: SpendLedger | undefined;
  /** Redacts what is sent. @default {redact} */
  clean?: ((text: string) => string) | undefined;
  /** The event log, for warnings. @default {that of the environment's home} */
  log?: string | undefined;
  /** Told why there is no slug of the model's, besides the log. */
  warn?: ((reason: string) => void) | undefined;
  /** The time a fallback is made of. @default {now} */
  at?: string | undefined;
  /** IANA name. @default {the system's} */
  timezone?: string | undefined;
}

/** Lower-case words joined by hyphens, at most 50 characters, letters of any script; empty when there are none. */
export function sanitizeSlug(raw: string): string {
  const words = raw
    .normalize("NFKC")
    .toLowerCase()
    .replace(/(?<=\p{L})['’](?=\p{L})/gu, "")
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, "-")
    .replace(/^[-\p{M}]+|-+$/gu, "")
    .normalize("NFC");
  if (words.length <= SLUG_MAX) return words;
  const cut = words.slice(0, SLUG_MAX + 1);
  const end = cut.lastIndexOf("-");
  return (end >= SLUG_CUT_MIN ? cut.slice(0, end) : wholeCharacters(cut)).replace(/-+$/, "");
}

/** Returns the first characters of a text that fit, a letter never parted from its marks. */
function wholeCharacters(text: string): string {
  let fitting = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (fitting.length + segment.length > SLUG_MAX) break;
    fitting += segment;
  }
  return fitting;
}

/** Returns the time of day, `HHMM`, for when there is nothing better. */
export function timeSlug(at: string = new Date().toISOString(), timezone?: string): string {
  return formatLocal(at, timezone).slice(11, 16).replace(":", "");
}

/** Returns a slug of 2 to 4 words by the model; the time of day, and a logged warning, when it gives none. Never throws. */
export async function generateSlug(content: string, options: SlugOptions): Promise<string> {
  return (await askForSlug(content, options)) ?? timeSlug(options.at, options.timezone);
}

/** A conversation that wants a slug. */
interface Conversation {
  entries: readonly Entry[];
  /** The messages a model is shown, redacted. */
  content: string;
  at: string;
  timezone: string;
  clean: (text: string) => string;
}

interface SlugSources {
  /** Asks a model. */
  slugOptions?: SlugOptions | undefined;
  /** What the session is known to be about, better than rules could say. */
  topic?: string | undefined;
  log?: string | undefined;
}

/** Returns the model's slug, else one of the known topic, else one by rule, else the time of day. */
export async function chooseSlug(
  { entries, content, at, timezone, clean }: Conversation,
  { slugOptions, topic = "", log }: SlugSources,
): Promise<string> {
  const asked = slugOptions && (await askForSlug(content, { log, clean, ...slugOptions }));
  if (asked) return asked;
  const known = sanitizeSlug(clean(topic)) || byRule(entries);
  return known || timeSlug(at, timezone);
}

function byRule(entries: readonly Entry[]): string {
  return sanitizeSlug(nameByRule(entries) ?? "");
}

/** Returns a slug by the model; undefined, and a logged warning, when it gives none. Never throws. */
async function askForSlug(content: string, options: SlugOptions): Promise<string | undefined> {
  try {
    if (content.trim() === "") throw new RangeError("the conversation is empty");
    const { slugPrompt } = await import("../model/prompts.ts");
    const send = await slugSender(options);
    const prompt = slugPrompt((options.clean ?? redact)(content).slice(0, CONTENT_MAX).toWellFormed());
    const answer = await send([{ role: "user", content: prompt }], {
      feature: "slug",
      maxTokens: ANSWER_TOKENS,
    });
    const slug = sanitizeSlug(answerLine((options.clean ?? redact)(answer.text)));
    if (slug === "") throw new RangeError("the answer is empty");
    return slug;
  } catch (error) {
    const { log = resolvePaths(process.env).log } = options;
    const reason = redact(describeError(error));
    options.warn?.(reason);
    logEvent(log, { event: "slug", ok: false, level: "warning", reason, fallback: "no model's slug" });
    return undefined;
  }
}

async function slugSender({ provider, apiKey, baseUrl, model, timeoutMs, spend, clean }: SlugOptions) {
  const [{ chatSender }, { openSpendLedger }] = await Promise.all([
    import("../model/llm.ts"),
    import("../model/spend.ts"),
  ]);
  const usual = PROVIDERS[provider];
  const config = {
    baseUrl: baseUrl ?? usual.baseUrl,
    model: model ?? usual.model,
    apiKeyEnv: "apiKey",
    timeoutMs: timeoutMs ?? TIMEOUT_MS,
    dailyBudgetUsd: 1,
    prices: {},
  };
  const ledger = spend ?? openSpendLedger(resolvePaths(process.env).home, defaultSettings());
  const send: SendChat = chatSender({ config, env: { apiKey }, spend: ledger, redact: clean }, TEMPERATURE);
  return send;
}

/** Returns the slug's line of an answer that may come in a fence, in quotes or after `Slug:`. */
function answerLine(answer: string): string {
  const lines = answer.split("\n").map((line) => line.trim());
  const line = lines.find((line) => line !== "" && !line.startsWith("```")) ?? "";
  return line.replace(/^[\s"'`*]*(?:slug)\s*[:=]\s*/i, "");
}
