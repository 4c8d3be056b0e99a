/** Every host: its line of the table with what its file says of it. */

import { copiedFormat, type Format, type Head, plain } from "./format.ts";
import type { Host, Moment } from "./host.ts";
import type { Agent } from "./session.ts";
import { TABLE } from "./table.ts";

export const HOSTS: readonly Host[] = await Promise.all(
  TABLE.map(async (line) => ({ ...line, ...(await line.load()).host })),
);

const BY_NAME = new Map<string | undefined, Host>(HOSTS.map((host) => [host.agent, host]));

/** Returns a host by its name in `--agent`; undefined for `plain`, which is not a host. */
export function findHost(agent: string | undefined): Host | undefined {
  return BY_NAME.get(agent); // asked of every session and transcript there is
}

/** Returns how an agent's rows are read. */
export function findFormat(agent: Agent): Format {
  return findHost(agent) ?? plain;
}

/** Returns how the rows of a transcript are read, by its head: of a copy in our plain form otherwise than its host's. */
export function formatOf({ agent, isInPlainForm }: Head): Format {
  return isInPlainForm ? copiedFormat(agent) : findFormat(agent);
}

/** Returns the moments of a session at which a host hears us, or we work. */
export function listMoments({ moments, hooks }: Host): readonly Moment[] {
  const events = Object.values(hooks?.written?.events ?? {});
  const written = events.flatMap(({ moment }) =>
    typeof moment === "string" ? moment : Object.values(moment),
  );
  return moments ?? [...new Set(written)];
}

/** Returns what hosts call the folders of a directory's sessions. */
export function folderNames(directory: string): string[] {
  return HOSTS.flatMap(({ folderName }) => folderName?.(directory) ?? []);
}

/** Returns what to know before a session of a host is resumed. */
export function resumeNote(agent: string): string | undefined {
  return findHost(agent)?.resumeNote;
}

/** Returns what people call the host of a session. */
export function hostName(agent: string): string {
  return findHost(agent)?.name ?? agent;
}

/** Returns what people call the host in which a session's own model observes it, and answers questions and names it. */
export function observingHost(): string | undefined {
  return HOSTS.find(({ observesItself }) => observesItself)?.name;
}
