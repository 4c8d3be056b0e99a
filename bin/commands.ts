/** What `session-memory` prints without a script: the list of scripts, the version, or the nearest name to a mistyped one. */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { usageError } from "../lib/base/command.ts";
import { isTerminal } from "../lib/base/output.ts";
import { ROOT } from "../lib/base/runtime.ts";
import { wrapColumns } from "../lib/base/terminal.ts";
import { counted, nearestTo, quoted, shortId, truncate } from "../lib/base/text.ts";
import { formatMinute } from "../lib/base/time.ts";
import { print, runMain } from "../lib/cli.ts";

/** Where descriptions begin, and the columns of a terminal that nobody widened, but the last. */
const [INDENT, COLUMNS] = [20, 79];
/** The first sentence of a script's file. */
const DESCRIPTION = /\/\*\*\s*\n? ?\*? ?([^\n]*)/;
const GIVEN_CHARS = 200; // promised: at most 200 of what was given
const TOLD_SHOWN = 2; // with the list of scripts a screen
/** Names of embed in older descriptions of it. */
const SEED_NAMES = ["index", "chunk"];

await runMain(listScripts(), async ([name]) => {
  if (name === undefined && isTerminal()) for (const line of await overview()) print(line);
  if (name === undefined || name === "help") print(listScripts());
  else if (name === "--version" || name === "-v") print(version());
  else {
    const nearest =
      name === "uninstall" ? "setup --remove" : nearestTo(name, [...scriptNames(), ...SEED_NAMES]);
    throw usageError(
      `Cannot run "${truncate(name, GIVEN_CHARS)}": there is no such script`,
      nearest ? `did you mean session-memory ${nearest}?` : "session-memory alone lists the scripts",
    );
  }
});

/** Returns what is known here, what agents were told last, and what to ask next. */
async function overview(): Promise<string[]> {
  const { currentDirectory, hookEnvironment, readHookSettings, resolvePaths, withFolders } = await import(
    "../lib/config/config.ts"
  );
  const { readTold, toldOn } = await import("../lib/activity/told.ts");
  const { countKnown } = await import("../lib/index/known-sessions.ts");
  const { readRules } = await import("../lib/transcripts/rules.ts");
  const { questionByName } = await import("../lib/naming/own-questions.ts");
  const { env } = hookEnvironment();
  const places = resolvePaths(env);
  const settings = readHookSettings(places);
  const { count } = countKnown(places, "");
  if (!settings || count === 0)
    return ["No sessions are known yet: session-memory setup indexes what is there.", ""];
  const paths = withFolders(places, { settings, env });
  const { clean } = readRules(paths);
  const question = questionByName(paths, currentDirectory());
  const told = readTold(paths.log);
  const today = toldOn(told, new Date(), settings.timezone).length;
  const news = today > 0 ? `${counted(today, "text")} told to agents today` : "No text told to agents today";
  const shown = told.slice(-TOLD_SHOWN).map(({ at, session, text }) => {
    const time = formatMinute(at, settings.timezone);
    return `${time} · session ${shortId(clean(session))}\n${clean(text).replace(/^/gm, "  ")}`;
  });
  if (shown.length > 0) shown.unshift("", `${news}. The last (session-memory health --told shows more):`);
  return [
    `${counted(count, "session")} known here.`,
    ...shown,
    "",
    "Next: session-memory session-reader last --outline",
    `      session-memory search ${question === undefined ? '"what did we decide about …"' : quoted(clean(question))}`,
    "",
  ];
}

function scriptNames(): string[] {
  return readdirSync(join(ROOT, "scripts"))
    .map((file) => basename(file, ".ts"))
    .sort();
}

function listScripts(): string {
  const rows = scriptNames().map((name) => {
    const [, description = ""] =
      DESCRIPTION.exec(readFileSync(join(ROOT, "scripts", `${name}.ts`), "utf8")) ?? [];
    const row = `  ${name.padEnd(INDENT - 2)}${description.replace(/\.$/, "")}`;
    return wrapColumns(row, COLUMNS, INDENT);
  });
  const head = "Usage: session-memory <script> [options]\n\nScripts:";
  return `${head}\n${rows.join("\n")}\n\nsession-memory <script> --help shows a script's options, --version the version.`;
}

function version(): string {
  return (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;
}
