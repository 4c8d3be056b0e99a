/** sha256, with node:crypto loaded at the first hash: it alone costs more than an empty start, and most runs hash nothing. */

import type { Hash } from "node:crypto";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Starts a sha256 hash. */
export function sha256(): Hash {
  const { createHash } = require("node:crypto") as typeof import("node:crypto");
  return createHash("sha256");
}
