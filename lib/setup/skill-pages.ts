/**
 * Skill pages for hosts that no plugin of ours brings them to, from the ones that the others read. One page is offered to the model
 * there, the search, since each costs in every request; in a host with hooks the others lie beside it. A page says of what
 * happens by itself only what happens in its host.
 */

import { join } from "node:path";
import { readText } from "../base/files.ts";
import { ROOT } from "../base/runtime.ts";
import { quoted } from "../base/text.ts";
import type { Host, Moment } from "../hosts/host.ts";
import { HOSTS, listMoments, observingHost } from "../hosts/hosts.ts";

/** The page that is offered, and those beside it, by what they are for. */
const OFFERED = "session-search";
const BESIDE = {
  sessions: "read another session, and see which are active: at a [Session Activity] note too",
  "session-memory":
    "what a session was about that is named as `@@name`, a question to one, a note of this one",
  observations: "what was noted of a session, and standing rules: at a [Standing Rules] line too",
} as const;

/** The further purpose of the offered page, if the others lie beside it. */
const BESIDE_FOR =
  " Also to read another session, at a [Session Activity] or [Standing Rules] note, at @@name, and to save a session as a note.";

/** The variables that the pages name as they lie here, of hosts that read them so. */
const VARIABLES = HOSTS.flatMap(({ idVariable, skills }) => (skills === undefined ? (idVariable ?? []) : []));

/** The sentences of pages that are true in some hosts only: at a moment, or where a session's commands are told whose they are. */
interface Claim {
  needs: Moment | "own id";
  says: string;
  /** The text in a host without it. */
  otherwise: string;
}

export const CLAIMS: readonly Claim[] = [
  {
    needs: "turn",
    says: "While a session runs, what matters is noted line by line",
    otherwise: "With `--observe` what matters in a session is noted line by line",
  },
  {
    needs: "compaction",
    says: ` After a compaction these notes come back beside its summary, and in ${observingHost()} as the summary.`,
    otherwise: "",
  },
  {
    needs: "prompt",
    says: "A prompt that mentions a session as `@@name` receives them automatically, as [Session References]; these commands do\nthe same by hand, and more.",
    otherwise: "Commands say them of a session that a prompt mentions as `@@name`.",
  },
  {
    needs: "start",
    says: " New sessions of the project are given those that hold.",
    otherwise: "",
  },
  {
    needs: "start",
    says: "5. A [Standing Rules] line is what",
    otherwise: "5. A standing rule is what",
  },
  {
    needs: "own id",
    says: `This\nsession's own id is in ${VARIABLES.map((name) => `\`${name}\``).join(" or ")}.`,
    otherwise: "`last`\nmay be this session itself.",
  },
  {
    needs: "own id",
    says: '"last" is the most recent besides this one',
    otherwise: '"last" is the most recent, which may be this one',
  },
  { needs: "own id", says: "`last` (the most recent other one)", otherwise: "`last` (the most recent one)" },
  {
    needs: "own id",
    says: "Your own words since the last compaction are left out, since you still see them.",
    otherwise: "Your own words of this session are found too.",
  },
  {
    needs: "own id",
    says: `Environment: ${VARIABLES.join(", ")} name the current session; `,
    otherwise: "Environment: ",
  },
];

/** Returns the pages of a host, by their path below its folder of skills; `folder` is that folder. */
export function skillPages(host: Host, folder: string): { path: string; text: string }[] {
  const page = (name: string) => pageFor(host, readText(join(ROOT, "skills", name, "SKILL.md")));
  const offered = { path: join(OFFERED, "SKILL.md"), text: page(OFFERED) };
  if (listMoments(host).length === 0) return [offered];
  const beside = Object.entries(BESIDE).map(([name, about]) => ({
    name,
    about,
    path: join(OFFERED, `${name}.md`),
  }));
  const further = beside.map(({ path, about }) => `- \`${join(folder, path)}\`: ${about}`);
  const text = offered.text
    .replace(/^description: .*$/m, (line) => `${line}${BESIDE_FOR}`)
    .replace("\n## Usage\n", `\n## Further pages\n\n${further.join("\n")}\n\n## Usage\n`);
  return [
    { ...offered, text },
    ...beside.map(({ name, path }) => ({ path, text: withoutFront(page(name)) })),
  ];
}

/** Returns a page that is true in a host and names our folder: there is no variable for it, and no approval by a page. */
function pageFor(host: Host, page: string): string {
  const grounds = new Set<string>(listMoments(host));
  if (host.idVariable !== undefined) grounds.add("own id");
  let text = page
    .replace(/^allowed-tools:.*\n/m, "")
    .replace(/^`ROOT` is [\s\S]*?\n\n/m, "")
    .replace(/\bROOT\//g, `${quoted(ROOT)}/`)
    .replace(/`([a-z-]+)` skill\b/g, (whole, name) => (name in BESIDE ? `page \`${name}.md\`` : whole));
  for (const { needs, says, otherwise } of CLAIMS)
    if (!grounds.has(needs)) text = text.replace(says, otherwise);
  return text
    .replace(VARIABLES.map((name) => `\`${name}\``).join(" or "), `\`${host.idVariable}\``)
    .replace(`${VARIABLES.join(", ")} name`, `${host.idVariable} names`);
}

function withoutFront(page: string): string {
  return page.replace(/^---\n[\s\S]*?\n---\n+/, "");
}
