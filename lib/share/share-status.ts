/** Measures how far sharing is behind, and previews what would be sent, from local notes without the hub. */

import type { Config } from "../config/config.ts";
import { currentExclude } from "../config/config.ts";
import { withExistingState, withState } from "../store/state.ts";
import { withExistingStore } from "../store/store.ts";
import { readExclusion } from "../transcripts/rules.ts";
import { hubAddress } from "./hub.ts";
import { type LocalSession, localSessions, outgoing } from "./outgoing.ts";
import { dueSessions } from "./publishing.ts";
import { readShared, withReplica } from "./replica.ts";
import { shareConfig } from "./share.ts";
import { keyOf, ownMachine, readPublished, readShareFact, sharedProject } from "./share-state.ts";

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
  const theirs = (withReplica(config.paths, readShared) ?? []).filter(({ heldSeq }) => heldSeq > 0);
  const names = ["last_publish", "last_pull", "error"] as const;
  const [lastPublish, lastPull, error] =
    withExistingState(config.paths, (state) => names.map((name) => readShareFact(state, name))) ?? [];
  return {
    hub: hubLabel(config, share.urlEnv),
    machine: ownMachine(share),
    projects: Object.entries(share.projects).map(([project, audience]) => {
      const pulled = theirs.filter((session) => patternOf(session.project) === project);
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
    lastPublish: lastPublish ?? null,
    lastPull: lastPull ?? null,
    ...(error === undefined ? {} : { error }),
  };
}

function hubLabel(config: Known, variable: string): string | null {
  try {
    return hubAddress(variable, config).label;
  } catch {
    return null; // not set, or not usable: a run says why
  }
}

function ownPatterns(config: Known): { published: string[]; due: string[] } {
  const { paths, settings } = config;
  const exclusion = readExclusion(currentExclude(paths, settings.exclude));
  const patterns = withExistingStore(paths.database, (store) => {
    const notes = withState(paths, readPublished);
    const sessions = localSessions(store, { config, exclusion });
    const isDue = (session: LocalSession) => notes.get(keyOf(session))?.signature !== session.signature;
    return {
      published: sessions.filter((session) => notes.has(keyOf(session))).map(({ pattern }) => pattern),
      due: sessions.filter(isDue).map(({ pattern }) => pattern),
    };
  });
  return patterns ?? { published: [], due: [] };
}

interface Sent {
  sessions: number;
  chunks: number;
  bytes: number;
}

export interface PublishPreview extends Sent {
  projects: (Sent & { project: string; audience: string })[];
  /** First lines of some of what would be sent, as it would be sent. */
  samples: string[];
}

const SAMPLES = 8; // a screen
const SAMPLE_CHARS = 160; // a line of a terminal or two

/** Previews what a run would send, made as a run makes it. */
export function previewPublish(config: Config): PublishPreview {
  const { paths, settings } = config;
  const exclusion = readExclusion(currentExclude(paths, settings.exclude));
  const preview: PublishPreview = { sessions: 0, chunks: 0, bytes: 0, projects: [], samples: [] };
  const prepare = outgoing({ config, exclusion });
  withExistingStore(paths.database, (store) => {
    for (const session of withState(paths, (state) => dueSessions(store, { state, config, exclusion }))) {
      const { chunks, name, meta, observations } = prepare(store, session);
      const bytes = Buffer.byteLength(JSON.stringify([chunks, name, meta, observations]));
      for (const sum of [preview, projectIn(preview, session)]) {
        sum.sessions++;
        sum.chunks += chunks.length;
        sum.bytes += bytes;
      }
      const line = chunks[0]?.content.split("\n")[0];
      if (line === undefined || preview.samples.length >= SAMPLES) continue;
      preview.samples.push(`${session.hostId.slice(0, 8)} ${line}`.slice(0, SAMPLE_CHARS));
    }
  });
  return preview;
}

function projectIn({ projects }: PublishPreview, { project, audience }: LocalSession): Sent {
  const known = projects.find((other) => other.project === project);
  if (known) return known;
  const sum = { project, audience, sessions: 0, chunks: 0, bytes: 0 };
  projects.push(sum);
  return sum;
}
