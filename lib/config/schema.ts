/**
 * The keys of config.json, each once with its default and what fits it. Plain checks: hooks read some of them before every prompt.
 */

import { basename } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { isRecord, parseJson, SUM_MAX } from "../base/json.ts";
import { editDistance, MACHINE_NAME, truncate } from "../base/text.ts";

/** The most characters of the file that an error message repeats. */
const FOUND_MAX_CHARS = 200;

/** A place in the file: the file's path, and the keys that lead there. */
type Place = readonly string[];

/** The values that a key takes. */
interface Kind<T> {
  /** The value where the file names none; undefined for a key that is required. */
  usual?: T | undefined;
  /** True for a key that may be left out. */
  isOptional?: true;
  /** The keys below it. */
  keys?: Keys;
  /** The values that fit, in words. */
  expected?: string;
  /**
   * Returns a value of the file as it is used, with the defaults below it.
   *
   * @throws {SessionMemoryError} `CONFIG_INVALID` naming file, key, the value found and the one expected.
   */
  read(value: unknown, place: Place): T;
}

// biome-ignore lint/suspicious/noExplicitAny: a kind of anything
type Keys = Readonly<Record<string, Kind<any>>>;
type ValueOf<K> = K extends Kind<infer T> ? T : never;
type OptionalIn<K> = { [N in keyof K]: K[N] extends { isOptional: true } ? N : never }[keyof K];
type Block<K> = { [N in Exclude<keyof K, OptionalIn<K>>]: ValueOf<K[N]> } & {
  [N in OptionalIn<K>]?: ValueOf<K[N]> | undefined;
};

function leaf<T>(expected: string, fits: (value: T) => boolean, usual?: T): Kind<T> {
  return {
    ...{ usual, expected },
    read(value, place) {
      if (!fits(value as T)) throw misfit(place, value, expected);
      return value as T;
    },
  };
}

function block<K extends Keys>(keys: K): Kind<Block<K>> & { keys: K } {
  const read = (value: unknown, place: Place): Block<K> => {
    if (!isRecord(value)) throw misfit(place, value, "an object");
    for (const key of Object.keys(value)) if (!Object.hasOwn(keys, key)) throw unknownKey(place, key, keys);
    const values = Object.entries(keys).flatMap(([key, { usual, isOptional, keys: inner, read }]) => {
      const isGiven = Object.hasOwn(value, key);
      if (isOptional && !isGiven) return [];
      const given = isGiven ? value[key] : (structuredClone(usual) ?? (inner && {}));
      return [[key, read(given, [...place, key])]];
    });
    return Object.fromEntries(values) as Block<K>;
  };
  return { keys, read };
}

function list<T>(item: Kind<T>): Kind<T[]> {
  const read = (value: unknown, place: Place) => {
    if (!Array.isArray(value)) throw misfit(place, value, "a list");
    return value.map((each, at) => item.read(each, [...place, `${at}`]));
  };
  return { usual: [], read };
}

function record<T>(item: Kind<T>): Kind<Record<string, T>> {
  const read = (value: unknown, place: Place) => {
    if (!isRecord(value)) throw misfit(place, value, "an object");
    const values = Object.entries(value).map(([key, each]) => [key, item.read(each, [...place, key])]);
    return Object.fromEntries(values) as Record<string, T>;
  };
  return { usual: {}, read };
}

const optional = <K extends Kind<unknown>>(kind: K) => ({ ...kind, isOptional: true as const });

const isText = (value: unknown): value is string => typeof value === "string";
const flag = (usual?: boolean) => leaf("true or false", (value) => typeof value === "boolean", usual);
const word = (usual?: string) => matching(/./s, "a text", usual);
const count = (usual: number, least = 1) =>
  leaf(
    `a whole number of at least ${least}`,
    (value) => Number.isSafeInteger(value) && value >= least,
    usual,
  );
const usd = (usual?: number) =>
  leaf("a number of dollars", (value) => Number.isFinite(value) && value >= 0 && value <= SUM_MAX, usual);
const matching = (pattern: RegExp, expected: string, usual?: string) =>
  leaf(expected, (value) => isText(value) && pattern.test(value), usual);
const oneOf = <T extends string>(usual: T, ...others: T[]) => {
  const all = [usual, ...others];
  return leaf(`${all.slice(0, -1).join(", ")} or ${all.at(-1)}`, (value) => all.includes(value), usual);
};
const usable = (expected: string, use: (text: string) => unknown) =>
  leaf<string>(expected, (value) => isText(value) && canMake(() => use(value)));

const url = usable("a URL", (text) => new URL(text));
const texts = list(leaf<string>("a text", isText));
const machine = matching(
  MACHINE_NAME,
  "1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit",
);
const patterns = list(usable("a regular expression", (text) => new RegExp(text, "u")));

const SERVER = block({
  baseUrl: optional(url),
  apiKeyEnv: word("OPENAI_API_KEY"),
  model: word(),
  dailyBudgetUsd: usd(1),
  timeoutMs: count(30_000),
  /** USD per million tokens. */
  prices: record(block({ input: usd(), output: usd() })),
});
/** A program that answers in place of a server. A subscription has limits, too: thirty calls name about thirty sessions. */
const PROGRAM = block({
  /** Its command line; `["claude"]` stands for a complete one. */
  command: {
    read(value: unknown, place: Place): string[] {
      const line = isText(value) ? [value] : value;
      const isLine = Array.isArray(line) && line.every(isText) && line.length > 0 && value !== "";
      if (!isLine) throw misfit(place, value, '"claude" or a command line as a list of words');
      return line;
    },
  },
  timeoutMs: count(60_000),
  /** The most calls of it a day. */
  dailyCalls: count(30),
});

export type LlmConfig = ValueOf<typeof SERVER> &
  Partial<Pick<ValueOf<typeof PROGRAM>, "command" | "dailyCalls">>;

/** Reads the `llm` block; a program needs no key, and its calls cost nothing under a subscription. */
function readLlm(value: unknown, place: Place): LlmConfig {
  if (!isRecord(value) || value.command === undefined) return SERVER.read(value, place);
  const { command, ...limits } = PROGRAM.read(value, place);
  const model = basename(command[0] ?? "");
  const prices = { [model]: { input: 0, output: 0 } };
  return { command, ...limits, model, apiKeyEnv: "", dailyBudgetUsd: 1, prices };
}

/** Every key. */
export const SETTINGS = block({
  llm: optional({ keys: SERVER.keys, read: readLlm }),
  embedding: optional(
    block({
      baseUrl: optional(url),
      apiKeyEnv: word("OPENAI_API_KEY"),
      model: word("text-embedding-3-small"),
      // the model's default; sqlite-vec's bit vectors are whole bytes
      dimensions: leaf(
        "a multiple of 8 up to 8192",
        (value) => value % 8 === 0 && value > 0 && value <= 8192,
        1536,
      ),
    }),
  ),
  /** Shared memory: which projects go to which hub, and who may read them. */
  share: optional(
    block({
      /** The variable that holds the hub's URL. */
      urlEnv: matching(/^SESSION_MEMORY_\w+$/, "a variable named SESSION_MEMORY_…", "SESSION_MEMORY_HUB_URL"),
      /** The certificate authority of the hub's certificate. */
      caFile: optional(word()),
      /** The name of this machine. @default its host name */
      machine: optional(machine),
      /** The role that may read a project, by its normalised origin URL; `*` matches any characters. */
      projects: record(matching(/^.{1,63}$/s, "a role of at most 63 characters")),
      /** Sessions idle for longer are not pulled. */
      days: count(365),
      /** Chunks that the replica holds at most, the newest; of 4 KiB at most, so 0.8 GB. */
      maxChunks: count(200_000),
    }),
  ),
  /** Folders of transcripts from other machines. */
  transcripts: list(block({ path: word(), machine })),
  participants: block({ user: word("User"), assistant: word("Assistant") }),
  /** Without it the system's, whose name costs three empty starts to ask. */
  timezone: optional(usable("an IANA time zone", (timeZone) => new Intl.DateTimeFormat("en", { timeZone }))),
  commandName: matching(/^[a-z0-9][a-z0-9-]*$/, "lower-case letters, digits and hyphens", "index-session"),
  statusKey: word("session-index"),
  minNewUserMessages: count(5),
  notificationAutoClearMs: count(5000, 0),
  modelKeys: list(matching(/^(?:active|[^/\s]+\/\S+)$/, '"provider/model" or "active"')),
  activity: block({
    scope: oneOf("project", "all"),
    /** 0: no digest. */
    maxChars: count(500, 0),
    digest: flag(true),
    welcome: flag(true),
    seenBefore: flag(true),
    /** The standing rules, told when a session begins. */
    rules: flag(true),
    /** A word to the person at the first session of a day. */
    daily: flag(true),
    statusLine: flag(true),
  }),
  observe: block({
    /** In pi: the session's own model (`active`), another as `provider/model`, or `none`. */
    model: matching(/^(?:active|none|[^/\s]+\/\S+)$/, '"active", "provider/model" or "none"', "active"),
    dailyBudgetUsd: usd(1),
    timeoutMs: count(20_000),
    mode: oneOf("buffered", "blocking"),
    auto: flag(true),
    /** In pi: whether to compact before pi has to; a person is asked once. */
    early: oneOf("ask", "yes", "no"),
    rules: flag(false),
    observerTokens: count(30_000),
    reflectorTokens: count(40_000),
    retainTokens: count(8000, 0),
    stepTokens: count(8000),
  }),
  /** Automatic notes: where they go (by default into the state folder), and whether clearing a session writes one. */
  notes: block({ dir: optional(word()), onClear: flag(true) }),
  /** Copies of sessions, for when their transcripts are gone. */
  archive: block({
    /** @default true, unless a host is set to delete transcripts earlier than it does by itself */
    enabled: optional(flag()),
    /** The most that all copies take. */
    maxMb: count(2048, 0),
    /** The hosts whose sessions are kept; none: all. */
    agents: list(word()),
  }),
  redact: block({ extra: patterns }),
  exclude: block({ sessions: texts, projects: texts, patterns }),
  /** Folders whose own `.volute` transcripts hooks and the index may read. */
  volute: list(word()),
});

type Read = ValueOf<typeof SETTINGS>;
export type EmbeddingConfig = NonNullable<Read["embedding"]>;
export type ShareConfig = NonNullable<Read["share"]>;
export type SyncedFolder = Read["transcripts"][number];
export interface Settings extends Omit<Read, "exclude" | "redact"> {
  /** With the file that notes which rows announce secrets, beside config.json. */
  redact: Read["redact"] & { noted?: string | undefined };
  /** With the files that say more of it, and the user's home, for which `~` stands. */
  exclude: Read["exclude"] & {
    forgotten?: string | undefined;
    repositories?: string | undefined;
    home?: string | undefined;
  };
}

export type ExcludeSettings = Settings["exclude"];
export type ObserveSettings = Settings["observe"];

/**
 * Parses config.json's text into settings with all defaults in place; of some keys alone if they are named.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` naming file, key, the value found and the one expected.
 */
export function parseSettings(text: string, file: string, only?: readonly string[]): Settings {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw invalid(file, "it is not JSON", "correct the syntax or delete the file", cause);
  }
  const all = isRecord(value) ? Object.entries(value) : [];
  const named = only ? Object.fromEntries(all.filter(([key]) => only.includes(key))) : value;
  return SETTINGS.read(isRecord(value) ? named : value, [file]);
}

function misfit([file = "", ...path]: Place, value: unknown, expected: string): SessionMemoryError {
  const found = truncate(JSON.stringify(value) ?? "nothing", FOUND_MAX_CHARS);
  const [at, hint] =
    path.length > 0 ? [`key "${path.join(".")}": `, "edit that key"] : ["", "write a JSON object"];
  return invalid(file, `${at}found ${found}, expected ${expected}`, hint);
}

function unknownKey([file = "", ...path]: Place, unknown: string, keys: Keys): SessionMemoryError {
  const [nearest] = Object.keys(keys).sort((a, b) => editDistance(a, unknown) - editDistance(b, unknown));
  const key = truncate([...path, unknown].join("."), FOUND_MAX_CHARS);
  const hint = nearest ? `did you mean "${[...path, nearest].join(".")}"?` : "remove that key";
  return invalid(file, `unknown key "${key}"`, hint);
}

function invalid(file: string, what: string, hint: string, cause?: unknown): SessionMemoryError {
  return new SessionMemoryError("CONFIG_INVALID", `Cannot use "${file}": ${what}`, { hint, cause });
}

/** Returns why a value does not fit; undefined if it does. */
export function faultOf(kind: Kind<unknown>, value: unknown): string | undefined {
  return canMake(() => kind.read(value, [])) ? undefined : `expected ${kind.expected}`;
}

function canMake(make: () => unknown): boolean {
  try {
    make();
    return true;
  } catch {
    return false;
  }
}
