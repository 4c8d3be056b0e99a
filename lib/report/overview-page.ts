/** Several sessions on a page that links theirs. */

import { counted } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { escapeHtml, type Html, htmlPage, pageLink } from "./html.ts";
import type { SessionFacts } from "./session-page.ts";

/** A session's page beside the overview. */
export interface LinkedPage {
  /** The session's id, which names its page. */
  id: string;
  facts: SessionFacts;
}

/** Returns the overview: by project, the one with the newest session first. */
export function overviewPage(pages: readonly LinkedPage[], { timezone }: { timezone: string }): Html {
  const newest = pages.toSorted((a, b) => (a.facts.to < b.facts.to ? 1 : -1));
  const projects = Map.groupBy(newest, ({ facts }) => facts.project);
  const sections = [...projects].map(
    ([project, own]) =>
      `<h2>${escapeHtml(project || "no project")}</h2>\n<ul class="sessions">\n${own
        .map((page) => itemHtml(page, timezone))
        .join("\n")}\n</ul>`,
  );
  const title = counted(pages.length, "session");
  return htmlPage({
    title,
    session: "",
    body: `<header>\n<h1>${title}</h1>\n</header>\n<main>\n${sections.join("\n")}\n</main>`,
  });
}

function itemHtml({ id, facts }: LinkedPage, timezone: string): Html {
  const { title, description, agent, to, messages, edited } = facts;
  const length = [agent, counted(messages, "message")];
  if (edited.size > 0) length.push(`${counted(edited.size, "file")} edited`);
  return `<li><time datetime="${escapeHtml(to)}">${formatLocal(to, timezone).slice(0, 16)}</time>
<div dir="auto"><a href="${pageLink(id)}">${escapeHtml(title)}</a>
<p class="dim" dir="auto">${escapeHtml(description)}</p>
<p class="dim">${length.join(" · ")}</p></div></li>`;
}
