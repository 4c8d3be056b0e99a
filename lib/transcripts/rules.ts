/** Reads the `redact` and `exclude` blocks of config.json, and what was forgotten, as rules for every entry that is read. */

import { sep } from "node:path";
import { statPath } from "../base/files.ts";
import { folderName, isUuid, shortDigest, wildcardSource } from "../base/text.ts";
import {
  defaultSettings,
  type ExcludeSettings,
  expandHome,
  type PathsWithRules,
  type Settings,
} from "../config/config.ts";
import type { Entry, Session } from "../hosts/session.ts";
import { REDACTION_VERSION, type Redactor, redactor } from "../redact/redact.ts";
import { findTops, readRepositories, repositoriesState } from "../store/repositories.ts";
import { type ForgottenTest, forgottenState, forgottenTest } from "./forgotten.ts";

export interface Rules extends TextExclusion {
  /** Redacts a text: by our rules and by `redact.extra`. */
  clean: Redactor;
  /** The file that notes which rows of sessions announce secrets. */
  noted?: string | undefined;
}

/**
 * Returns a function that makes something of an `exclude` block once, as long as nothing more is forgotten: a run asks for the
 * same in many places.
 */
function oncePerBlock<T>(make: (paths: PathsWithRules) => T) {
  const made = new WeakMap<ExcludeSettings, { extra: readonly string[]; state: string; value: T }>();
  return (paths: PathsWithRules): T => {
    const { redact, exclude } = paths.rules;
    const moved = exclude.projects.length > 0 ? paths.repositories : undefined;
    const state = `${forgottenState(forgottenFile(paths))} ${repositoriesState(moved)}`;
    const before = made.get(exclude);
    if (before?.extra === redact.extra && before.state === state) return before.value;
    const value = make(paths);
    made.set(exclude, { extra: redact.extra, state, value });
    return value;
  };
}

/** Returns the file with what was forgotten; undefined for whoever sees what is excluded. */
export function forgottenFile({ forgotten, rules }: PathsWithRules): string | undefined {
  return rules.seesExcluded ? undefined : forgotten;
}

const rulesOnce = oncePerBlock((paths) => compileRules(paths.rules, forgottenFile(paths)));

/** Reads the `redact` and `exclude` blocks of config.json, as far as they concern texts. */
export function readRules(paths: PathsWithRules): Rules {
  return { ...rulesOnce(paths), noted: paths.secretRows };
}

function compileRules({ redact, exclude }: PathsWithRules["rules"], forgotten?: string): Rules {
  const texts = exclude.patterns.map((pattern) => new RegExp(pattern, "u"));
  const hasText = (text: string) => texts.some((pattern) => pattern.test(text));
  return {
    clean: redactor(redact.extra),
    hasText,
    hasEntry(entry) {
      if (texts.length === 0) return false;
      const { text, tool, patch = "" } = entry;
      return [text, patch, tool?.target ?? "", tool?.input ?? "", ...(tool?.paths ?? [])].some(hasText);
    },
    isForgotten: forgottenTest(forgotten),
    hasPatterns: texts.length > 0,
  };
}

/** Returns the version of our redaction and, by its hash, that of the user's own; texts stored under another version are redacted again. */
export function redactionVersion({ extra }: Settings["redact"]): string {
  if (extra.length === 0) return String(REDACTION_VERSION);
  return `${REDACTION_VERSION} ${shortDigest(JSON.stringify(extra))}`;
}

/** Returns a text that changes with the rules by which texts are stored. */
export function rulesVersion(paths: PathsWithRules): string {
  const { redact, exclude } = paths.rules;
  const forgotten = statPath(forgottenFile(paths) ?? "");
  const rules = [
    redactionVersion(redact),
    [...new Set(exclude.patterns)].sort(),
    forgotten ? [forgotten.size, forgotten.mtimeMs] : [],
  ];
  return shortDigest(JSON.stringify(rules));
}

/** Returns a text redacted; undefined for none, and for one that is excluded. */
export function shownText(
  text: string | undefined,
  { clean, hasText }: Pick<Rules, "clean" | "hasText">,
): string | undefined {
  return text === undefined || hasText(text) ? undefined : clean(text);
}

let own: Rules | undefined;

/** Returns the rules without config.json. */
export function ownRules(): Rules {
  own ??= compileRules(defaultSettings());
  return own;
}

/** Returns whether a name holds no secret, so that a file of ours may have it. */
export function isPlainName(name: string): boolean {
  return ownRules().clean(name) === name;
}

/** The facts about a session that decide whether it is excluded: a subagent stays out with its parent. */
export type Excludable = Pick<Session, "id" | "name" | "cwd" | "project" | "parentId">;

/** The exclusion of sessions: for lib/sessions/gate.ts, which everything else asks. */
interface SessionExclusion {
  /** True if a session is excluded by its id (of a UUID, its first four characters or more), name or project. */
  hasSession(session: Excludable): boolean;
  /** True if the decision needs a session's directory, and its names. */
  readonly needsProject: boolean;
  readonly needsNames: boolean;
}

interface TextExclusion extends Pick<ForgottenTest, "isForgotten"> {
  /** True if a text is excluded. */
  hasText(text: string): boolean;
  /** True if an entry is excluded by its text or by a tool's target. */
  hasEntry(entry: Entry): boolean;
  /** True if any text is excluded. */
  readonly hasPatterns: boolean;
}

const PREFIX_MIN = 4; // as in references

/** Reads the `exclude` block of config.json, as far as it names sessions. Projects are known by their redacted paths too. */
export const readExclusion = oncePerBlock((paths) => compileExclusion(paths, paths.repositories));

/** Returns a test for sessions that an entry of `exclude.projects` fits. */
export function fitting(project: string, paths: PathsWithRules): (session: Excludable) => boolean {
  const exclude = { sessions: [], projects: [project], patterns: [] };
  return compileExclusion({ ...paths, rules: { ...paths.rules, exclude } }).hasSession;
}

function compileExclusion(
  { expand, rules: { redact, exclude } }: PathsWithRules,
  repositories?: string,
): SessionExclusion {
  const { sessions, projects } = exclude;
  const home = expand("~");
  const names = new Set(sessions.map((name) => name.toLowerCase()));
  const beginnings = [...names].filter((name) => name.length >= PREFIX_MIN && !isUuid(name));
  const given = withRedacted(projects, { home, extra: redact.extra }).map((project) =>
    placeTest(project, home),
  );
  const placeTests = [...given, ...movedTests(given, repositories)];
  const hasId = (id: string | undefined) =>
    id !== undefined &&
    // only these ids are ever shortened: another may well be a prefix of the next one
    (names.has(id) || (isUuid(id) && beginnings.some((beginning) => id.startsWith(beginning))));
  return {
    hasSession({ id, parentId, name, cwd, project }) {
      if (names.size + placeTests.length === 0) return false;
      if ([id, ...sharedIds(id), parentId].some((each) => hasId(each?.toLowerCase()))) return true;
      if (name !== undefined && names.has(name.toLowerCase())) return true;
      const places = [cwd, project].filter((place) => place !== undefined);
      return placeTests.some((isOfProject) => places.some(isOfProject));
    },
    needsProject: projects.length > 0,
    needsNames: [...names].some((name) => !isUuid(name)),
  };
}

/** Returns tests for the other paths of repositories that an entry keeps out: it holds where a folder was moved. */
function movedTests(
  given: readonly ((place: string) => boolean)[],
  repositories: string | undefined,
): ((place: string) => boolean)[] {
  if (given.length === 0 || repositories === undefined) return [];
  const known = readRepositories(repositories);
  const isGiven = (top: string) => given.some((isOfProject) => isOfProject(top));
  const out = [...known].flatMap(([top, there]) => (isGiven(top) ? there.slice(-1) : []));
  const tops = out.flatMap((repository) => findTops(repository, known)).filter((top) => !isGiven(top));
  return [...new Set(tops)].map((top) => (place) => place === top || place.startsWith(top + sep));
}

/** Returns the ids that a shared session, `alice@desk:<parent>/<id>`, has on the machine it is from. */
function sharedIds(id: string): string[] {
  return /^[^@\s]+@[^:\s]+:(.+)$/.exec(id)?.[1]?.split("/") ?? [];
}

/** Returns excluded projects with their redacted paths, under which stores of ours have them. */
function withRedacted(
  projects: readonly string[],
  { home, extra }: { home: string; extra: readonly string[] },
): string[] {
  if (projects.length === 0) return [];
  const clean = redactor(extra);
  const given = projects.map((project) => expandHome(project, home));
  // a name reduced to its mark would fit every other
  const redacted = given.map((path) => clean(path)).filter((path) => !/^\[redacted:[^\]]*\]$/.test(path));
  return [...new Set([...given, ...redacted])];
}

/**
 * Returns a test for places of a project, named by its directory or one above it, with `~` for the user's home, or
 * by the directory's last part; `*` stands for any characters, as in `share.projects`.
 */
function placeTest(project: string, home: string): (place: string) => boolean {
  const path = expandHome(project, home);
  const isName = !path.includes("/") && !path.includes(sep);
  const source = wildcardSource(isName ? path : path.replace(/[/\\]+$/, ""));
  if (!isName) {
    const pattern = new RegExp(`^${source}(?:[/\\\\]|$)`, "s");
    return (place) => pattern.test(place);
  }
  const pattern = new RegExp(`^${source}$`, "is");
  return (place) => pattern.test(folderName(place));
}
