/** Names our commands the way this process was called, for the hints that name one. */

import { dirname, join, relative } from "node:path";

const COMMAND = /\bbun scripts\/([a-z-]+)\.ts\b/g;

/** True when `session-memory <script>` started this process. */
export const isDispatched = process.env.SESSION_MEMORY_COMMAND === "session-memory";

/**
 * Rewrites each `bun scripts/<name>.ts` of a text into the form that this process was called in, so that a hint can be
 * typed as it is printed: `session-memory <name>`, or the script's path where the current directory is not our root.
 */
export function asCalled(text: string): string {
  if (!text.includes("bun scripts/")) return text;
  const prefix = calledAs();
  return prefix === undefined ? text : text.replace(COMMAND, (_, name: string) => prefix(name));
}

function calledAs(): ((name: string) => string) | undefined {
  if (isDispatched) return (name) => `session-memory ${name}`;
  const script = process.argv[1];
  if (script === undefined || !/\/scripts\/[a-z-]+\.(ts|js)$/.test(script)) return undefined;
  const folder = dirname(script);
  const [runtime, suffix] = [runtimeName(), script.slice(-3)];
  const isHere = runtime === "bun" && isBelow(folder);
  return isHere ? undefined : (name) => `${runtime} ${quoted(join(folder, `${name}${suffix}`))}`;
}

/** Returns whether a scripts folder is the one in the current directory. */
function isBelow(folder: string): boolean {
  try {
    return relative(process.cwd(), folder) === "scripts";
  } catch {
    return false; // the current directory was removed
  }
}

function runtimeName(): string {
  if (process.versions.bun) return "bun";
  return "deno" in process.versions ? "deno run -A" : "node";
}

/** Returns a text as one word of a shell's command line. */
export function quoted(text: string): string {
  return /^[\w./@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
