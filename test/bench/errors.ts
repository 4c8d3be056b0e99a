/** `--error` on real transcripts: whether what was done about an error is in the output. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { plainText } from "../../lib/base/output.ts";
import { shortId } from "../../lib/base/text.ts";
import { resolvePaths } from "../../lib/config/config.ts";
import { indexSessions } from "../../lib/index/indexing.ts";
import { errorHistory } from "../../lib/search/error-history.ts";
import { printFinds } from "../../lib/search/histories.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { openStore } from "../../lib/store/store.ts";
import { settingsWith } from "../support/index.ts";
import { atLeast, type BenchRow, inTemporaryFolder } from "./measure.ts";

const TRANSCRIPTS = resolve(import.meta.dir, "../../../shared/transcripts");
/** The budget of the command. */
const MAX_CHARS = 2500;
const LIMIT = 5;

/** Errors as an agent would paste them, in other places and with other numbers, and what ended them. */
const ERRORS: readonly [error: string, fix: string][] = [
  ["** (RuntimeError) no :secret_key_base configuration found in SpotterWeb.Endpoint.", "+ secret_key_base:"],
  ["** (RuntimeError) Phoenix LiveView requires lazy_html as a test dependency.", '{:lazy_html, ">= 0.1.0"'],
  ['✘ [ERROR] Could not resolve "js/app.js"\n\n1 error', "/assets && node build.js"],
  ["fatal: The current branch main has no upstream branch.", "git push --set-upstream origin"],
  [
    "The following paths are ignored by one of your .gitignore files:\npriv/static",
    "git add -f priv/static/assets/spotter.css",
  ],
  [
    "test/hooks.test.ts(9,2): error TS2339: Property 'apiKey' does not exist on type 'SessionEventBase",
    "+ const resolveApiKey = event.resolveApiKey",
  ],
  [
    "src/x.ts(1,34): error TS2339: Property 'loadEntries' does not exist on type 'SessionManager'.",
    "s/\\.loadEntries()/.getEntries()/",
  ],
  [
    "  × expected a semicolon to end the class property, but found none",
    "+/** Options for AgentSession.prompt() */",
  ],
  [
    "error TS2345: Argument of type '\"toolText\"' is not assignable to parameter of type 'ThemeColor'.",
    'theme.fg("toolTitle"',
  ],
  [
    "error: undefined function get/2 (expected SpotterWeb.OtherTest to define such a function",
    "+ import Phoenix.ConnTest",
  ],
  ["/bin/sh: line 7: pytest: command not found", "source .venv/bin/activate && pytest"],
  [
    "Error: /tmp/tmp1234/regular.txt is not a directory or supported archive",
    '+ assert "not a directory or supported archive"',
  ],
  [
    "Pre-commit validation failed:\n\n[FORMAT] Code is not formatted.\nRun 'mix format' to fix.",
    "[Bash mix format",
  ],
  [" ! [rejected]        HEAD -> main (non-fast-forward)", "git pull --rebase origin main"],
  [
    "SIM115 Use a context manager for opening files\n --> a.py:1",
    "+ with zipfile.ZipFile(BytesIO(data), 'r') as nested_zf",
  ],
];

/** How many of the fixes are shown; nothing where the real transcripts are absent. */
export async function rows(): Promise<BenchRow[]> {
  if (!existsSync(TRANSCRIPTS)) return [];
  return await inTemporaryFolder(async (folder) => {
    const store = openStore(join(folder, "memory.db"));
    const paths = resolvePaths({ HOME: folder, SESSION_MEMORY_SESSIONS: TRANSCRIPTS });
    await indexSessions({
      store,
      sessions: listSessions(paths, { subagents: true }),
      settings: settingsWith(),
    });
    const clean = (text: string) => text;
    const style = {
      maxChars: MAX_CHARS,
      nameOf: () => undefined,
      shortId: ({ id }: { id: string }) => shortId(id),
      clean,
    };
    const missed = ERRORS.filter(([error, fix]) => {
      const finds = errorHistory(store, error, { cwd: folder, clean }).slice(0, LIMIT);
      return !printFinds(finds, style).map(plainText).join("\n").includes(fix);
    });
    store.close();
    const detail = missed.map(([error]) => error.trim().slice(0, 40)).join("; ");
    return [
      atLeast("errors whose fix --error shows, of 15", ERRORS.length - missed.length, 12, {
        unit: "",
        detail,
      }),
    ];
  });
}
