/** The schema of config.json. Loaded only when the file is there (see config.ts). */

import { z } from "zod";
import { SessionMemoryError } from "../base/errors.ts";
import { editDistance } from "../base/text.ts";
import { MACHINE_NAME } from "./machine.ts";

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
  /** What people call this machine. @default its host name */
  machine?: string | undefined;
  /** The role that may read a project, by its normalised origin URL; `*` stands for any characters. */
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
  activity: { scope: "project" | "all"; maxChars: number; welcome: boolean };
  observe: {
    mode: "buffered" | "blocking";
    auto: boolean;
    observerTokens: number;
    reflectorTokens: number;
    retainTokens: number;
    stepTokens: number;
    rules: boolean;
  };
  titles: boolean;
  /** Automatic notes: where they go (by default into the state folder), and whether clearing a session writes one. */
  notes: { dir?: string | undefined; onClear: boolean };
  redact: { extra: string[] };
  exclude: { sessions: string[]; projects: string[]; patterns: string[] };
  /** Folders whose own `.volute` transcripts hooks and the index may read. */
  volute: string[];
}

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
          scope: z.enum(["project", "all"]).default("project"),
          maxChars: positive.default(500),
          welcome: z.boolean().default(true),
        })
        .prefault({}),
      observe: z
        .strictObject({
          mode: z.enum(["buffered", "blocking"]).default("buffered"),
          auto: z.boolean().default(true),
          observerTokens: positive.default(30_000),
          reflectorTokens: positive.default(40_000),
          retainTokens: z.number().int().nonnegative().default(8_000),
          stepTokens: positive.default(8_000),
          rules: z.boolean().default(false),
        })
        .prefault({}),
      titles: z.boolean().default(false),
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
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(file, "it is not JSON", "correct the syntax or delete the file", cause);
  }
  const parsed = schema(defaults).safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = (issue?.path ?? []).map(String);
  if (issue?.code === "unrecognized_keys") {
    const unknown = issue.keys[0] ?? "";
    const known = knownKeys(defaults, path);
    const nearest = known.toSorted((a, b) => editDistance(a, unknown) - editDistance(b, unknown))[0];
    const key = [...path, unknown].join(".");
    throw invalid(
      file,
      `unknown key "${key}"`,
      nearest ? `did you mean "${[...path, nearest].join(".")}"?` : "",
    );
  }
  const found = JSON.stringify(
    path.reduce<unknown>((v, key) => (v as Record<string, unknown>)?.[key], value),
  );
  const message = (issue?.message ?? "").replace(/^Invalid input: /, "");
  throw invalid(file, `key "${path.join(".")}": found ${found ?? "nothing"}, ${message}`, "edit that key");
}

function invalid(file: string, what: string, hint: string, cause?: unknown): SessionMemoryError {
  return new SessionMemoryError("CONFIG_INVALID", `Cannot use "${file}": ${what}`, {
    hint: hint || "remove that key",
    cause,
  });
}

function knownKeys(defaults: Settings, path: string[]): string[] {
  const inner: Record<string, string[]> = {
    llm: ["baseUrl", "apiKeyEnv", "model", "dailyBudgetUsd", "timeoutMs", "prices"],
    embedding: ["baseUrl", "apiKeyEnv", "model", "dimensions"],
    notes: ["dir", "onClear"],
    share: ["urlEnv", "caFile", "machine", "projects", "days", "maxChunks"],
    transcripts: ["path", "machine"],
  };
  if (path.length === 0) return [...Object.keys(defaults), "llm", "embedding", "share"];
  if (path[1] === undefined && inner[path[0] ?? ""]) return inner[path[0] ?? ""] ?? [];
  if (path[0] === "llm") return ["input", "output"];
  const section = (defaults as unknown as Record<string, unknown>)[path[0] ?? ""];
  return typeof section === "object" && section !== null ? Object.keys(section) : [];
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
