/** Whether a transcript is still the file that was read up to a cursor, told without reading all of it. */

import { sha256 } from "../base/hash.ts";
import { readFully, withFile } from "../transcripts/jsonl.ts";

const EDGE_BYTES = 4096;

/** sha256 over the offset, the file's first 4 KiB and the last 4 KiB before the offset. */
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
