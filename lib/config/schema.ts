/** The schema of config.json. Loaded only when the file is there (see config.ts). */

import { z } from "zod";
import { SessionMemoryError } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import { editDistance, truncate } from "../base/text.ts";
import { MACHINE_NAME } from "./config-file.ts";

export interface LlmConfig {
  baseUrl?: string | undefined;
  apiKeyEnv: string;
  model: string;
  dailyBudgetUsd: number;
  timeoutMs: number;
  /** USD per million tokens. */
  prices: Record<string, { input: number; output: number }>;
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

/** A message repeats no more than this of the file. */
const FOUND_MAX_CHARS = 200;

const positive = z.number().int().positive();
const machine = z.string().regex(MACHINE_NAME, {
  error: "expected 1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit",
});
const pattern = z.string().refine(isPattern, { error: "expected a regular expression" });

function schema(defaults: Settings) {
  return z
    .strictObject({
      llm: z
        .strictObject({
          baseUrl: z.url().optional(),
          apiKeyEnv: z.string().min(1).default("OPENAI_API_KEY"),
          model: z.string().min(1),
          dailyBudgetUsd: z.number().nonnegative().default(1),
          timeoutMs: positive.default(30_000),
          prices: z
            .record(
              z.string(),
              z.strictObject({ input: z.number().nonnegative(), output: z.number().nonnegative() }),
            )
            .default({}),
        })
        .optional(),
      embedding: z
        .strictObject({
          baseUrl: z.url().optional(),
          apiKeyEnv: z.string().min(1).default("OPENAI_API_KEY"),
          model: z.string().min(1).default("text-embedding-3-small"),
          // sqlite-vec's bit vectors are whole bytes
          dimensions: positive.max(8192).multipleOf(8).default(1536),
        })
        .optional(),
      share: z
        .strictObject({
          urlEnv: z
            .string()
            .regex(/^SESSION_MEMORY_\w+$/, { error: "expected a variable named SESSION_MEMORY_…" })
            .default("SESSION_MEMORY_HUB_URL"),
          caFile: z.string().min(1).optional(),
          machine: machine.optional(),
          projects: z.record(z.string().min(1), z.string().min(1).max(63)).default({}),
          days: positive.default(365),
          maxChunks: positive.default(200_000),
        })
        .optional(),
      transcripts: z.array(z.strictObject({ path: z.string().min(1), machine })).default([]),
      participants: z
        .strictObject({
          user: z.string().min(1).default("User"),
          assistant: z.string().min(1).default("Assistant"),
        })
        .prefault({}),
      timezone: z
        .string()
        .refine(isTimezone, { error: "expected an IANA time zone" })
        .default(defaults.timezone),
      commandName: z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]*$/, { error: "expected lower-case letters, digits and hyphens" })
        .default(defaults.commandName),
      statusKey: z.string().min(1).default(defaults.statusKey),
      minNewUserMessages: positive.default(defaults.minNewUserMessages),
      notificationAutoClearMs: z.number().int().nonnegative().default(defaults.notificationAutoClearMs),
      modelKeys: z
        .array(
          z.string().regex(/^(?:active|[^/\s]+\/\S+)$/, { error: 'expected "provider/model" or "active"' }),
        )
        .default([]),
      activity: z
        .strictObject({
          scope: z.enum(["project", "all"]).default(defaults.activity.scope),
          maxChars: positive.default(defaults.activity.maxChars),
          welcome: z.boolean().default(defaults.activity.welcome),
          seenBefore: z.boolean().default(defaults.activity.seenBefore),
        })
        .prefault({}),
      observe: z
        .strictObject({
          model: z
            .string()
            .regex(/^(?:active|none|[^/\s]+\/\S+)$/, {
              error: 'expected "active", "provider/model" or "none"',
            })
            .default("active"),
          dailyBudgetUsd: z.number().nonnegative().default(1),
          timeoutMs: positive.default(20_000),
          mode: z.enum(["buffered", "blocking"]).default("buffered"),
          auto: z.boolean().default(true),
          observerTokens: positive.default(30_000),
          reflectorTokens: positive.default(40_000),
          retainTokens: z.number().int().nonnegative().default(8_000),
          stepTokens: positive.default(8_000),
          rules: z.boolean().default(false),
        })
        .prefault({}),
      notes: z
        .strictObject({ dir: z.string().min(1).optional(), onClear: z.boolean().default(true) })
        .prefault({}),
      redact: z.strictObject({ extra: z.array(pattern).default([]) }).prefault({}),
      exclude: z
        .strictObject({
          sessions: z.array(z.string()).default([]),
          projects: z.array(z.string()).default([]),
          patterns: z.array(pattern).default([]),
        })
        .prefault({}),
      volute: z.array(z.string().min(1)).default([]),
    })
    .readonly();
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
  const expected = schema(defaults);
  const parsed = expected.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // A key that is misspelt is missing too: its name says more.
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

/** Returns the keys that a schema knows at a path. */
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
