/** Measures how far sharing is behind, and previews what would be sent, from local notes without the hub. */

import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { currentExclude } from "../sessions/unlisted.ts";
import { hasReplica } from "../store/replica.ts";
import { withExistingState, withState } from "../store/state.ts";
import { openStore } from "../store/store.ts";
import { readExclusion } from "../transcripts/rules.ts";
import { hubAddress } from "./hub-address.ts";
import { localSessions } from "./local-sessions.ts";
import { outgoing } from "./outgoing.ts";
import { dueSessions } from "./publishing.ts";
import { openReplica, readShared, type SharedSession } from "./replica.ts";
import { shareConfig } from "./share.ts";
import { keyOf, ownMachine, readPublished, readShareFact } from "./share-state.ts";
import { sharedProject } from "./shared-projects.ts";

export interface ShareStatus {
  /** Host, port and database; null where the URL is not at hand. */
  hub: string | null;
  machine: string;
  projects: ProjectStatus[];
  lastPublish: string | null;
  lastPull: string | null;
  /** The reason that the last run failed. */
  error?: string;
}

interface ProjectStatus {
  /** As `share.projects` names it. */
  project: string;
  audience: string;
  /** Own sessions at the hub. */
  published: number;
  /** Others' sessions here. */
  pulled: number;
  /** Sessions to be sent or read. */
  behind: number;
}

type Known = Pick<Config, "env" | "paths" | "settings">;

/** Reads what is shared with whom and how far behind it is; undefined where nothing is shared. */
export function shareStatus(config: Known): ShareStatus | undefined {
  const share = shareConfig(config);
  if (!share) return undefined;
  const patternOf = (project: string) => sharedProject(project, share.projects)?.pattern;
  const sent = ownPatterns(config);
  const theirs = withReplica(config, readShared) ?? [];
  const isHeld = ({ heldSeq }: SharedSession) => heldSeq > 0;
  const facts = readFacts(config);
  return {
    hub: hubLabel(config, share.urlEnv),
    machine: ownMachine(share),
    projects: Object.entries(share.projects).map(([project, audience]) => {
      const pulled = theirs.filter((session) => isHeld(session) && patternOf(session.project) === project);
      return {
        project,
        audience,
        published: sent.published.filter((pattern) => pattern === project).length,
        pulled: pulled.length,
        behind:
          sent.due.filter((pattern) => pattern === project).length +
          pulled.filter(({ heldSeq, seq }) => heldSeq < seq).length,
      };
    }),
    lastPublish: facts.lastPublish ?? null,
    lastPull: facts.lastPull ?? null,
    ...(facts.error === undefined ? {} : { error: facts.error }),
  };
}

function hubLabel(config: Known, variable: string): string | null {
  try {
    return hubAddress(variable, config).label;
  } catch {
    return null; // not set, or not usable: a run says why
  }
}

function ownPatterns(config: Known): { published: (string | undefined)[]; due: (string | undefined)[] } {
  const { paths, settings } = config;
  if (!existsSync(paths.database)) return { published: [], due: [] };
  const exclusion = readExclusion(currentExclude(paths, settings.exclude));
  const store = openStore(paths.database);
  try {
    return withState(paths, (state) => {
      const notes = readPublished(state);
      const sessions = localSessions(store, { config, exclusion });
      return {
        published: sessions.filter((session) => notes.has(keyOf(session))).map(({ pattern }) => pattern),
        due: sessions
          .filter((session) => notes.get(keyOf(session))?.signature !== session.signature)
          .map(({ pattern }) => pattern),
      };
    });
  } finally {
    store.close();
  }
}

function readFacts({ paths }: Known) {
  const facts = withExistingState(paths, (state) => ({
    lastPublish: readShareFact(state, "last_publish"),
    lastPull: readShareFact(state, "last_pull"),
    error: readShareFact(state, "error"),
  }));
  return facts ?? { lastPublish: undefined, lastPull: undefined, error: undefined };
}

function withReplica<T>(
  { paths }: Known,
  work: (replica: ReturnType<typeof openReplica>) => T,
): T | undefined {
  if (!hasReplica(paths)) return undefined;
  const replica = openReplica(paths);
  try {
    return work(replica);
  } finally {
    replica.close();
  }
}

export interface PublishPreview {
  sessions: number;
  chunks: number;
  bytes: number;
  projects: { project: string; audience: string; sessions: number; chunks: number; bytes: number }[];
  /** First lines of some of what would be sent, as it would be sent. */
  samples: string[];
}

const SAMPLES = 8;
const SAMPLE_CHARS = 160;

/** Previews what a run would send, made as a run makes it. */
export function previewPublish(config: Config): PublishPreview {
  const { paths, settings } = config;
  const exclusion = readExclusion(currentExclude(paths, settings.exclude));
  const store = openStore(paths.database);
  try {
    const due = withState(paths, (state) => dueSessions(store, { state, config, exclusion }));
    const prepare = outgoing({ config, exclusion });
    const projects = new Map<string, PublishPreview["projects"][number]>();
    const samples: string[] = [];
    for (const session of due) {
      const { chunks, name, meta, observations } = prepare(store, session);
      const { project, audience } = session;
      const sum = projects.get(project) ?? { project, audience, sessions: 0, chunks: 0, bytes: 0 };
      sum.sessions++;
      sum.chunks += chunks.length;
      sum.bytes += Buffer.byteLength(JSON.stringify([chunks, name, meta, observations]));
      projects.set(project, sum);
      const line = chunks[0]?.content.split("\n")[0];
      if (line !== undefined && samples.length < SAMPLES) {
        samples.push(`${session.hostId.slice(0, 8)} ${line}`.slice(0, SAMPLE_CHARS));
      }
    }
    const all = [...projects.values()];
    const total = (key: "sessions" | "chunks" | "bytes") =>
      all.reduce((sum, project) => sum + project[key], 0);
    return {
      sessions: total("sessions"),
      chunks: total("chunks"),
      bytes: total("bytes"),
      projects: all,
      samples,
    };
  } finally {
    store.close();
  }
}
