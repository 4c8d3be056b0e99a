/** The schema of config.json. Loaded only when the file is there (see config.ts). */

import { basename } from "node:path";
import { z } from "zod";
import { SessionMemoryError } from "../base/errors.ts";
import { isRecord, type JsonRecord, parseJson, recordOf, SUM_MAX } from "../base/json.ts";
import { editDistance, MACHINE_NAME, truncate } from "../base/text.ts";
import { CALL_LIMITS } from "./limits.ts";

/** The most characters of the file that an error message repeats. */
const FOUND_MAX_CHARS = 200;

const flag = z.boolean();
const texts = z.array(z.string());
const word = z.string().min(1);
const count = z.number().int().nonnegative();
const positive = z.number().int().positive();
const usd = z.number().nonnegative().max(SUM_MAX);
const keyEnv = word.default("OPENAI_API_KEY");
const machine = z.string().regex(MACHINE_NAME, {
  error: "expected 1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit",
});
const patterns = z.array(z.string().refine(isPattern, { error: "expected a regular expression" }));
const modelKey = z
  .string()
  .regex(/^(?:active|[^/\s]+\/\S+)$/, { error: 'expected "provider/model" or "active"' });
const observer = z.string().regex(/^(?:active|none|[^/\s]+\/\S+)$/, {
  error: 'expected "active", "provider/model" or "none"',
});

const LLM = z.strictObject({
  baseUrl: z.url().optional(),
  apiKeyEnv: keyEnv,
  model: word,
  dailyBudgetUsd: usd.default(CALL_LIMITS.dailyBudgetUsd),
  timeoutMs: positive.default(CALL_LIMITS.timeoutMs),
  /** USD per million tokens. */
  prices: z.record(z.string(), z.strictObject({ input: usd, output: usd })).default({}),
});
/** A program that answers in place of a server. */
const PROGRAM = z.strictObject({
  /** Its command line; `["claude"]` stands for a complete one. */
  command: z.union([word.transform((name) => [name]), z.array(z.string()).min(1)], {
    error: 'expected "claude" or a command line as a list of words',
  }),
  timeoutMs: positive.default(60_000),
  /** The most calls of it a day: a subscription has limits, too. Thirty name about thirty sessions. */
  dailyCalls: positive.default(30),
});
const EMBEDDING = z.strictObject({
  baseUrl: z.url().optional(),
  apiKeyEnv: keyEnv,
  model: word.default("text-embedding-3-small"),
  // sqlite-vec's bit vectors are whole bytes; the default is that model's
  dimensions: positive.max(8192).multipleOf(8).default(1536),
});
/** Shared memory: which projects go to which hub, and who may read them. */
const SHARE = z.strictObject({
  /** The variable that holds the hub's URL. */
  urlEnv: z
    .string()
    .regex(/^SESSION_MEMORY_\w+$/, { error: "expected a variable named SESSION_MEMORY_…" })
    .default("SESSION_MEMORY_HUB_URL"),
  /** The certificate authority of the hub's certificate. */
  caFile: word.optional(),
  /** The name of this machine. @default its host name */
  machine: machine.optional(),
  /** The role that may read a project, by its normalised origin URL; `*` matches any characters. */
  projects: z.record(word, word.max(63)).default({}),
  /** Sessions idle for longer are not pulled. */
  days: positive.default(365),
  /** Chunks of others' sessions that are held at most, the newest: of 4 KiB at most, they make 0.8 GB. */
  maxChunks: positive.default(200_000),
});
/** A folder of transcripts from another machine. */
const SYNCED = z.strictObject({ path: word, machine });

/** Every key, as it is once the defaults are filled in. */
const SETTINGS = z.strictObject({
  llm: LLM.optional(),
  embedding: EMBEDDING.optional(),
  share: SHARE.optional(),
  transcripts: z.array(SYNCED),
  participants: z.strictObject({ user: word, assistant: word }),
  /** Without it the system's, whose name costs three empty starts to ask. */
  timezone: z.string().refine(isTimezone, { error: "expected an IANA time zone" }).optional(),
  commandName: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, {
    error: "expected lower-case letters, digits and hyphens",
  }),
  statusKey: word,
  minNewUserMessages: positive,
  notificationAutoClearMs: count,
  modelKeys: z.array(modelKey),
  activity: z.strictObject({
    scope: z.enum(["project", "all"]),
    /** 0: no digest. */
    maxChars: count,
    digest: flag,
    welcome: flag,
    seenBefore: flag,
    /** The standing rules, told when a session begins. */
    rules: flag,
    /** A word to the person at the first session of a day. */
    daily: flag,
    statusLine: flag,
  }),
  observe: z.strictObject({
    /** In pi: the session's own model (`active`), another as `provider/model`, or `none`. */
    model: observer,
    dailyBudgetUsd: usd,
    timeoutMs: positive,
    mode: z.enum(["buffered", "blocking"]),
    auto: flag,
    /** In pi: whether to compact before pi has to; a person is asked once. */
    early: z.enum(["ask", "yes", "no"]),
    observerTokens: positive,
    reflectorTokens: positive,
    retainTokens: count,
    stepTokens: positive,
    rules: flag,
  }),
  /** Automatic notes: where they go (by default into the state folder), and whether clearing a session writes one. */
  notes: z.strictObject({ dir: word.optional(), onClear: flag }),
  /** Copies of sessions, for when their transcripts are gone. */
  archive: z.strictObject({
    /** @default true, unless a host is set to delete transcripts earlier than it does by itself */
    enabled: flag.optional(),
    /** The most that all copies take. */
    maxMb: count,
    /** The hosts whose sessions are kept; none: all. */
    agents: z.array(word),
  }),
  redact: z.strictObject({ extra: patterns }),
  exclude: z.strictObject({ sessions: texts, projects: texts, patterns }),
  /** Folders whose own `.volute` transcripts hooks and the index may read. */
  volute: z.array(word),
});

type Read = z.infer<typeof SETTINGS>;
export type LlmConfig = z.infer<typeof LLM> &
  Partial<Pick<z.infer<typeof PROGRAM>, "command" | "dailyCalls">>;
export type EmbeddingConfig = z.infer<typeof EMBEDDING>;
export type ShareConfig = z.infer<typeof SHARE>;
export type SyncedFolder = z.infer<typeof SYNCED>;
export interface Settings extends Omit<Read, "llm"> {
  llm?: LlmConfig | undefined;
}

export type ExcludeSettings = Settings["exclude"];
export type ObserveSettings = Settings["observe"];

/**
 * Parses config.json's text into settings with all defaults in place.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` naming file, key, the value found and the one expected.
 */
export function parseSettings(text: string, file: string, defaults: Settings): Settings {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw invalid(file, "it is not JSON", "correct the syntax or delete the file", cause);
  }
  const isProgram = recordOf(recordOf(value).llm).command !== undefined;
  const expected = isProgram ? SETTINGS.extend({ llm: PROGRAM }) : SETTINGS;
  const whole = fillIn(value, { ...defaults });
  const parsed = expected.safeParse(whole);
  if (parsed.success) return withCommand(parsed.data as Settings);
  const { issues } = parsed.error;
  // A misspelt key is reported as missing, too: naming it helps more.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const path = (issue?.path ?? []).map(String);
  if (issue?.code === "unrecognized_keys") throw unknownKey(file, path, issue.keys[0] ?? "", expected);
  const found = JSON.stringify(
    path.reduce<unknown>((v, key) => (v as Record<string, unknown>)?.[key], whole),
  );
  const what = path.length > 0 ? `key "${path.join(".")}": found ` : "found ";
  const message = (issue?.message ?? "").replace(/^Invalid input: /, "");
  throw invalid(
    file,
    `${what}${truncate(found ?? "nothing", FOUND_MAX_CHARS)}, ${message}`,
    path.length > 0 ? "correct its value" : "write a JSON object",
  );
}

/** Fills in what blocks leave out. The schema judges anything else. */
function fillIn(value: unknown, defaults: JsonRecord): unknown {
  if (!isRecord(value)) return value;
  const given = Object.entries(value).map(([key, each]) => {
    const usual = defaults[key];
    return [key, isRecord(usual) ? fillIn(each, usual) : each];
  });
  return { ...defaults, ...Object.fromEntries(given) };
}

/** Completes the `llm` block of a program: it needs no key, and its calls cost nothing under a subscription. */
function withCommand(settings: Settings): Settings {
  const { llm } = settings;
  if (!llm?.command) return settings;
  const model = basename(llm.command[0] ?? "");
  const prices = { [model]: { input: 0, output: 0 } };
  return {
    ...settings,
    llm: { ...llm, model, apiKeyEnv: "", dailyBudgetUsd: CALL_LIMITS.dailyBudgetUsd, prices },
  };
}

function unknownKey(file: string, path: string[], unknown: string, expected: z.ZodType): SessionMemoryError {
  const [nearest] = settingKeys(path, expected).sort(
    (a, b) => editDistance(a, unknown) - editDistance(b, unknown),
  );
  const key = truncate([...path, unknown].join("."), FOUND_MAX_CHARS);
  const hint = nearest ? `did you mean "${[...path, nearest].join(".")}"?` : "remove that key";
  return invalid(file, `unknown key "${key}"`, hint);
}

function invalid(file: string, what: string, hint: string, cause?: unknown): SessionMemoryError {
  return new SessionMemoryError("CONFIG_INVALID", `Cannot use "${file}": ${what}`, { hint, cause });
}

/** Returns the keys that config.json may have below a key; at its top without one. */
export function settingKeys([key, ...rest]: readonly string[], expected: unknown = SETTINGS): string[] {
  const isWrapped = expected instanceof z.ZodOptional || expected instanceof z.ZodDefault;
  const block = isWrapped ? expected.unwrap() : expected;
  if (key === undefined) return block instanceof z.ZodObject ? Object.keys(block.shape) : [];
  if (block instanceof z.ZodObject) return settingKeys(rest, block.shape[key]);
  if (block instanceof z.ZodArray) return settingKeys(rest, block.element);
  return block instanceof z.ZodRecord ? settingKeys(rest, block.valueType) : [];
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
