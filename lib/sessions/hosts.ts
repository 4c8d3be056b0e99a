/** Hands out what rooms above ask of the table of hosts: their names, folders and stores, and the session that calls. */

import type { Paths } from "../config/config.ts";
import { findHost, HOSTS } from "../hosts/hosts.ts";

export { folderNames, hostName, observingHost, resumeNote } from "../hosts/hosts.ts";
export { AGENTS, callingSession } from "../hosts/table.ts";

/** Returns the folder of each host. */
export function hostFolders(paths: Pick<Paths, "expand">): string[] {
  return HOSTS.map(({ home }) => paths.expand(home));
}

/** Returns what people call the host of an agent's sessions if it keeps them in a store of its own. */
export function storingHost(agent: string | undefined): string | undefined {
  const host = findHost(agent);
  return host?.store && host.name;
}
