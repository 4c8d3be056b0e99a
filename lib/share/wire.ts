/** The form in which exchanges go from machine to machine; both sides derive chunks from them by the same function. */

import type { Row } from "../hosts/session.ts";
import type { StoredExchange } from "../index/stored-rows.ts";

/** An exchange as it is sent, and as the hub's table holds it. */
export interface SharedExchange extends Pick<StoredExchange, "line" | "nth"> {
  /** In order, cut and redacted as the sender's index has them. */
  rows: readonly Row[];
  /** For each of its chunks the topics that a model gave it, or null; left out where none did. */
  topics?: readonly (readonly string[] | null)[] | undefined;
  /** The hash of all that, in hex. */
  hash: string;
}
