/** Hashes: sha256 for content, and a fast one for keys of our own. */

import type { Hash } from "node:crypto";

/** Starts a sha256 hash. node:crypto is loaded here: it costs more than an empty start, and most runs hash nothing. */
export function sha256(): Hash {
  return process.getBuiltinModule("node:crypto").createHash("sha256");
}

/** Returns 53 bits of a text: an integer that SQLite and JavaScript both hold exactly. */
export function shortHash(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
