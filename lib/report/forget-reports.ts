/** Finds the pages about what is forgotten: those in the state folder, and those recorded as ours elsewhere. */

import { join } from "node:path";
import { fileStem, namesIn, readIfExists } from "../base/files.ts";
import { type ForgetIn, type Forgetting, isForgotten } from "../store/forgetting.ts";
import { forgetFiles, writtenFiles } from "../store/written-files.ts";
import { sessionOfPage, unescapeHtml } from "./html.ts";

/** The ending of every page. */
const PAGE_SUFFIX = ".html";

/** Removes the pages that are ours, and returns them and those that somebody changed since. */
export function forgetReports(
  forgetting: Forgetting,
  options: ForgetIn,
): { ours: string[]; others: string[] } {
  const { paths } = options;
  const own = namesIn(paths.reports).map((name) => join(paths.reports, name));
  const written = writtenFiles(paths).map(({ path }) => path);
  const pages = [...new Set([...own, ...written])].filter((file) => file.endsWith(PAGE_SUFFIX)).sort();
  return forgetFiles(
    pages.filter((file) => isMeant(file, forgetting)),
    options,
  );
}

function isMeant(file: string, forgetting: Forgetting): boolean {
  const html = readIfExists(file);
  const id = html === undefined ? undefined : sessionOfPage(html);
  if (html === undefined || id === undefined) return false;
  if (id !== "" || !("ids" in forgetting)) return isForgotten(forgetting, id, [unescapeHtml(html)]);
  return [...forgetting.ids].some((each) => html.includes(`href="${pageLink(each)}"`));
}

/** Returns the file name of a session's page. */
export function pageName(sessionId: string): string {
  return `${fileStem(sessionId)}${PAGE_SUFFIX}`;
}

/** Returns the address of a session's page in an overview beside it. */
export function pageLink(sessionId: string): string {
  return encodeURI(pageName(sessionId));
}
