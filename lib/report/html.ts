/** Writes HTML as one file (no script, no request, every text escaped), and removes pages that hold what is forgotten. */

import { join } from "node:path";
import { fileStem, namesIn, readIfExists, remove } from "../base/files.ts";
import { sha256 } from "../base/text.ts";
import type { Paths } from "../config/config.ts";
import {
  type ForgetIn,
  type Forgetting,
  type Found,
  forgetFiles,
  isForgotten,
  writtenFiles,
} from "../store/state.ts";

/** HTML, as against text: only `escapeHtml` and what is written in this room makes any. */
export type Html = string;

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes a text for content and for quoted attributes. */
export function escapeHtml(text: string): Html {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

/** Takes `escapeHtml` back, to search a page for a text. */
function unescapeHtml(html: Html): string {
  return html.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => CHARACTERS.get(entity) ?? entity);
}

const CHARACTERS = new Map(Object.entries(ENTITIES).map(([character, entity]) => [entity, character]));

/** The mark of a page and its session, so that `forget` finds it. */
const GENERATOR = "session-memory";

interface PageOptions {
  title: string;
  /** The session's id; "" for an overview. */
  session: string;
  body: Html;
}

/** Returns a whole page. Its policy allows no request and no style but its own. */
export function htmlPage({ title, session, body }: PageOptions): Html {
  const hash = sha256().update(STYLE).digest("base64");
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="${GENERATOR}">
<meta name="session" content="${escapeHtml(session)}">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** Returns the id of the session that a page of ours is about, "" for an overview; undefined for any other file. */
function sessionOfPage(html: Html): string | undefined {
  const head = html.slice(0, 4096);
  if (!head.includes(`<meta name="generator" content="${GENERATOR}">`)) return undefined;
  const id = /<meta name="session" content="([^"]*)">/.exec(head)?.[1];
  return id === undefined ? undefined : unescapeHtml(id);
}

const STYLE = `
:root { --back: #fff; --text: #1c1e21; --dim: #666d75; --line: #dfe2e6; --soft: #f5f6f8; --user: #eaf2fe; --link: #0b5cad;
  --added: #e3f5e6; --removed: #fdeaea; --failed: #b42318; --marked: #fff3c4; }
@media (prefers-color-scheme: dark) { :root { --back: #16181b; --text: #e4e6e8; --dim: #9aa1a9; --line: #34383d;
  --soft: #1f2226; --user: #1b2a3d; --link: #7db5f5; --added: #173422; --removed: #402022; --failed: #ff8a80; --marked: #4a4017; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.55 system-ui, sans-serif;
  overflow-wrap: anywhere; }
header, main { max-width: 60rem; margin: 0 auto; padding: 1rem 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.1rem; margin: 1.75rem 0 .5rem; }
summary h2 { display: inline-block; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .75rem 0; }
dt, .dim, time, .place { color: var(--dim); } dd { margin: 0; }
ul { margin: 0; padding-left: 1.25rem; }
.contents { list-style: none; padding: 0; } .contents .part { padding-left: 1.25rem; color: var(--dim); }
article { border-top: 1px solid var(--line); padding: .6rem 0; scroll-margin-top: 1rem; }
article:target { background: var(--marked); box-shadow: -.6rem 0 var(--marked), .6rem 0 var(--marked); }
article.user { background: var(--user); padding: .6rem; border-radius: .4rem; border-top: 0; margin: .6rem 0; }
article.rewound { opacity: .6; }
.said { white-space: pre-wrap; }
.who { font-weight: 600; } .place, time { font-size: .8rem; margin-left: .5rem; }
pre, code { font: .85em/1.5 ui-monospace, monospace; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .3rem; padding: .5rem .7rem; margin: .4rem 0;
  white-space: pre-wrap; }
code { background: var(--soft); border-radius: .2rem; padding: 0 .2em; } pre code { padding: 0; }
summary { cursor: pointer; } .failed { color: var(--failed); font-weight: 600; }
ins, del { display: block; text-decoration: none; } ins { background: var(--added); } del { background: var(--removed); }
.sessions { list-style: none; padding: 0; } .sessions li { border-top: 1px solid var(--line); padding: .5rem 0; }
.sessions p { margin: 0; } .sessions p:empty { display: none; } .sessions time { margin: 0; white-space: nowrap; }
@media (min-width: 40rem) { .sessions li { display: grid; grid-template-columns: 9rem minmax(0, 1fr); } }
`;

/** The ending of every page. */
const PAGE_SUFFIX = ".html";

/** Removes the pages that are ours, and returns them and the ones that somebody changed since. */
export function forgetReports(
  forgetting: Forgetting,
  options: ForgetIn,
): Pick<Found, "reports" | "keptFiles"> {
  const { paths } = options;
  const own = namesIn(paths.reports).map((name) => join(paths.reports, name));
  const written = writtenFiles(paths).map(({ path }) => path);
  const pages = [...new Set([...own, ...written])].filter((file) => file.endsWith(PAGE_SUFFIX)).sort();
  const { ours, others } = forgetFiles(
    pages.filter((file) => isMeant(file, forgetting)),
    options,
  );
  return { reports: ours, keptFiles: others };
}

/** Removes the pages in the state folder about sessions that their owners took back; a page elsewhere is the user's. */
export function removePagesAbout(ids: ReadonlySet<string>, paths: Paths): void {
  for (const name of namesIn(paths.reports)) {
    const file = join(paths.reports, name);
    if (name.endsWith(PAGE_SUFFIX) && isMeant(file, { ids })) remove(file);
  }
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
