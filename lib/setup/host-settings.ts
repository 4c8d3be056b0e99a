/** Our hooks in the settings of hosts that have no command to install us, and our status line. */

import { join } from "node:path";
import { arrayOf, type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { ROOT } from "../base/runtime.ts";
import type { Paths } from "../config/config.ts";
import { changedSettings, formatSettings } from "../config/config-file.ts";
import type { Host, WrittenHooks } from "../hosts/host.ts";

/** The most seconds that a host waits for us. A prompt's may ask a model, which is abandoned after 20. */
const TIMEOUT_S = { prompt: 30, other: 10 };
/** The name that a host shows in place of the command while a hook runs. */
const NAME = "session-memory";
/** Our command, as it is written from whatever folder we are in. */
const OWN_COMMAND =
  /^exec 3<&0; \/bin\/sh "[^"]*\/bin\/session-memory" event [a-z]+ <&3 & trap "kill \$!" TERM; wait \$! \|\| :$/;

type Places = Pick<Paths, "expand">;

/** Returns the settings of a host with our hooks in them; undefined for a host that is told by other means. */
export function hooksToWrite({ home, agent, hooks }: Host, { expand }: Places) {
  const written = hooks?.written;
  const command = ownCommand(agent);
  if (!written || written.ownFile || command === undefined) return undefined;
  return changedSettings(join(expand(home), hooks.installedIn), (settings) =>
    withHooks(settings, written, command),
  );
}

/** Returns the steps that take out of a host's settings what we wrote into them. */
export function settingsToRemove({ home, hooks, statusLine }: Host, { expand }: Places) {
  const without = (what: string, name: string, make: (settings: JsonRecord) => JsonRecord) => {
    const file = changedSettings(join(expand(home), name), make);
    return file.isNeeded ? [{ line: `${what} in ${file.path}`, run: file.write }] : [];
  };
  return [
    ...(statusLine === undefined ? [] : without('"statusLine"', statusLine, withoutStatusLine)),
    ...(hooks?.written && !hooks.written.ownFile ? without("hooks", hooks.installedIn, withoutHooks) : []),
  ];
}

/** Returns the file of our own that a host reads its hooks from; undefined for one that has none. */
export function ownHookFile({ home, agent, hooks }: Host, { expand }: Places) {
  const written = hooks?.written;
  const command = ownCommand(agent);
  if (!written?.ownFile || command === undefined) return undefined;
  const text = formatSettings(withHooks(written.ownFile, written, command));
  return [{ file: join(expand(home), hooks?.installedIn ?? ""), text }];
}

/** Our status line's command, as it is written from whatever folder we are in. */
const OWN_STATUS_LINE = /^\/bin\/sh "[^"]*\/bin\/session-memory" status-line$/;

/** Returns the settings of a host with our status line in them; undefined if they have one, or can have none. */
export function statusLineToWrite({ home, statusLine: name }: Host, { expand }: Places) {
  const starter = starterCommand();
  if (name === undefined || starter === undefined) return undefined;
  const command = `${starter} status-line`;
  const file = changedSettings(join(expand(home), name), (settings) =>
    settings.statusLine === undefined ? { ...settings, statusLine: { type: "command", command } } : settings,
  );
  return file.isNeeded ? { command, file } : undefined;
}

function withoutStatusLine(settings: JsonRecord): JsonRecord {
  const { statusLine, ...rest } = settings;
  const { type, command, ...others } = recordOf(statusLine);
  const isAsWritten = type === "command" && Object.keys(others).length === 0;
  return isAsWritten && OWN_STATUS_LINE.test(stringOf(command) ?? "") ? rest : settings;
}

/** Returns a command for a shell that cannot fail: some hosts take a program that is missing for a refusal of the prompt. */
function ownCommand(agent: string): string | undefined {
  const starter = starterCommand();
  // a host that waits no longer ends the shell, which ends ours: else its prompt would wait on
  const waits = 'trap "kill $!" TERM; wait $! || :';
  return starter && `exec 3<&0; ${starter} event ${agent} <&3 & ${waits}`;
}

/** Returns how a shell calls our starter; undefined where its path means something between the quotes of a shell. */
function starterCommand(): string | undefined {
  const starter = join(ROOT, "bin", "session-memory");
  return /["$\x60\\\n]/.test(starter) ? undefined : `/bin/sh "${starter}"`;
}

function withHooks(
  settings: JsonRecord,
  { events, second, ownFile }: WrittenHooks,
  command: string,
): JsonRecord {
  const named = ownFile ? {} : { name: NAME };
  const isWritten = Object.entries(events).every(([event, { matcher }]) =>
    arrayOf(recordOf(settings.hooks)[event]).some((group) => isOurs(group, { ...named, command, matcher })),
  );
  if (isWritten) return settings;
  const { hooks, ...others } = withoutHooks(settings);
  const groups = { ...recordOf(hooks) };
  for (const [event, { matcher, moment }] of Object.entries(events)) {
    const timeout = TIMEOUT_S[moment === "prompt" ? "prompt" : "other"] * second;
    const group = { matcher, hooks: [{ ...named, type: "command", command, timeout }] };
    groups[event] = [...arrayOf(groups[event]), group];
  }
  return { ...others, hooks: groups };
}

function isOurs(group: unknown, ours: { name?: string; command: string; matcher: string | undefined }) {
  const { hooks, matcher } = recordOf(group);
  const isSame = ({ name, command }: JsonRecord) => name === ours.name && command === ours.command;
  return matcher === ours.matcher && arrayOf(hooks).some((hook) => isSame(recordOf(hook)));
}

/** Takes out every hook of ours, and what is empty without it. */
function withoutHooks(settings: JsonRecord): JsonRecord {
  const { hooks, ...others } = settings;
  if (!JSON.stringify(hooks ?? "").includes("session-memory")) return settings;
  const left = Object.entries(recordOf(hooks)).flatMap(([event, groups]) => {
    const kept = arrayOf(groups).flatMap((group) => withoutOurs(group));
    return kept.length > 0 ? [[event, kept] as const] : [];
  });
  return left.length > 0 ? { ...others, hooks: Object.fromEntries(left) } : others;
}

function withoutOurs(group: unknown): unknown[] {
  const { hooks } = recordOf(group);
  const kept = arrayOf(hooks).filter((hook) => !OWN_COMMAND.test(stringOf(recordOf(hook).command) ?? ""));
  if (kept.length === arrayOf(hooks).length) return [group];
  return kept.length > 0 ? [{ ...recordOf(group), hooks: kept }] : [];
}
