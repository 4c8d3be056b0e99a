/** Files of ours in the folders of hosts: skill pages, the line that loads our plugin, and hooks in a file of their own. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { readText, resolveRealPath } from "../base/files.ts";
import { ROOT } from "../base/runtime.ts";
import type { Paths } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { isAsWritten, writtenFiles } from "../store/state.ts";
import { ownHookFile } from "./host-hooks.ts";
import { skillPages } from "./skill-pages.ts";

/** A file of ours in a folder of a host. */
export interface HostFile {
  /** The name of the host. */
  host: string;
  file: string;
  text: string;
}

/** Returns the files that a host's folders lack, or have as we wrote them before; none that somebody changed. */
export function filesToWrite(host: Host, paths: Paths): HostFile[] {
  return hostFiles(host, paths).filter(({ file, text }) => {
    const isOurs = !existsSync(file) || isAsWritten(paths, file);
    return isOurs && readText(file) !== text;
  });
}

/** Returns every file of ours that belongs into a host's folders. */
export function hostFiles(host: Host, paths: Paths): HostFile[] {
  const hooks = ownHookFile(host, paths);
  return [
    ...pagesIn(host, paths),
    ...findPlugin(host, paths),
    ...(hooks === undefined ? [] : [{ host: host.name, ...hooks }]),
  ];
}

/** Returns pages in a host's folder of skills that we wrote before, and write no more. */
export function outdatedPages(host: Host, paths: Paths): string[] {
  if (host.skills === undefined) return [];
  const folder = realPlace(paths.expand(host.skills));
  const wanted = new Set(hostFiles(host, paths).map(({ file }) => realPlace(file)));
  return writtenFiles(paths).flatMap(({ path, sessionId }) => {
    const isPage = sessionId === "" && path.startsWith(join(folder, "/")) && !wanted.has(path);
    return isPage && isAsWritten(paths, path) ? path : [];
  });
}

/** Returns a path as it is recorded once it is written, whatever links lead to it. */
export function realPlace(path: string): string {
  return resolveRealPath(path) ?? path;
}

function pagesIn(host: Host, paths: Paths): HostFile[] {
  if (host.skills === undefined) return [];
  const folder = paths.expand(host.skills);
  return skillPages(host, folder).map(({ path, text }) => ({
    host: host.name,
    file: join(folder, path),
    text,
  }));
}

/** Returns the line by which a host finds our plugin: what it does comes with the package, and goes with it. */
function findPlugin({ name, agent, plugin }: Host, paths: Paths): HostFile[] {
  if (plugin === undefined) return [];
  const place = join(ROOT, "hooks", agent, "session-memory.js");
  const text = `export { SessionMemory } from ${JSON.stringify(place)};\n`;
  return [{ host: name, file: paths.expand(plugin), text }];
}
