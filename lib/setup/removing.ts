/** Removes everything of ours from hosts and other folders, and says what stays. */

import { existsSync, lstatSync, readlinkSync, rmSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { readJson } from "../base/files.ts";
import { recordOf } from "../base/json.ts";
import { counted } from "../base/text.ts";
import type { Config, PathsWithRules } from "../config/config.ts";
import { isHostModel, setHostAsModel } from "../hosts/asked-host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { metaFolders } from "../sessions/meta.ts";
import { publishedAt } from "../share/share-state.ts";
import { isAsWritten, isInState, writtenFiles } from "../store/state.ts";
import { hostFiles, isSkillPage, placeOf, realPlace, removeFiles } from "./host-files.ts";
import { settingsToRemove } from "./host-settings.ts";
import { commandSteps, formatList, type Setup } from "./step.ts";

/** Shows what is to be removed and what stays, and removes it where that is allowed. */
export async function uninstall(setup: Setup): Promise<void> {
  const { paths, values, say, note, confirm, report } = setup;
  const { own, changed, exported } = writtenElsewhere(paths);
  const removed = [...own, ...installedProgram(setup.env)];
  const files = byFolder(removed).map(([line, these]) => ({ line, run: () => removeAll(paths, these) }));
  const isModel = isHostModel(recordOf(readJson(paths.config)).llm);
  const model = { line: `"llm" in ${paths.config}`, run: () => setHostAsModel(paths.config, false) };
  const settings = HOSTS.flatMap((host) => settingsToRemove(host, paths));
  const commands = commandSteps(setup);
  const removals = [...files, ...(isModel ? [model] : []), ...settings];
  const steps = [...commands, ...removals];
  const linesOf = (these: readonly { line: string }[]) => these.map(({ line }) => line);
  if (steps.length === 0) say("nothing to remove: no agent found here has session-memory");
  say(...formatList("To run:", linesOf(commands)), ...formatList("To remove:", linesOf(removals)));
  say(...whatStays(paths, { changed, exported }));
  if (steps.length === 0) return;
  if (!values.yes && !(await confirm("Remove?"))) return note("nothing was changed: run it again with --yes");
  for (const { run } of steps) await run();
  say("removed");
  Object.assign(report, { removed, keptFiles: [...changed, ...exported] });
}

function removeAll(paths: PathsWithRules, files: readonly string[]): void {
  removeFiles(paths, files);
  for (const path of files) rmSync(path, { recursive: true, force: true });
}

/** Names several files of one folder, or skill pages of one folder of skills, by the folder. */
function byFolder(files: readonly string[]): [line: string, files: string[]][] {
  return [...Map.groupBy(files, placeOf)].flatMap(([folder, own]) => {
    if (own.length < 2) return own.map((file) => [file, [file]]);
    const what = own.every(isSkillPage) ? "skill page" : "file";
    return [[`${folder}: ${counted(own.length, what)}`, own]];
  });
}

/** The files outside the state folder that are recorded as ours. */
interface Written {
  /** The files that we installed, or wrote into a host's own place, unchanged. */
  own: string[];
  /** The same, changed since. */
  changed: string[];
  /** Notes and pages that the user had written: theirs. */
  exported: string[];
}

function writtenElsewhere(paths: PathsWithRules): Written {
  const metas = metaFolders(paths).map(realPlace);
  const files = new Set(HOSTS.flatMap((host) => hostFiles(host, paths)).map(({ file }) => realPlace(file)));
  const written: Written = { own: [], changed: [], exported: [] };
  for (const { path, sessionId } of writtenFiles(paths)) {
    if (!existsSync(path) || isInState(path, paths)) continue;
    const isPage = sessionId === "" && (basename(path) === "SKILL.md" || files.has(path));
    const isInstalled = isPage || metas.includes(dirname(path));
    const kind = isAsWritten(paths, path) ? "own" : "changed";
    written[isInstalled ? kind : "exported"].push(path);
  }
  return written;
}

/** Returns what `npm start` installed: the package, its Bun, and the link to them. */
export function installedProgram(env: Config["env"]): string[] {
  const folder = installFolder(env);
  const link = join(env.HOME ?? "", ".local", "bin", "session-memory");
  const isOurs =
    lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() &&
    readlinkSync(link).startsWith(`${folder}/`);
  const isInstalled = ["package", "runtime"].some((name) => existsSync(join(folder, name)));
  return [...(isInstalled ? [folder] : []), ...(isOurs ? [link] : [])];
}

function installFolder({ XDG_DATA_HOME = "", HOME = "" }: Config["env"]): string {
  return join(isAbsolute(XDG_DATA_HOME) ? XDG_DATA_HOME : join(HOME, ".local", "share"), "session-memory");
}

/** Lists what the user may delete, or take back, by hand; docs/uninstalling.md names the rest. */
function whatStays(paths: PathsWithRules, { changed, exported }: Omit<Written, "own">): string[] {
  const folders = [...Map.groupBy(exported, (file) => dirname(file))];
  const left = HOSTS.toReversed().flatMap(({ home, leftIn }) => leftIn?.(paths.expand(home), paths) ?? []);
  const hub = publishedAt(paths);
  return formatList("What stays:", [
    ...(existsSync(paths.home) ? [`${paths.home}: index, names, notes, observations and config.json`] : []),
    ...changed.map((file) => `${file}: changed since we wrote it`),
    ...folders.map(
      ([folder, { length }]) => `${folder}: ${counted(length, "note or page", "notes and pages")} of yours`,
    ),
    ...(hub ? [`what was shared at ${hub}: before you delete anything, session-memory share --leave`] : []),
    ...left,
  ]);
}
