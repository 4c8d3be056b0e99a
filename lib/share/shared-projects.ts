/** The projects that are shared, and with whom: the patterns of `share.projects`. Nothing else leaves the machine. */

type SharedProjects = Readonly<Record<string, string>>;

/** The pattern that a project's origin URL matches, and the role that may read it. */
interface SharedProject {
  pattern: string;
  audience: string;
}

/** Finds the longest pattern that matches; undefined for a project that is not shared. */
export function sharedProject(project: string, projects: SharedProjects): SharedProject | undefined {
  const matching = Object.keys(projects).filter((pattern) => matches(pattern, project));
  const pattern = matching.sort((a, b) => b.length - a.length)[0];
  return pattern === undefined ? undefined : { pattern, audience: projects[pattern] ?? "" };
}

/** Returns the patterns as PostgreSQL's ILIKE has them. */
export function likePatterns(projects: SharedProjects): string[] {
  return Object.keys(projects).map((pattern) =>
    pattern.replace(/[\\%_]/g, (character) => `\\${character}`).replaceAll("*", "%"),
  );
}

function matches(pattern: string, project: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "i").test(project);
}
