/** Identifies the part of a transcript that was read, without reading all of it again. */

import { sha256 } from "../base/hash.ts";
import { readFully, withFile } from "../transcripts/jsonl.ts";

const EDGE_BYTES = 4096;

/** Returns the sha256 of the offset, the file's first 4 KiB and the last 4 KiB before the offset. */
export function hashBefore(file: string, offset: number): string {
  const edge = Math.min(EDGE_BYTES, offset);
  return withFile(file, (descriptor) =>
    sha256()
      .update(`${offset}\n`)
      .update(readFully(descriptor, 0, edge))
      .update(readFully(descriptor, offset - edge, edge))
      .digest("hex"),
  );
}
