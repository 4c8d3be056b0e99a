/** The schema of config.json. Loaded only when the file is there (see config.ts). */

import { basename } from "node:path";
import { z } from "zod";
import { SessionMemoryError } from "../base/errors.ts";
import { parseJson, recordOf } from "../base/json.ts";
import { editDistance, MACHINE_NAME, truncate } from "../base/text.ts";

export interface LlmConfig {
  baseUrl?: string | undefined;
  apiKeyEnv: string;
  model: string;
  dailyBudgetUsd: number;
  timeoutMs: number;
  /** USD per million tokens. */
  prices: Record<string, { input: number; output: number }>;
  /** The command line of a program that answers in place of a server; `["claude"]` stands for a complete one. */
  command?: readonly string[] | undefined;
  /** The most calls of the program a day. */
  dailyCalls?: number | undefined;
}

export interface EmbeddingConfig {
  baseUrl?: string | undefined;
  apiKeyEnv: string;
  model: string;
  dimensions: number;
}

/** Shared memory: which projects go to which hub, and who may read them. */
export interface ShareConfig {
  /** The variable that holds the hub's URL. */
  urlEnv: string;
  /** The certificate authority of the hub's certificate. */
  caFile?: string | undefined;
  /** The name of this machine. @default its host name */
  machine?: string | undefined;
  /** The role that may read a project, by its normalised origin URL; `*` matches any characters. */
  projects: Record<string, string>;
  /** Sessions idle for longer are not pulled. */
  days: number;
  /** Chunks that the replica holds at most, the newest. */
  maxChunks: number;
}

/** A folder of transcripts from another machine. */
export interface SyncedFolder {
  path: string;
  machine: string;
}

export interface Settings {
  llm?: LlmConfig | undefined;
  share?: ShareConfig | undefined;
  transcripts: SyncedFolder[];
  embedding?: EmbeddingConfig | undefined;
  participants: { user: string; assistant: string };
  /** IANA name. */
  timezone: string;
  commandName: string;
  statusKey: string;
  minNewUserMessages: number;
  notificationAutoClearMs: number;
  modelKeys: string[];
  activity: { scope: "project" | "all"; maxChars: number; welcome: boolean; seenBefore: boolean };
  observe: {
    /** In pi: the session's own model (`active`), another as `provider/model`, or `none`. */
    model: string;
    dailyBudgetUsd: number;
    timeoutMs: number;
    mode: "buffered" | "blocking";
    auto: boolean;
    observerTokens: number;
    reflectorTokens: number;
    retainTokens: number;
    stepTokens: number;
    rules: boolean;
  };
  /** Automatic notes: where they go (by default into the state folder), and whether clearing a session writes one. */
  notes: { dir?: string | undefined; onClear: boolean };
  redact: { extra: string[] };
  exclude: {
    sessions: string[];
    projects: string[];
    patterns: string[];
    /** The file with the rows of forgotten sessions, beside config.json. */
    forgotten?: string | undefined;
  };
  /** Folders whose own `.volute` transcripts hooks and the index may read. */
  volute: string[];
}

/** The most characters of the file that an error message repeats. */
const FOUND_MAX_CHARS = 200;

const flag = z.boolean();
const word = z.string().min(1);
const count = z.number().int().nonnegative();
const positive = z.number().int().positive();
const usd = z.number().nonnegative();
const machine = z.string().regex(MACHINE_NAME, {
  error: "expected 1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit",
});
const pattern = z.string().refine(isPattern, { error: "expected a regular expression" });
const timezone = z.string().refine(isTimezone, { error: "expected an IANA time zone" });
const commandName = z.string().regex(/^[a-z0-9][a-z0-9-]*$/, {
  error: "expected lower-case letters, digits and hyphens",
});
const modelKey = z
  .string()
  .regex(/^(?:active|[^/\s]+\/\S+)$/, { error: 'expected "provider/model" or "active"' });
const observer = z.string().regex(/^(?:active|none|[^/\s]+\/\S+)$/, {
  error: 'expected "active", "provider/model" or "none"',
});
const ownVariable = z.string().regex(/^SESSION_MEMORY_\w+$/, {
  error: "expected a variable named SESSION_MEMORY_…",
});

/** The keys of an object in config.json, with a schema or the keys below each. */
interface Keys {
  [key: string]: z.ZodType | Keys;
}

const LLM: Keys = {
  baseUrl: z.url().optional(),
  apiKeyEnv: word,
  model: word,
  dailyBudgetUsd: usd,
  timeoutMs: positive,
  prices: z.record(z.string(), z.strictObject({ input: usd, output: usd })),
};
const LLM_DEFAULTS = { apiKeyEnv: "OPENAI_API_KEY", dailyBudgetUsd: 1, timeoutMs: 30_000, prices: {} };

const COMMAND: Keys = {
  command: z.union([word.transform((name) => [name]), z.array(z.string()).min(1)], {
    error: 'expected "claude" or a command line as a list of words',
  }),
  timeoutMs: positive,
  dailyCalls: positive,
};
/** A subscription has limits, too. Thirty calls name about thirty sessions. */
const COMMAND_DEFAULTS = { timeoutMs: 60_000, dailyCalls: 30 };

const EMBEDDING: Keys = {
  baseUrl: z.url().optional(),
  apiKeyEnv: word,
  model: word,
  // sqlite-vec's bit vectors are whole bytes
  dimensions: positive.max(8192).multipleOf(8),
};
const EMBEDDING_DEFAULTS = {
  apiKeyEnv: "OPENAI_API_KEY",
  model: "text-embedding-3-small",
  dimensions: 1536,
};

const SHARE: Keys = {
  urlEnv: ownVariable,
  caFile: word.optional(),
  machine: machine.optional(),
  projects: z.record(word, word.max(63)),
  days: positive,
  maxChunks: positive,
};
const SHARE_DEFAULTS = { urlEnv: "SESSION_MEMORY_HUB_URL", projects: {}, days: 365, maxChunks: 200_000 };

function schema(defaults: Settings, isCommand = false) {
  const keys: Keys = {
    llm: (isCommand ? strict(COMMAND, COMMAND_DEFAULTS) : strict(LLM, LLM_DEFAULTS)).optional(),
    embedding: strict(EMBEDDING, EMBEDDING_DEFAULTS).optional(),
    share: strict(SHARE, SHARE_DEFAULTS).optional(),
    transcripts: z.array(z.strictObject({ path: word, machine })),
    participants: { user: word, assistant: word },
    timezone,
    commandName,
    statusKey: word,
    minNewUserMessages: positive,
    notificationAutoClearMs: count,
    modelKeys: z.array(modelKey),
    activity: { scope: z.enum(["project", "all"]), maxChars: positive, welcome: flag, seenBefore: flag },
    observe: {
      model: observer,
      dailyBudgetUsd: usd,
      timeoutMs: positive,
      mode: z.enum(["buffered", "blocking"]),
      auto: flag,
      observerTokens: positive,
      reflectorTokens: positive,
      retainTokens: count,
      stepTokens: positive,
      rules: flag,
    },
    notes: { dir: word.optional(), onClear: flag },
    redact: { extra: z.array(pattern) },
    exclude: { sessions: z.array(z.string()), projects: z.array(z.string()), patterns: z.array(pattern) },
    volute: z.array(word),
  };
  return strict(keys, { ...defaults });
}

/** Returns a schema that accepts only these keys, and lets those with a default be left out. */
function strict(keys: Keys, defaults: Record<string, unknown>): z.ZodType {
  const shape = Object.entries(keys).map(([key, type]) => {
    const usual = defaults[key];
    if (!(type instanceof z.ZodType)) {
      return [key, strict(type, usual as Record<string, unknown>).prefault({})] as const;
    }
    return [key, usual === undefined ? type : type.default(usual)] as const;
  });
  return z.strictObject(Object.fromEntries(shape));
}

/**
 * Parses config.json's text into settings with all defaults in place.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` naming file, key, what was found and what is expected.
 */
export function parseSettings(text: string, file: string, defaults: Settings): Settings {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw invalid(file, "it is not JSON", "correct the syntax or delete the file", cause);
  }
  const expected = schema(defaults, recordOf(recordOf(value).llm).command !== undefined);
  const parsed = expected.safeParse(value);
  if (parsed.success) return withCommand(parsed.data as Settings);
  const { issues } = parsed.error;
  // A misspelt key is reported as missing, too: naming it helps more.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const path = (issue?.path ?? []).map(String);
  if (issue?.code === "unrecognized_keys") throw unknownKey(file, path, issue.keys[0] ?? "", expected);
  const found = JSON.stringify(
    path.reduce<unknown>((v, key) => (v as Record<string, unknown>)?.[key], value),
  );
  const what = path.length > 0 ? `key "${path.join(".")}": found ` : "found ";
  const message = (issue?.message ?? "").replace(/^Invalid input: /, "");
  throw invalid(
    file,
    `${what}${truncate(found ?? "nothing", FOUND_MAX_CHARS)}, ${message}`,
    path.length > 0 ? "edit that key" : "write a JSON object",
  );
}

/** Completes the `llm` block of a program: it needs no key, and its calls cost nothing under a subscription. */
function withCommand(settings: Settings): Settings {
  const { llm } = settings;
  if (!llm?.command) return settings;
  const model = basename(llm.command[0] ?? "");
  const prices = { [model]: { input: 0, output: 0 } };
  return {
    ...settings,
    llm: { ...llm, model, apiKeyEnv: "", dailyBudgetUsd: LLM_DEFAULTS.dailyBudgetUsd, prices },
  };
}

function unknownKey(file: string, path: string[], unknown: string, expected: unknown): SessionMemoryError {
  const known = keysAt(expected, path);
  const nearest = known.toSorted((a, b) => editDistance(a, unknown) - editDistance(b, unknown))[0];
  const key = truncate([...path, unknown].join("."), FOUND_MAX_CHARS);
  return invalid(
    file,
    `unknown key "${key}"`,
    nearest ? `did you mean "${[...path, nearest].join(".")}"?` : "",
  );
}

function invalid(file: string, what: string, hint: string, cause?: unknown): SessionMemoryError {
  return new SessionMemoryError("CONFIG_INVALID", `Cannot use "${file}": ${what}`, {
    hint: hint || "remove that key",
    cause,
  });
}

/** Returns the keys that config.json may have below a key; at its top without one. */
export function settingKeys(defaults: Settings, ...path: string[]): string[] {
  return keysAt(schema(defaults), path);
}

/** The parts of a zod schema that hold nested schemas. */
interface Nested {
  _zod?: { def?: { innerType?: Nested; element?: Nested; valueType?: Nested } };
  shape?: Record<string, Nested>;
}

function keysAt(expected: unknown, path: readonly string[]): string[] {
  const { shape, _zod } = expected as Nested;
  const { innerType, element, valueType } = _zod?.def ?? {};
  if (innerType) return keysAt(innerType, path);
  const [key, ...rest] = path;
  if (key === undefined) return Object.keys(shape ?? {});
  const next = shape?.[key] ?? element ?? valueType;
  return next ? keysAt(next, rest) : [];
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
