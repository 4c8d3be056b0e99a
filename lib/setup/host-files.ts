/** Files of ours in the folders of hosts: skill pages, the line that loads our plugin, and hooks in a file of their own. */

import { existsSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { readText, resolveRealPath } from "../base/files.ts";
import { ROOT } from "../base/runtime.ts";
import type { Paths, PathsWithRules } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { isAsWritten, removeWritten, writtenFiles } from "../store/state.ts";
import { ownHookFile } from "./host-settings.ts";
import { skillPages } from "./skill-pages.ts";

/** A file of ours in a folder of a host. */
interface HostFile {
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

/** Returns every file of ours that belongs into a host's folders: the plugin's does no more than load what comes with the package. */
export function hostFiles(host: Host, paths: Paths): HostFile[] {
  const { agent, plugin } = host;
  const folder = host.skills && paths.expand(host.skills);
  const pages = folder === undefined ? [] : skillPages(host, folder);
  const place = join(ROOT, "hooks", agent, "session-memory.js");
  const line = `export { SessionMemory } from ${JSON.stringify(place)};\n`;
  return [
    ...pages.map(({ path, text }) => ({ file: join(folder ?? "", path), text })),
    ...(plugin === undefined ? [] : [{ file: paths.expand(plugin), text: line }]),
    ...(ownHookFile(host, paths) ?? []),
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

/** Returns the folder that files of ours are named by: of a skill page, the folder of skills. */
export function placeOf(file: string): string {
  return isSkillPage(file) ? dirname(dirname(file)) : dirname(file);
}

/** Returns whether a file of ours is a skill page: the others are hooks and plugins. */
export function isSkillPage(file: string): boolean {
  return file.endsWith(".md");
}

/** Removes files of ours, and the folders that nothing is in without them: its own, and a host's folder of skill pages. */
export function removeFiles(paths: PathsWithRules, files: readonly string[]): void {
  removeWritten(paths, files);
  for (const file of files) {
    try {
      rmdirSync(dirname(file));
      if (isSkillPage(file)) rmdirSync(placeOf(file));
    } catch {
      // gone, or something else is in it
    }
  }
}
