/** The key under which a chunk's vector and topics are kept. */

import { sha256 } from "../base/hash.ts";

const HASH_BYTES = 16;

/** Returns the hash of the words that would be embedded: 128 bits of sha256. */
export function contentHash(contextContent: string): Uint8Array {
  return sha256().update(contextContent).digest().subarray(0, HASH_BYTES);
}
