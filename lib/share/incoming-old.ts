/**
 * Reads sessions that an older version of this program published, chunk by chunk as labelled text, as exchanges. To go a
 * release after hubs hold exchanges.
 */

import { recordOf, stringOf } from "../base/json.ts";
import { joinPiece, type OldMessage, splitLabelled } from "../index/carry-old.ts";
import type { HubRow } from "./hub.ts";
import { CHUNK_MAX_BYTES, CHUNK_MAX_DEEDS, EXCHANGE_MAX_ROWS } from "./hub-schema.ts";

/** A message of the exchange that is being gathered. */
type Message = Omit<OldMessage, "nth" | "at"> & { at: unknown };

/** Returns what takes the chunks of sessions in their order, and hands on each exchange in the form of an exchange's row. */
export function exchangesOfChunks(put: (row: HubRow) => void): { take(row: HubRow): void; end(): void } {
  let open: { session: unknown; exchange: unknown; size: number } | undefined;
  let messages: Message[] = [];
  let calls: Record<string, unknown>[] = [];
  /** How many rows of a session a line has had. */
  let counts = new Map<number, number>();
  const end = () => {
    const rows = [...messages.map(({ line, who, text, at }) => ({ line, who, text, at })), ...calls]
      .map((row) => ({ ...row, line: toLine(row.line) }))
      .sort((a, b) => a.line - b.line)
      .map((row) => {
        const nth = counts.get(row.line) ?? 0;
        counts.set(row.line, nth + 1);
        return { ...row, nth };
      });
    const [first] = rows;
    if (open && first) put({ ...open, line: first.line, nth: first.nth, hash: "00", body: { rows } });
    [open, messages, calls] = [undefined, [], []];
  };
  const take = ({ session, at, body: packed, content, size }: HubRow) => {
    const body = recordOf(packed);
    const isFull = messages.length + calls.length >= EXCHANGE_MAX_ROWS;
    if (open?.session !== session || open?.exchange !== body.exchange || isFull) {
      const isOther = open?.session !== session;
      end();
      if (isOther) counts = new Map();
    }
    open = { session, exchange: body.exchange, size: (open?.size ?? 0) + Number(size ?? 0) };
    const text = stringOf(content)?.slice(0, CHUNK_MAX_BYTES) ?? "";
    const said = splitLabelled(text, stringOf(body.rows) ?? "", toLine(body.first));
    const last = messages.at(-1);
    if (!(said.length === 1 && said[0] && joinPiece(last, said[0]))) {
      messages.push(...said.map((each) => ({ ...each, at, pieces: 1, isAlone: said.length === 1 })));
    }
    const deeds = Array.isArray(body.deeds) ? body.deeds.slice(0, CHUNK_MAX_DEEDS) : [];
    calls.push(...deeds.map((deed) => ({ ...recordOf(deed), who: "tool" })));
  };
  return { take, end };
}

function toLine(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
