/** Kilo Code's sessions: a fork of opencode, with its tables. */

import { copiedFormat } from "./format.ts";
import type { HostFile } from "./host.ts";
import { tables } from "./opencode.ts";

export const host: HostFile = {
  ...copiedFormat("kilo"),
  name: "Kilo Code",
  program: "kilo",
  resume: "kilo --session <id>",
  skills: "($XDG_CONFIG_HOME|~/.config)/kilo/skills",
  store: { files: "kilo.db", ...tables },
};
