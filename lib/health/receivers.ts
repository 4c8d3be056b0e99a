/** Names who receives anything that was said on this machine. */

import { isDirectory } from "../base/files.ts";
import type { Environment, Paths, Settings } from "../config/config.ts";

/** Names every receiver that config.json, or the one default that sends, allows; `nothing` where there is none. */
export function describeReceivers(settings: Settings, paths: Pick<Paths, "pi">, env: Environment): string {
  const { embedding, llm, share, modelKeys } = settings;
  const receivers = [
    ...(embedding ? [`embeddings to ${hostOf(embedding.baseUrl)}`] : []),
    ...(llm ? [`conversation to ${hostOf(llm.baseUrl)}`] : []),
    ...modelKeys.map((key) => `conversation to ${piModel(key)}`),
    ...observers(settings, paths),
    ...(share && Object.keys(share.projects).length > 0
      ? [`shared sessions to ${hubOf(env[share.urlEnv], share.urlEnv)}`]
      : []),
  ];
  return receivers.length > 0 ? receivers.join(", ") : "nothing";
}

/** In pi observing needs no setting: the session's own model receives the conversation anyway. */
function observers({ observe }: Settings, { pi }: Pick<Paths, "pi">): string[] {
  if (!observe.auto || observe.model === "none" || !isDirectory(pi)) return [];
  const limit = `at most $${observe.dailyBudgetUsd.toFixed(2)} a day`;
  return [`conversation to ${piModel(observe.model)} for observing (${limit})`];
}

function piModel(key: string): string {
  return key === "active" ? "pi's active model" : `${key} through pi`;
}

function hubOf(url: string | undefined, variable: string): string {
  if (!url) return `the hub of ${variable}, which is not set`;
  return URL.canParse(url) ? new URL(url).host : `the hub of ${variable}, which is no URL`;
}

function hostOf(baseUrl: string | undefined): string {
  return new URL(baseUrl ?? "https://api.openai.com").host;
}
