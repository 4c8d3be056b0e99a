/** Hooks of ours in the settings of hosts that have no command to install us. */

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

/** Returns the settings of a host with our hooks in them; undefined for a host that is told by other means. */
export function hooksToWrite({ home, agent, hooks }: Host, { expand }: Pick<Paths, "expand">) {
  const written = hooks?.written;
  const command = ownCommand(agent);
  if (!written || written.ownFile || command === undefined) return undefined;
  return changedSettings(join(expand(home), hooks.installedIn), (settings) =>
    withHooks(settings, written, command),
  );
}

/** Returns the settings of a host without our hooks. */
export function hooksToRemove({ home, hooks }: Host, { expand }: Pick<Paths, "expand">) {
  if (!hooks?.written || hooks.written.ownFile) return undefined;
  return changedSettings(join(expand(home), hooks.installedIn), withoutHooks);
}

/** Returns the text of the file of our own that a host reads its hooks from; undefined for one that has none. */
export function ownHookFile({ home, agent, hooks }: Host, { expand }: Pick<Paths, "expand">) {
  const written = hooks?.written;
  const command = ownCommand(agent);
  if (!written?.ownFile || command === undefined) return undefined;
  const text = formatSettings(withHooks(written.ownFile, written, command));
  return { file: join(expand(home), hooks?.installedIn ?? ""), text };
}

/** Returns a command for a shell that cannot fail: some hosts take a program that is missing for a refusal of the prompt. */
function ownCommand(agent: string): string | undefined {
  const starter = starterCommand();
  // a host that waits no longer ends the shell, which ends ours: else its prompt would wait on
  const waits = 'trap "kill $!" TERM; wait $! || :';
  return starter && `exec 3<&0; ${starter} event ${agent} <&3 & ${waits}`;
}

/** Returns how a shell calls our starter; undefined where its path means something between the quotes of a shell. */
export function starterCommand(): string | undefined {
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
