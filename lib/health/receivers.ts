/** Names who receives anything said on this machine. */

import type { Config } from "../config/config.ts";
import { HOSTS, observingHost } from "../hosts/hosts.ts";
import { isHere } from "./hook-runs.ts";

type Sending = Pick<Config, "settings" | "paths" | "env" | "cwd">;

/** Names every receiver that config.json, or the one default that sends, allows; `nothing` where neither allows any. */
export function describeReceivers({ settings, ...place }: Sending): string {
  const { embedding, llm, share, modelKeys, observe } = settings;
  const receivers: string[] = [];
  if (embedding) receivers.push(`embeddings to ${readHost(embedding.baseUrl)}`);
  if (llm)
    receivers.push(
      `conversation to ${llm.command ? `the program ${llm.command[0]}` : readHost(llm.baseUrl)}`,
    );
  for (const key of modelKeys) receivers.push(`conversation to ${modelThrough(observingHost(), key)}`);
  // there observing needs no setting: the session's own model receives the conversation anyway
  const observers = observe.auto && observe.model !== "none" ? HOSTS : [];
  for (const host of observers.filter((each) => each.observesItself && isHere(each, place))) {
    const limit = `at most $${observe.dailyBudgetUsd.toFixed(2)} a day`;
    receivers.push(`conversation to ${modelThrough(host.name, observe.model)} for observing (${limit})`);
  }
  if (share && Object.keys(share.projects).length > 0)
    receivers.push(`shared sessions to ${nameHub(place.env[share.urlEnv], share.urlEnv)}`);
  return receivers.join(", ") || "nothing";
}

function modelThrough(host: string | undefined, key: string): string {
  return key === "active" ? `the model chosen in ${host}` : `${key} through ${host}`;
}

function nameHub(url: string | undefined, variable: string): string {
  if (!url) return `the hub of ${variable}, which is not set`;
  return URL.canParse(url) ? new URL(url).host : `the hub of ${variable}, which is no URL`;
}

function readHost(baseUrl = "https://api.openai.com"): string {
  return new URL(baseUrl).host;
}
