/**
 * Reads what others who share this project have done lately from a small file that each pull writes beside the replica: a
 * prompt must not wait for a database.
 */

import { resolve } from "node:path";
import { readJson } from "../base/files.ts";
import { arrayOf, isRecord } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { projectDirectories, readOrigin } from "../sessions/project.ts";
import type { Agent, Session } from "../transcripts/session.ts";
import type { Advance } from "./cursors.ts";
import type { Activity } from "./digest.ts";
import { FIRST_LOOK_MS, type Marks, sharedNewsFile } from "./look.ts";

/** The activity of a shared session within the last hour. */
export interface SharedNews {
  /** `alice@desk:<id>` */
  id: string;
  name: string | null;
  agent: string;
  /** The origin of its repository. */
  project: string;
  /** Time of the last message. */
  latest: string;
  /** Messages in all: more than were seen are news. */
  messages: number;
  firstUser: string | null;
  lastAssistant: string | null;
  /** From the top of the repository. */
  edited: string[];
  read: string[];
  ran: number;
}

/** News as a digest shows it, with the mark to set once it is seen. */
export interface SeenNews {
  session: Session;
  activity: Activity;
  edited: string[];
  latest: string;
  advance: Advance;
}

export interface SharedLook {
  now: number;
  marks: Marks | undefined;
  /** Returns whether a session is excluded. */
  isOut: (session: Pick<SharedNews, "id" | "name" | "project">) => boolean;
  /** Redacts a text, and cuts it to one line of at most `max` characters. */
  show: (text: string, max: number) => string;
}

const TEXT_MAX = 100; // as of own sessions
const NAME_MAX = 60; // as of own sessions
const PATH_MAX = 120; // as of own sessions

/** Reads what is new since the marks; at the first look, what is newer than an hour. */
export function readSharedNews(
  { paths, cwd, scope }: { paths: Pick<Paths, "home">; cwd: string; scope: "project" | "all" },
  look: SharedLook,
): SeenNews[] {
  const top = projectDirectories(cwd)[0] ?? cwd;
  const origin = readOrigin(cwd);
  return arrayOf(readJson(sharedNewsFile(paths)))
    .filter(isSharedNews)
    .filter(({ project }) => scope === "all" || project === origin)
    .filter((news) => isNews(news, look) && !look.isOut(news))
    .map((news) => toSeen(news, look, top));
}

function isNews({ id, messages, latest }: SharedNews, { marks, now }: SharedLook): boolean {
  if (Date.parse(latest) < now - FIRST_LOOK_MS) return false;
  const seen = marks?.get(id)?.offset ?? 0;
  return messages > seen;
}

function toSeen(news: SharedNews, { marks, now, show }: SharedLook, top: string): SeenNews {
  const { id, name, agent, latest, messages, firstUser, lastAssistant, edited, read, ran } = news;
  const [from = "", rest = id] = /^([^:]*):(.*)$/.exec(id)?.slice(1) ?? [];
  const shown = (text: string | null) => (text === null ? undefined : show(text, TEXT_MAX));
  const session = { id, agent: agent as Agent, name: name ?? undefined, file: "", size: 0 };
  return {
    session: { ...session, updatedAt: latest, modifiedAt: latest },
    activity: {
      id,
      name: show(name === null ? `${from}:${rest.slice(0, 8)}` : `${name} (${from})`, NAME_MAX),
      ageSeconds: Math.max(0, Math.floor((now - Date.parse(latest)) / 1000)),
      messages: messages - (marks?.get(id)?.offset ?? 0),
      firstUser: shown(firstUser),
      lastAssistant: shown(lastAssistant),
      edited: edited.map((path) => show(path, PATH_MAX)),
      read: read.map((path) => show(path, PATH_MAX)),
      ran,
    },
    edited: edited.map((path) => resolve(top, path)),
    latest,
    advance: { id, file: "", mark: { offset: messages, fingerprint: "shared" } },
  };
}

function isSharedNews(value: unknown): value is SharedNews {
  if (!isRecord(value)) return false;
  const { id, name, agent, project, latest, messages, firstUser, lastAssistant, edited, read, ran } = value;
  const isText = (text: unknown) => typeof text === "string";
  const isTexts = (texts: unknown) => Array.isArray(texts) && texts.every(isText);
  return (
    [id, agent, project, latest].every(isText) &&
    [name, firstUser, lastAssistant].every((text) => text === null || isText(text)) &&
    [messages, ran].every((count) => Number.isSafeInteger(count)) &&
    [edited, read].every(isTexts)
  );
}
