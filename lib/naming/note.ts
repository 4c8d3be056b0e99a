/** Writes the end of a session as a Markdown note, named by a model or by rule, and removes notes. */

import { dirname, join } from "node:path";
import { describeError, hasCode, SessionMemoryError } from "../base/errors.ts";
import { createFile, ensureDirectory, listEntries, namesIn, readIfExists, readText } from "../base/files.ts";
import { takeStart } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { defaultSettings, type Paths, resolvePaths } from "../config/config.ts";
import { CALL_LIMITS } from "../config/limits.ts";
import type { Row, Said, Speaker } from "../hosts/session.ts";
import type { SendChat } from "../model/answers.ts";
import type { SpendLedger } from "../model/spend.ts";
import {
  byName,
  type ForgetScope,
  type Forgetting,
  type Found,
  forgetFiles,
  isForgotten,
  writtenFiles,
} from "../store/state.ts";
import { toRows } from "../transcripts/calls.ts";
import { log } from "../transcripts/event-log.ts";
import { ownRules, type Rules } from "../transcripts/rules.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { nameByRule } from "./naming.ts";

/** Returns a note's text, the same for the same session, whenever it is made. All that goes into it is redacted and on one line. */
export function renderNote(time: string, lines: readonly string[], facts: Record<string, string>): string {
  const head = Object.entries(facts).map(([name, fact]) => `- **${name}**: ${fact}`);
  return `\
# Session: ${time}

${head.join("\n")}

## Conversation Summary

${lines.join("\n")}
`;
}

/** Returns the id of the session that a note is about; undefined for a text that is not a note of ours. */
function sessionOfNote(text: string): string | undefined {
  const header =
    /^# Session: .+\n\n- \*\*Session Key\*\*: .*\n- \*\*Session ID\*\*: (.+)\n- \*\*Source\*\*: .*\n/;
  return header.exec(text)?.[1];
}

/** Returns a note without the line that says on which command it was saved. */
function withoutOccasion(text: string): string {
  return text.replace(/^(# Session: .+\n\n(?:- \*\*.+\n)*?)- \*\*Saved\*\*: .*\n/, "$1");
}

/** Returns the note that says the same already, saved on whatever command, of those whose names begin with the date and the slug. */
export function findNote(
  folder: string,
  text: string,
  { date, slug }: { date: string; slug?: string | undefined },
) {
  return namesIn(folder)
    .filter((name) => name.startsWith(`${date}-${slug ?? ""}`) && name.endsWith(".md"))
    .map((name) => join(folder, name))
    .find((file) => withoutOccasion(readText(file)) === withoutOccasion(text));
}

/** Writes a new file `<name>.md`, or `<name>-2.md` and so on; one that holds just this text already will do. */
export function writeNote(folder: string, name: string, text: string): { path: string; created: boolean } {
  ensureDirectory(folder);
  for (let number = 1; ; number++) {
    const path = join(folder, `${name}${number === 1 ? "" : `-${number}`}.md`);
    if (createFile(path, text)) return { path, created: true };
    if (readText(path) === text) return { path, created: false };
  }
}

/**
 * Reads a transcript's rows, and of these the last `count` messages.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when it is gone, `PARSE_ERROR` when it cannot be read.
 */
export function readEnd(
  file: string,
  { count, rules }: { count: number; rules: Rules },
): { rows: Row[]; messages: Said<Speaker>[] } {
  try {
    const rows = toRows([...readEntries(file, { rules, unterminated: "accept" })]);
    return { rows, messages: rows.filter(isSaid).slice(-count) };
  } catch (cause) {
    if (hasCode(cause, "ENOENT")) {
      throw new SessionMemoryError("NOT_FOUND", `Cannot read "${file}": the transcript is gone`, {
        hint: 'session-memory search --session <id> "<question>" finds what the index still holds of it',
        cause,
      });
    }
    throw new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}": ${describeError(cause)}`, {
      hint: "see what is wrong with session-memory embed --validate-only",
      cause,
    });
  }
}

function isSaid(row: Row): row is Said<Speaker> {
  return (row.who === "user" || row.who === "assistant") && row.text.trim() !== "";
}

/** The folder in which save-session puts notes by default. */
const USUAL_FOLDER = "memory";

/**
 * Removes the notes that are ours, and returns them and the others that are about the same: those in the state folder,
 * those recorded, and those beside them or in `memory` of these directories.
 */
export function forgetNotes(
  forgetting: Forgetting,
  { paths, dryRun, directories }: ForgetScope,
): Pick<Found, "notes" | "keptFiles"> {
  const { ours, others } = forgetFiles(findNotes(forgetting, paths, directories), { paths, dryRun });
  return { notes: ours, keptFiles: others };
}

function findNotes(forgetting: Forgetting, paths: Paths, directories: Iterable<string>): string[] {
  const written = writtenFiles(paths).filter(({ path }) => path.endsWith(".md"));
  const own = listEntries(paths.notes).filter((entry) => entry.isDirectory());
  const folders = [
    ...own.map(({ name }) => join(paths.notes, name)),
    ...written.map(({ path }) => dirname(path)),
    ...Array.from(directories, (directory) => join(directory, USUAL_FOLDER)),
  ];
  const named = byName(forgetting);
  const found = [...new Set(folders)].flatMap(notesIn).filter((file) => isMeant(file, named));
  const recorded = written.filter(({ path, sessionId }) =>
    "ids" in forgetting ? forgetting.ids.has(sessionId) && readIfExists(path) !== undefined : false,
  );
  return [...new Set([...found, ...recorded.map(({ path }) => path)])];
}

function isMeant(file: string, forgetting: Forgetting): boolean {
  const text = readText(file);
  const id = sessionOfNote(text);
  return id !== undefined && isForgotten(forgetting, id, [text, file]);
}

function notesIn(folder: string): string[] {
  return listEntries(folder)
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map(({ name }) => join(folder, name))
    .sort();
}

const SLUG_MAX = 50;
/** A cut at a word's end may cost this much of the length. */
const SLUG_CUT_MIN = 25;
const CONTENT_MAX = 2000;
const ANSWER_TOKENS = 20;
export const SLUG_TEMPERATURE = 0.3;
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
  /** The ledger that counts the call. @default {the ledger of the environment's home} */
  spend?: SpendLedger | undefined;
  /** The event log, for warnings. @default {that of the environment's home} */
  log?: string | undefined;
  /** Called with the reason if the model gave no slug; it is also logged. */
  warn?: ((reason: string) => void) | undefined;
  /** The time a fallback is made of. @default {now} */
  at?: string | undefined;
  /** IANA name. @default {the system's} */
  timezone?: string | undefined;
}

/** The model that config.json names, in place of a provider. */
export interface AskedForSlug extends Pick<SlugOptions, "warn"> {
  send: SendChat;
}

/** Lower-case words joined by hyphens, at most 50 characters, letters of any script; empty for a text without any. */
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
  const whole = end >= SLUG_CUT_MIN ? cut.slice(0, end) : cut.slice(0, SLUG_MAX);
  return whole.replace(/[-\uD800-\uDBFF]+$/, "");
}

/** Returns the time of day, `HHMM`, for when there is nothing better. */
export function timeSlug(at: string = new Date().toISOString(), timezone?: string): string {
  return formatLocal(at, timezone).slice(11, 16).replace(":", "");
}

/** Returns a slug of 2 to 4 words by the model; the time of day, and a logged warning, when it gives none. Never throws. */
export async function generateSlug(content: string, options: SlugOptions): Promise<string> {
  return (await askForSlug(content, options)) ?? timeSlug(options.at, options.timezone);
}

interface SlugSources {
  rows: readonly Row[];
  at: string;
  timezone: string | undefined;
  rules: Rules;
  /** Asks a model. */
  slugOptions?: SlugOptions | AskedForSlug | undefined;
  /** The known topic of the session, better than rules could say. */
  topic?: string | undefined;
}

/** Returns the model's slug for redacted messages, else one of the known topic, else one by rule, else the time of day. */
export async function chooseSlug(
  content: string,
  { rows, at, timezone, rules, slugOptions, topic = "" }: SlugSources,
): Promise<string> {
  const asked = slugOptions && (await askForSlug(content, slugOptions, rules));
  return asked || sanitizeSlug(topic) || sanitizeSlug(nameByRule(rows) ?? "") || timeSlug(at, timezone);
}

/** Returns a slug by the model; undefined, and a logged warning, when it gives none. Never throws. */
async function askForSlug(
  content: string,
  options: (SlugOptions | AskedForSlug) & Pick<SlugOptions, "log">,
  rules = ownRules(),
): Promise<string | undefined> {
  try {
    if (content.trim() === "") throw new RangeError("the conversation is empty");
    const { slugPrompt } = await import("../model/prompts.ts");
    const send = "send" in options ? options.send : await slugSender(options);
    const prompt = slugPrompt(takeStart(rules.clean(content), CONTENT_MAX));
    const asked = { feature: "slug", maxTokens: ANSWER_TOKENS };
    const answer = await send([{ role: "user", content: prompt }], asked);
    const slug = sanitizeSlug(rules.clean(answer.text));
    if (slug === "") throw new RangeError("the answer is empty");
    return slug;
  } catch (error) {
    const { log: file = resolvePaths(process.env).log } = options;
    const reason = describeError(error);
    options.warn?.(reason);
    const fallback = "no model's slug";
    log(file, { event: "slug", ok: false, level: "warning", reason, fallback }, rules);
    return undefined;
  }
}

async function slugSender({ provider, apiKey, baseUrl, model, timeoutMs, spend }: SlugOptions) {
  const [{ chatSender }, { openSpendLedger }] = await Promise.all([
    import("../model/llm.ts"),
    import("../model/spend.ts"),
  ]);
  const usual = PROVIDERS[provider];
  const config = {
    baseUrl: baseUrl ?? usual.baseUrl,
    model: model ?? usual.model,
    apiKeyEnv: "apiKey",
    ...CALL_LIMITS,
    timeoutMs: timeoutMs ?? TIMEOUT_MS,
    prices: {},
  };
  const ledger = spend ?? openSpendLedger(resolvePaths(process.env).home, defaultSettings());
  return chatSender({ config, env: { apiKey }, spend: ledger }, SLUG_TEMPERATURE);
}
