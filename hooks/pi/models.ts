/** The models that pi's parts ask: for names and questions, and for observing. Asking is host-model.ts. */

import type { Config, Settings } from "../../lib/config/config.ts";
import type { CompleteJson, JsonRequest } from "../../lib/model/answers.ts";
import type { PiContext, PiModel } from "./api.ts";

/** The session's own model, as a `modelKeys` entry and as `observe.model`. */
const ACTIVE_MODEL = "active";
const NO_MODEL = "none";

/** Asks for names and answers: a model of `modelKeys`, else the `llm` block's. Undefined: rules are used. */
export function namingModel(config: Config, context: PiContext): CompleteJson | undefined {
  const model = keyedModel(config.settings, context);
  if (model) {
    const { dailyBudgetUsd, timeoutMs } = config.settings.llm ?? { dailyBudgetUsd: 1, timeoutMs: 30_000 };
    return asking(async () => {
      const { hostCompleter } = await import("./host-model.ts");
      return hostCompleter(model, { config, context, limits: { dailyBudgetUsd, timeoutMs } });
    });
  }
  if (!config.settings.llm) return undefined;
  return asking(async () => {
    const { configuredModel } = await import("../../lib/model/configured-model.ts");
    return await configuredModel(config);
  });
}

/** Returns the name of the model that `namingModel` asks. */
export function namingModelName({ settings }: Config, context: PiContext): string | undefined {
  const model = keyedModel(settings, context);
  return model ? nameOf(model) : settings.llm?.model;
}

/** Observes the conversation, under a cap and a timeout of its own. Undefined: no model may or can. */
export function observingModel(config: Config, context: PiContext): CompleteJson | undefined {
  const model = observer(config.settings.observe, context);
  if (!model) return undefined;
  const { dailyBudgetUsd, timeoutMs } = config.settings.observe;
  return asking(async () => {
    const { hostCompleter } = await import("./host-model.ts");
    return hostCompleter(model, { config, context, limits: { dailyBudgetUsd, timeoutMs, purse: "observe" } });
  });
}

/** Returns the name of the model that observes. */
export function observingModelName({ settings }: Config, context: PiContext): string | undefined {
  const model = observer(settings.observe, context);
  return model && nameOf(model);
}

/** Returns the entries of `modelKeys` that pi does not have. */
export function missingModels(
  config: Config | undefined,
  { model, modelRegistry }: Pick<PiContext, "model" | "modelRegistry">,
): string[] {
  const keys = config?.settings.modelKeys ?? [];
  return keys.filter((key) => (key === ACTIVE_MODEL ? !model : !modelOf(key, modelRegistry)));
}

/** Returns a completer that is made when it is first asked: most prompts ask none. */
function asking(make: () => Promise<CompleteJson | undefined>): CompleteJson {
  let made: Promise<CompleteJson | undefined> | undefined;
  return async <T>(request: JsonRequest<T>) => {
    made ??= make();
    const complete = await made;
    if (!complete) throw new TypeError("Expected a model that can be asked");
    return await complete(request);
  };
}

function keyedModel({ modelKeys }: Settings, { model, modelRegistry }: PiContext): PiModel | undefined {
  if (!modelRegistry.complete) return undefined;
  for (const key of modelKeys) {
    const found = key === ACTIVE_MODEL ? model : modelOf(key, modelRegistry);
    if (found) return found;
  }
  return undefined;
}

function observer(
  { model: key }: Settings["observe"],
  { model, modelRegistry }: PiContext,
): PiModel | undefined {
  if (!modelRegistry.complete || key === NO_MODEL) return undefined;
  return key === ACTIVE_MODEL ? model : modelOf(key, modelRegistry);
}

function modelOf(key: string, registry: PiContext["modelRegistry"]): PiModel | undefined {
  const slash = key.indexOf("/");
  return registry.find?.(key.slice(0, slash), key.slice(slash + 1));
}

function nameOf({ provider, id }: PiModel): string {
  return `${provider}/${id}`;
}
