/** The name of this machine among several: the one in config.json, else its host name. */

import { hostname } from "node:os";
import type { ShareConfig } from "../config/config.ts";

export function ownMachine({ machine }: Pick<ShareConfig, "machine">): string {
  if (machine !== undefined) return machine;
  const name = hostname()
    .replace(/\..*$/, "")
    .replace(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[._-]+/, "");
  return name.slice(0, 64) || "unnamed";
}
