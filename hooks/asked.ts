/** A moment of a session in any host: the question and the words said. */

import type { ReportedFailure } from "../lib/activity/seen.ts";
import type { Environment, PathsWithRules, Settings } from "../lib/config/config.ts";
import type { Agent, Viewer } from "../lib/hosts/session.ts";
import type { CompleteJson } from "../lib/model/answers.ts";

/** A moment of a session, and what it is about. */
export interface Asked {
  host: Agent;
  session: Viewer;
  env: Environment;
  paths: PathsWithRules;
  settings: Settings;
  /** The prompt. */
  text?: string;
  /** Provides the model for `@@name: question`; called only for a question. @default the one that config.json names */
  model?: () => Promise<CompleteJson | undefined>;
  /** True if the host has the tool `query_session`. @default {false} */
  hasTool?: boolean;
  /** The command that failed. */
  failure?: ReportedFailure;
  /** True if a session that starts with its first prompt is told of others with it. @default {undefined}, none has come yet */
  isTold?: boolean;
  /** Returns whether a person typed the prompt, as far as the host says. @default as if one did */
  isTyped?: () => Promise<boolean>;
  /** True if a person has just started the host. @default {false} */
  isStarted?: boolean;
  /** True if the user cleared the session that ends. @default {false} */
  isCleared?: boolean;
}

/** The words said at a moment, with a callback for when they have been delivered. */
export interface Answer {
  /** To the model; undefined when there is nothing to add. */
  text?: string | undefined;
  toPerson?: string | undefined;
  delivered(): unknown;
}
