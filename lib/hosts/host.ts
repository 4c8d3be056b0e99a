/**
 * A host is a line of the table (table.ts), which says where its sessions are, and a file, which says how their rows are read and
 * its other facts. A host that keeps sessions in something other than files of lines has a store, from which they are copied.
 */

import { join, posix, win32 } from "node:path";
import type { Finding } from "../base/findings.ts";
import { isRecord, type JsonRecord } from "../base/json.ts";
import { ROOT } from "../base/runtime.ts";
import type { Paths } from "../config/config.ts";
import type { Format } from "./format.ts";
import type { Session } from "./session.ts";
import type { HostStore } from "./store.ts";

/** A host: where its sessions are, how its rows are read, and what else is known of it. */
export interface Host extends HostLine, HostFile {}

/**
 * A moment of a session at which a host calls us: it starts or is gone on with, a prompt comes, a command failed, a compaction
 * begins (our words then go to the writer of its summary) or is over, a turn or the session is over.
 */
export type Moment = "start" | "resume" | "prompt" | "failure" | "summary" | "compaction" | "turn" | "end";

export interface HostLine {
  /** Its name in `--agent` and in the index. */
  agent: string;
  /** The folder of its state: `~` is the user's home, and a variable may name another place. */
  home: string;
  /** Its transcripts, and those of subagents. @default none: its sessions are in a store */
  transcripts?: readonly (TranscriptPattern | string)[];
  /** File names that no other host gives, the session's id in the first group. */
  names?: RegExp;
  /** True if it compresses sessions that are over. @default {false} */
  compresses?: true;
  /** The start of subagents' ids. @default as any other */
  subagents?: string;
  /** The start of the names of files that repeat a session. */
  logs?: string;
  /** The form of a directory at the start of the name of its sessions' folder. @default as in Claude Code */
  folderBegin?: (directory: string) => string;
  /** The folder for its transcripts in a `.volute` folder; `names`: that folder names sessions in the host's own. */
  volute?: { folder: string } | "names";
  /** The variable that tells the commands of a session whose they are; opencode's is set by our plugin. */
  idVariable?: string;
  /** The moments at which it hears us, or we work. @default those of the hooks that set-up writes */
  moments?: readonly Moment[];
  /** A row of its transcripts that a compaction leaves, for a host that calls us at none. */
  compacted?: RegExp;
  load: () => Promise<{ host: HostFile }>;
}

/**
 * Transcripts by their path below the host's `home`: `<id>` is the session's, `<parent>` its parent's, `<cwd>` begins as its
 * directory does, `<subagent>` is an id like those of subagents, `<child>` what a parent alone calls one of its own, `<name>` one
 * of the host's `names`, `<day>` three folders or, for `recent`, the folders of the last month; `*` is any name, `**` any
 * number of folders.
 */
export interface TranscriptPattern {
  path: string;
  /** The folder that it is below, if that is not the host's home; undefined where the user has none. */
  under?: (paths: Paths) => string | undefined;
  /** File names with an id in the first group, or the names of `<child>`. @default the host's */
  names?: RegExp;
  /** A file that holds the same and more: one is left out that has it beside it. */
  unless?: string;
  /** True if sessions there are over, so that `recent` skips them. @default {false} */
  isOver?: true;
}

/** The facts in the file of a host. */
export interface HostFile extends Format {
  /** Its name for people. */
  name: string;
  /** The program, as it is called. */
  program: string;
  /** The command that resumes a session, with `<id>` or `<file>`. */
  resume: string;
  /** A remark for whoever resumes it. */
  resumeNote?: string;
  /** True if the id is in the file's name alone. @default {false}, its rows have it */
  isNamedById?: true;
  /** True if extensions put other files into its folders, so that a file may be something else. @default {false} */
  hasOtherFiles?: true;
  /** Returns the name of the folder of a directory's sessions, where those stay that move on to another directory. */
  folderName?: (directory: string) => string;
  /** The folder below `home` that the meta files of its sessions are in. @default ours */
  metas?: string;
  /** The tools that our extension registers in it. */
  ownTools?: readonly string[];
  /** The hooks by which it calls us. */
  hooks?: Hooks;
  /** The folder in which it looks for skills, for a host without a plugin of ours. */
  skills?: string;
  /** The folder in which it looks for a plugin, for a host that `hooks/<agent>/` serves in place of hooks. */
  plugin?: string;
  /** Its own commands that install us, or bring us up to date, and that undo it. */
  wired?: (home: string) => { install: string[][]; remove: string[][] };
  /** A sentence for its user, once it has us: what to do in it, or to wait for. */
  afterwards?: string;
  /** The file below `home` that can name a command whose line it shows. */
  statusLine?: string;
  /** Returns what stays of us where it is taken out of a host. */
  leftIn?: (home: string, paths: Paths) => string[];
  /** True if the model of a session observes it, without any setting. @default {false} */
  observesItself?: true;
  /** The setting that says after how many days without a change it deletes a transcript, and its own default. */
  retention?: { settings: string; key: string; days: number };
  /** The folder of outputs that are too long for a row, in the one that is called as the transcript is. */
  outputs?: string;
  /** Its databases or documents, whose sessions are copied into a folder of ours by the host's name. */
  store?: StoredElsewhere;
  /** Its file of all prompts, which outlives transcripts: copies of its prompts stand in for transcripts that are gone. */
  prompts?: StoredElsewhere;
  /** The places of sessions in a newer form that is not read yet, so that health can say so. */
  unreadPlaces?: readonly string[];
  /** Finds what is wrong with its transcripts, or what its next start may do to them. */
  check?: (files: readonly string[]) => Iterable<Finding>;
  /** Makes its rows the rows of a new session, for a host that resumes a session put there. */
  restorer?: Restorer;
}

interface Hooks {
  /** The file below `home` that names us where they are installed. */
  installedIn: string;
  /** A step of a person that they may wait for. @default to switch them on */
  remedy?: string;
  /** True if it shows a person what a hook says to them. @default {false} */
  showsPerson?: true;
  /** The entry that set-up writes into that file, for a host without a command that installs us. */
  written?: WrittenHooks;
}

/** Hooks in a host's settings, in the form of Claude Code's. */
export interface WrittenHooks {
  /** Its events by their names. */
  events: Readonly<Record<string, HookEvent>>;
  /** One second in the unit of its time limits. */
  second: 1 | 1000;
  /** The frame around `hooks` in a file that is ours alone. @default the host's own settings */
  ownFile?: Readonly<Record<string, unknown>>;
  /** True if the text for the model stands in the answer itself too. @default {false} */
  saysAtTop?: true;
}

interface HookEvent {
  /** The calls of tools that it is for. @default all */
  matcher?: string;
  /** The moment that it is, by the source that it names where it is several. */
  moment: Moment | Readonly<Record<string, Moment>>;
}

/** Files below a host's `home` that its sessions are copied from, `*` any name in their path. */
interface StoredElsewhere extends HostStore {
  files: string;
}

/** The facts of a session that a host needs in another place. */
export interface RestoreTarget {
  id: string;
  /** The folder to go on in. */
  folder: string;
  /** The folder that the session began in. */
  from: string | undefined;
  origin: Pick<Session, "id" | "file">;
  at: string;
}

/** Makes a host's rows the rows of a new session, without the parts that belong to one run of the client. */
export interface Restorer {
  /** True if it goes on with a session only while the folder is there that it began in. */
  needsFolder: boolean;
  place(home: string, target: RestoreTarget, host: Pick<Paths, "expand"> & HostLine): string;
  /** The rows before all others; one of them names their origin. */
  begin(target: RestoreTarget): JsonRecord[];
  /** The row as one of the new session; undefined where the host has no use for it. */
  row(record: JsonRecord, target: RestoreTarget): JsonRecord | undefined;
}

/** The text in place of an image, which is in no copy. */
const IMAGE = { type: "text", text: "[image]" };

/** Returns a message's content without thoughts, with a word in place of each image; undefined for none. */
export function keepContent(content: unknown): string | unknown[] | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  return content.map((block) => {
    if (!isRecord(block)) return block;
    if (block.type === "image") return IMAGE;
    if (block.type === "input_image") return { type: "input_text", text: IMAGE.text };
    return Array.isArray(block.content) ? { ...block, content: keepContent(block.content) } : block;
  });
}

/** Returns a directory of the session as one of the new folder; one outside the old folder stays. */
export function moved(cwd: unknown, { from, folder }: RestoreTarget): unknown {
  if (typeof cwd !== "string" || from === undefined) return folder;
  const { relative, isAbsolute, sep } = posix.isAbsolute(from) ? posix : win32;
  const below = relative(from, cwd);
  const [first, ...rest] = below.split(sep);
  // absolute: there is no way from one drive to another
  return first === ".." || isAbsolute(below) ? cwd : join(folder, first ?? "", ...rest);
}

/** Words of the commands by which hosts take us as a plugin, from the folder that this package lies in. */
export const PLUGIN = "session-memory@session-memory";
const ADD_MARKETPLACE = ["plugin", "marketplace", "add", ROOT];
const REMOVE_MARKETPLACE = ["plugin", "marketplace", "remove", "session-memory"];

interface PluginState {
  isInstalled: boolean;
  /** True if our marketplace is known to it, and if that is another folder than this. */
  isKnown: boolean;
  isOther?: boolean;
  /** True if it has this plugin as it is now. */
  isHere: boolean;
}

/** Returns the commands that install us as a plugin and that undo it, by the host's words for the two. */
export function pluginCommands(
  { isInstalled, isKnown, isOther = false, isHere }: PluginState,
  [install, remove]: [install: string, remove: string],
) {
  const forget = (isThere: boolean) => (isThere ? [REMOVE_MARKETPLACE] : []);
  return {
    install: isHere ? [] : [...forget(isOther), ADD_MARKETPLACE, ["plugin", install, PLUGIN]],
    remove: [...(isInstalled ? [["plugin", remove, PLUGIN]] : []), ...forget(isKnown)],
  };
}
