/** Reads an embedding server's answer as vectors: all of them, in the texts' order, of one size, and made of numbers. */

import { SessionMemoryError } from "../base/errors.ts";
import { recordOf } from "../base/json.ts";

/**
 * Reads the `data` of an embedding response to `count` texts.
 *
 * @throws {SessionMemoryError} `EMBEDDING_FAILED`: for good when the size is not the configured one, else recoverable.
 */
export function readVectors(
  data: unknown,
  count: number,
  { model, dimensions }: { model: string; dimensions: number },
): Float32Array[] {
  if (!Array.isArray(data) || data.length !== count) {
    throw unusable(`expected ${count} vectors but found ${Array.isArray(data) ? data.length : "none"}`);
  }
  const vectors = new Map<number, Float32Array>();
  for (const [position, row] of data.entries()) {
    const { embedding, index = position } = recordOf(row);
    if (!Array.isArray(embedding) || !embedding.every(Number.isFinite)) {
      throw unusable("a vector is not a list of numbers");
    }
    if (embedding.length !== dimensions) throw wrongSize(model, dimensions, embedding.length);
    vectors.set(Number(index), Float32Array.from(embedding));
  }
  return data.map((_, position) => {
    const vector = vectors.get(position);
    if (!vector) throw unusable("the vectors' positions do not match the texts");
    return vector;
  });
}

function unusable(reason: string): SessionMemoryError {
  return new SessionMemoryError("EMBEDDING_FAILED", `Cannot embed: ${reason}`, {
    details: { kind: "malformed" },
    recoverable: true,
    hint: "check baseUrl and model in config.json, or try again later",
  });
}

function wrongSize(model: string, expected: number, found: number): SessionMemoryError {
  return new SessionMemoryError(
    "EMBEDDING_FAILED",
    `Cannot use the vectors of "${model}": expected ${expected} dimensions but found ${found}`,
    {
      details: { kind: "dimensions", expected, found },
      hint: `set embedding.dimensions to ${found} in config.json`,
    },
  );
}
