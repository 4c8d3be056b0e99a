/**
 * Every default and path, and the whole configuration, from an environment without what a project folder put there.
 *
 * `loadConfig` validates config.json and loads the schema (zod) only when there is a file to validate.
 */

import { existsSync } from "node:fs";
import { basename, delimiter, join, resolve, sep } from "node:path";
import { describeError, findRefusal, SessionMemoryError } from "../base/errors.ts";
import { readIfExists, readText, statPath } from "../base/files.ts";
import { isRecord, parseRecord, stringOf } from "../base/json.ts";
import type { Environment } from "../base/runtime.ts";
import { MACHINE_NAME, shortHash } from "../base/text.ts";
import type { Settings, SyncedFolder } from "./schema.ts";

export type { Environment } from "../base/runtime.ts";
export type {
  EmbeddingConfig,
  ExcludeSettings,
  LlmConfig,
  ObserveSettings,
  Settings,
  ShareConfig,
  SyncedFolder,
} from "./schema.ts";

/** `PRAGMA user_version` of an index, and in its name: two installed versions work beside each other. */
export const INDEX_VERSION = 7;

/** Names in the state folder. */
const PLACES = {
  /** The index of versions before indexes were caches: left to them, but for what only it holds. */
  former: "memory.db",
  /** The index in which the version before kept what it pulled. */
  formerShared: "shared.db",
  /** The indexes of given transcripts. */
  indexes: "indexes",
  /** Vectors and topics that were paid for. */
  paid: "paid.db",
  /** State that is not derived from transcripts. */
  state: "state.db",
  notes: "notes",
  /** Our copies of sessions, one kind for all. */
  copies: "copies",
  /** The copies of versions before there was one place for all. */
  archive: "archive",
  /** The folder of sessions as HTML pages. */
  reports: "reports",
  config: "config.json",
  cursors: "cursors",
  observations: "observations",
  meta: "sessions-meta",
  log: "log.ndjson",
  /** The keys of forgotten rows. */
  forgotten: "forgotten",
  /** The rows of sessions that announce secrets. */
  secretRows: "secret-rows.ndjson",
  /** The repositories that were seen, and where. */
  repositories: "projects.json",
};
type Places = Record<keyof typeof PLACES, string>;

export interface Paths extends Places {
  /** All our state. */
  home: string;
  /** The index in use: the main one, or that of given transcripts. A cache: it is made again from transcripts. */
  database: string;
  /**
   * Returns a folder as the table of hosts names it: `~` is the user's home, in `($VARIABLE|~/folder)` the variable moves it;
   * "" where nothing names it.
   */
  expand: (place: string) => string;
  /** Files and folders to read instead of the agents' own places; empty: the agents' own. */
  transcripts: string[];
  /** `.volute` folders whose own transcripts are read; a cloned repository can ship one, which is not among them. */
  volute: readonly string[];
  /** The one of them that only this command reads, since it was started there: nothing of it is kept. */
  visited?: string;
  /** Folders of transcripts from other machines, read beside the agents' own places. */
  synced: readonly SyncedFolder[];
}

/** The paths that sessions are read from, and what of them is seen. */
export interface PathsWithRules extends Paths {
  rules: Pick<Settings, "redact" | "exclude"> & {
    /** Set where excluded sessions are read on purpose: their names are stored nowhere. */
    seesExcluded?: true;
  };
}

export interface Config {
  readonly paths: PathsWithRules;
  readonly settings: Settings;
  /** The session that called us, when the host names it. */
  readonly currentSession?: string | undefined;
  /** The environment without what the project folder put there. API keys are looked up here. */
  readonly env: Environment;
  /** Names of the variables that were left out. */
  readonly ignored: string[];
  /** The folder that one works in: no program of its project is started. */
  readonly cwd: string;
}

export type Participants = Settings["participants"];

export const PARTICIPANTS: Participants = { user: "User", assistant: "Assistant" };

/** Returns the defaults of config.json's keys; `llm`, `embedding` and `share` have defaults only inside the block. */
export function defaultSettings(): Settings {
  return {
    transcripts: [],
    participants: PARTICIPANTS,

    commandName: "index-session",
    statusKey: "session-index",
    minNewUserMessages: 5,
    notificationAutoClearMs: 5000,
    modelKeys: [],
    activity: {
      scope: "project",
      maxChars: 500,
      digest: true,
      welcome: true,
      seenBefore: true,
      rules: true,
      daily: true,
      statusLine: true,
    },
    observe: {
      model: "active",
      dailyBudgetUsd: 1,
      timeoutMs: 20000,
      mode: "buffered",
      auto: true,
      early: "ask",
      observerTokens: 30000,
      reflectorTokens: 40000,
      retainTokens: 8000,
      stepTokens: 8000,
      rules: false,
    },
    notes: { onClear: true },
    archive: { maxMb: 2048, agents: [] },
    redact: { extra: [] },
    exclude: { sessions: [], projects: [], patterns: [] },
    volute: [],
  };
}

/** The lists of config.json's `exclude`. */
export const EXCLUDE_KEYS = ["sessions", "projects", "patterns"] as const;
export type ExcludeKey = (typeof EXCLUDE_KEYS)[number];

/**
 * Reads settings as hooks need them, by plain checks, since the schema costs four empty starts: without the blocks that have no
 * default. Undefined when config.json exists and is invalid.
 */
export function readHookSettings(paths: Pick<Paths, "config">): Settings | undefined {
  let text: string | undefined;
  try {
    text = readConfig(paths.config);
  } catch {
    return undefined;
  }
  if (text === undefined) return defaultSettings();
  const given = parseRecord(text);
  if (!given) return undefined;
  const { transcripts = [], timezone, ...file } = given;
  const read = fillInAlike(file, defaultSettings());
  if (!read || !Array.isArray(transcripts) || !transcripts.every(isSyncedFolder)) return undefined;
  if (!["project", "all"].includes(read.activity.scope) || read.activity.maxChars < 0) return undefined;
  return { ...read, transcripts, timezone: stringOf(timezone) };
}

/** Returns the defaults with the given values in their place, key by key; undefined if one is of another type. */
function fillInAlike<T>(given: unknown, usual: T): T | undefined {
  if (given === undefined) return usual;
  const isList = Array.isArray(given) && given.every((item) => typeof item === "string");
  if (Array.isArray(usual)) return isList ? (given as T) : undefined;
  if (!isRecord(usual)) return typeof given === typeof usual ? (given as T) : undefined;
  if (!isRecord(given)) return undefined;
  const read = Object.entries(usual).map(([key, value]) => [key, fillInAlike(given[key], value)] as const);
  return read.some(([, value]) => value === undefined) ? undefined : (Object.fromEntries(read) as T);
}

function isSyncedFolder(value: unknown): value is SyncedFolder {
  if (!isRecord(value) || typeof value.path !== "string" || value.path === "") return false;
  return typeof value.machine === "string" && MACHINE_NAME.test(value.machine);
}

/** Returns the paths that the environment determines. */
export function resolvePaths(env: Environment): PathsWithRules {
  const user = userHome(env);
  const home = resolve(env.SESSION_MEMORY_HOME || join(user, ".session-memory"));
  const given = (env.SESSION_MEMORY_SESSIONS ?? "").split(delimiter).filter(Boolean);
  const transcripts = given.map((path) => resolve(path));
  const places = Object.entries(PLACES).map(([place, name]) => [place, join(home, name)]);
  const inHome = Object.fromEntries(places) as Places;
  const expand: Paths["expand"] = (place) => {
    const path = place.replace(/\(\$(\w+)\|([^)]*)\)/, (_, name, otherwise) => env[name] || otherwise);
    return path && resolve(expandHome(path, user));
  };
  const { redact, exclude } = defaultSettings();
  const database = indexPath(home, transcripts);
  return {
    ...inHome,
    home,
    database,
    expand,
    transcripts,
    volute: [],
    synced: [],
    rules: { redact, exclude },
  };
}

/** Given transcripts have an index of their own, so that they never mix into the main one. */
function indexPath(home: string, transcripts: readonly string[]): string {
  if (transcripts.length === 0) return join(home, `index-${INDEX_VERSION}.db`);
  const key = shortHash([...new Set(transcripts)].sort().join("\0"));
  return join(home, "indexes", `${key.toString(16)}-${INDEX_VERSION}.db`);
}

const VOLUTE = ".volute";

/**
 * Adds what config.json says of the places: the folders synced from other machines, the `.volute` folders that may be
 * read, by themselves or by the folder around them, and the one that holds `transcript`, the viewing session's own;
 * what is redacted and excluded.
 */
export function withFolders(
  paths: PathsWithRules,
  {
    settings,
    env,
    transcript,
  }: {
    settings: Pick<Settings, "volute" | "transcripts" | "redact" | "exclude">;
    env: Environment;
    transcript?: string | undefined;
  },
): PathsWithRules {
  const { redact, exclude, transcripts } = settings;
  const volute = settings.volute.map((path) => {
    const folder = expandPath(path, env, paths.home);
    return basename(folder) === VOLUTE ? folder : join(folder, VOLUTE);
  });
  const own = transcript?.lastIndexOf(`${sep}${VOLUTE}${sep}`) ?? -1;
  if (transcript !== undefined && own !== -1) volute.push(transcript.slice(0, own + VOLUTE.length + 1));
  const synced = transcripts.map(({ path, machine }) => ({
    path: expandPath(path, env, userHome(env)),
    machine,
  }));
  return { ...paths, volute, synced, rules: { redact, exclude } };
}

function userHome(env: Environment): string {
  // Not imported: the module costs a tenth of an empty start, and the variable is nearly always set.
  return env.HOME || env.USERPROFILE || process.getBuiltinModule("node:os").homedir();
}

/**
 * Loads the whole configuration, validated.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` with file, key, found and expected.
 */
export async function loadConfig(env: Environment, cwd: string): Promise<Config> {
  const config = defaultConfig(env, cwd);
  const { paths } = config;
  const text = readConfig(paths.config);
  if (text === undefined) return config;
  // The schema costs four empty starts, so it is loaded only for a file that is there.
  const { parseSettings } = await import("./schema.ts");
  const settings = parseSettings(text, paths.config, defaultSettings());
  return { ...config, settings, paths: withFolders(paths, { settings, env: config.env }) };
}

function readConfig(file: string): string | undefined {
  try {
    return readIfExists(file);
  } catch (cause) {
    const why = statPath(file)?.isFile() ? describeError(findRefusal(cause) ?? cause) : "it is no file";
    throw new SessionMemoryError("CONFIG_INVALID", `Cannot use "${file}": ${why}`, {
      hint: "put a file that may be read in its place, or remove it",
      cause,
    });
  }
}

/** Returns the configuration for a missing or unusable config.json. */
export function defaultConfig(env: Environment, cwd: string): Config {
  const trusted = trustedEnvironment(env, cwd);
  const paths = resolvePaths(trusted.env);
  return { paths, settings: defaultSettings(), env: { ...trusted.env }, ignored: trusted.ignored, cwd };
}

/** Returns the paths for a command that must see excluded sessions: to forget them, or to bring them back. */
export function seeingExcluded(paths: PathsWithRules): PathsWithRules {
  return { ...paths, rules: { ...paths.rules, exclude: defaultSettings().exclude, seesExcluded: true } };
}

/** Returns the paths with what config.json excludes now beside what a process excluded at its start. */
export function currentPaths(paths: PathsWithRules): PathsWithRules {
  const { redact, exclude: known, seesExcluded } = paths.rules;
  const now = readHookSettings(paths)?.exclude;
  if (seesExcluded || !now) return paths;
  const both = (key: ExcludeKey) => [...new Set([...known[key], ...now[key]])];
  const exclude = { sessions: both("sessions"), projects: both("projects"), patterns: both("patterns") };
  return { ...paths, rules: { redact, exclude } };
}

/**
 * Returns the paths, with the transcripts of `--sessions` in place of the agents' own.
 *
 * @throws {SessionMemoryError} when that, or what `SESSION_MEMORY_SESSIONS` names, is not there.
 */
export function pathsReading(
  { paths, env }: Config,
  sessions: readonly string[] = [],
  cwd: string,
): PathsWithRules {
  if (sessions.includes("")) {
    throw new SessionMemoryError("USAGE", 'Cannot use --sessions "": expected a file or folder', {
      hint: "try --sessions .",
    });
  }
  const isNamed = sessions.length > 0;
  const transcripts = isNamed ? sessions.map((path) => expandPath(path, env, cwd)) : paths.transcripts;
  const missing = transcripts.find((path) => !existsSync(path));
  if (missing === undefined) return { ...paths, transcripts, database: indexPath(paths.home, transcripts) };
  const reason = "there is no such file or folder";
  throw new SessionMemoryError("NOT_FOUND", `Cannot read sessions from "${missing}": ${reason}`, {
    hint: `correct ${isNamed ? "--sessions" : "SESSION_MEMORY_SESSIONS"}`,
  });
}

/** Resolves a path as a user wrote it: `~` is home, a relative one is resolved against `cwd`. */
export function expandPath(path: string, env: Environment, cwd: string): string {
  return resolve(cwd, expandHome(path, userHome(env)));
}

/** Replaces `~` at the beginning of a path by the user's home. */
export function expandHome(path: string, home: string): string {
  return path.replace(/^~(?=[/\\]|$)/, () => home);
}

/** The variables we read, and those named like what moves a host. One set by the project folder's `.env` was not set by the user. */
const OWN_VARIABLE = /^(?:SESSION_MEMORY|OPENAI)_\w+$|_(?:CONFIG|AGENT|SESSION)_DIR$/;
/** Others that may move a host's folder or name the calling session: they are left out without a word. */
const HOST_VARIABLE = /_(?:HOME|DIR|SESSION_ID)$/;

/**
 * Returns the environment without those variables of ours whose value is the one in a `.env*` file of `cwd`: Bun loads
 * such files by itself, and a project folder must not redirect our state, our reading or our key.
 */
export function trustedEnvironment(env: Environment, cwd: string): { env: Environment; ignored: string[] } {
  // the starter, where it started this very process, has left all such files out
  if (process.env.SESSION_MEMORY_STARTED === String(process.pid)) return { env, ignored: [] };
  const isRead = (name: string) => OWN_VARIABLE.test(name) || HOST_VARIABLE.test(name);
  const own = Object.keys(env).filter((name) => env[name] && isRead(name));
  if (own.length === 0) return { env, ignored: [] };
  const values = plantedValues(cwd, env.NODE_ENV);
  const planted = own.filter((name) => values.get(name)?.includes(env[name] ?? ""));
  if (planted.length === 0) return { env, ignored: [] };
  const trusted = { ...env };
  for (const name of planted) delete trusted[name];
  return { env: trusted, ignored: planted.filter((name) => OWN_VARIABLE.test(name)) };
}

/** Returns the environment of a hook or script of ours; the current directory is not trusted. */
export function hookEnvironment(): { env: Environment; ignored: string[] } {
  return trustedEnvironment(process.env, currentDirectory());
}

/** Returns the current directory, or the root where it was removed meanwhile, as worktrees are. */
export function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return "/";
  }
}

/** Larger than any `.env` file written by a person, smaller than a device. */
const ENV_FILE_MAX_BYTES = 16 * 1024 * 1024;

/** Returns the values that `.env` files set, of all files that Bun or Deno would load. */
function plantedValues(cwd: string, mode = "development"): Map<string, string[]> {
  const values = new Map<string, string[]>();
  const names = [".env", ".env.local", `.env.${mode}`, `.env.${mode}.local`];
  for (const usual of ["development", "production", "test"])
    names.push(`.env.${usual}`, `.env.${usual}.local`);
  for (const name of new Set(names)) {
    const text = readText(join(cwd, name), ENV_FILE_MAX_BYTES);
    for (const match of text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*[=:]\s*(.*?)\s*$/gm)) {
      const raw = match[2] ?? "";
      const unquoted = raw.replace(/^(["'`])(.*?)\1.*$/, "$2");
      const uncommented = raw.replace(/\s+#.*$/, "");
      const known = values.get(match[1] ?? "") ?? [];
      values.set(match[1] ?? "", [...known, raw, unquoted, uncommented, unquoted.replaceAll("\\n", "\n")]);
    }
  }
  return values;
}
