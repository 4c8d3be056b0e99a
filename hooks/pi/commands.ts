/** The `/obs-…` commands: show observations, control when they are made, and make them now. */

import { describeError, SessionMemoryError } from "../../lib/base/errors.ts";
import type { Config } from "../../lib/config/config.ts";
import { redactor } from "../../lib/redact/redact.ts";
import type { PiCommandContext } from "./api.ts";
import { observingModelName } from "./models.ts";
import { observing, rawInContext } from "./observing.ts";
import { exclusively, type PiState } from "./state.ts";

const VIEW_LINES = 160;
/** A longer text is looked at where it can be scrolled. */
const NOTICE_LINES = 24;

type Run = (words: string[], context: PiCommandContext) => Promise<string>;

/** Registers the commands. Each answers with a notification, which is not part of the conversation. */
export function registerObservationCommands(state: PiState, config: Config): void {
  const redact = redactor(config.settings.redact.extra);
  const command = (name: string, description: string, run: Run) =>
    state.pi.registerCommand(name, {
      description,
      async handler(args, context) {
        try {
          const text = redact(await run(args.split(/\s+/).filter(Boolean), context));
          // pi's editor is the one thing of its terminal that scrolls; what is typed into it is dropped.
          if (text.split("\n").length > NOTICE_LINES && context.mode === "tui" && context.ui.editor)
            await context.ui.editor(name, text);
          else context.ui.notify(text, "info");
        } catch (error) {
          const hint = error instanceof SessionMemoryError && error.hint ? ` (${error.hint})` : "";
          context.ui.notify(redact(`${describeError(error)}${hint}`), "error");
        }
      },
    });
  const current = async (context: PiCommandContext) => {
    const now = await observing(state, { config, context });
    if (!now)
      throw new SessionMemoryError("NOT_FOUND", "Cannot look at this session: it is not kept in a file");
    return now;
  };
  const queued = async (work: () => Promise<string>) => (await exclusively(state, work)) ?? "";
  const change = async (changes: Record<string, string>) => {
    const { setObserveSettings } = await import("../../lib/observe/observe-state.ts");
    const settings = setObserveSettings(config.paths, { settings: config.settings.observe, changes });
    const { mode, auto, observerTokens, reflectorTokens, retainTokens } = settings;
    return `observations: ${mode}, automatic ${auto ? "on" : "off"}, compact at ${observerTokens} + ${retainTokens} retained, reflect at ${reflectorTokens}`;
  };

  command(
    "obs-memory-status",
    "Observations: tokens, thresholds, mode, what is covered",
    async (_, context) => {
      const { memory, canObserve } = await current(context);
      const { observationStatus, statusText } = await import("../../lib/observe/observe-view.ts");
      const observer = observingModelName(config, context) ?? (canObserve ? "rules" : undefined);
      const { model } = memory.settings;
      const reason =
        model === "none" ? "observe.model is none" : `pi has no model to ask (observe.model is ${model})`;
      const raw = await rawInContext(context, memory.entries);
      return statusText(observationStatus(memory, config, { observer, reason, rawInContext: raw }));
    },
  );
  command(
    "obs-auto-compact",
    "[on|off] [mode] [observer] [reflector] [retain]: observe and compact by itself",
    (words) => change(autoCompactChanges(words)),
  );
  command("obs-mode", "[buffered|blocking]: observe after turns, or at compaction", (words) =>
    change(words[0] === undefined ? {} : { mode: words[0] }),
  );
  command(
    "obs-view",
    "[obs] [raw] [maxLines]: the observations, or what is not yet observed",
    async (words, context) => {
      const { memory, common } = await current(context);
      const lines = Number(words.find((word) => /^\d+$/.test(word)) ?? VIEW_LINES);
      const [{ observationLines }, { foldLedger }, { rawLines }] = await Promise.all([
        import("../../lib/observe/render-observations.ts"),
        import("../../lib/observe/observations.ts"),
        import("../../lib/observe/observe-view.ts"),
      ]);
      const observations =
        words.includes("raw") && !words.includes("obs") ? [] : observationLines(foldLedger(memory.ledger));
      const raw = words.includes("raw")
        ? rawLines(memory, { timezone: config.settings.timezone, redact: common.redact })
        : [];
      return [...observations, ...raw].slice(-lines).join("\n") || "nothing observed yet";
    },
  );
  command("obs-reflect", "[focus]: condense the observations now", async (words, context) => {
    await context.waitForIdle();
    return await queued(async () => {
      const { common } = await current(context);
      const { reflect } = await import("../../lib/observe/reflect.ts");
      const focus = words.join(" ") || undefined;
      const { tokens, note } = await reflect({ ...common, force: true, focus });
      return `reflected: ${tokens.before} → ${tokens.after} tokens${note === undefined ? "" : ` (${note})`}`;
    });
  });
  command("obs-dump", "The ledger's records as JSON lines", async (_, context) => {
    const { memory } = await current(context);
    return memory.ledger.map((record) => JSON.stringify(record)).join("\n") || "no records yet";
  });
  command("obs-rebuild", "Observe the whole session again", async (_, context) => {
    await context.waitForIdle();
    return await queued(async () => {
      const { memory, common } = await current(context);
      const { reobserve } = await import("../../lib/observe/observe.ts");
      const { steps, observations, failure } = await reobserve({ ...common, entries: memory.entries });
      if (failure !== undefined) return `nothing changed: ${failure}`;
      return `observed again: ${observations} observations in ${steps} steps`;
    });
  });
}

/** Parses `on buffered 30000 40000 8000`, each part optional, numbers in this order. */
function autoCompactChanges(words: readonly string[]): Record<string, string> {
  const changes: Record<string, string> = {};
  const numbers = ["observerTokens", "reflectorTokens", "retainTokens"];
  for (const word of words) {
    const key = word === "on" || word === "off" ? "auto" : /^\d+$/.test(word) ? numbers.shift() : "mode";
    if (key === undefined) throw new SessionMemoryError("USAGE", `Cannot use "${word}": one number too many`);
    changes[key] = word;
  }
  return changes;
}
