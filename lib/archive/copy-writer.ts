/** Writes our copies of sessions whose lines are at hand, and lists them: a new file, or blocks behind the ones there. */

import type { JsonRecord } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { appendBlocks, writeBlocks } from "../hosts/blocks.ts";
import { removeStored } from "../hosts/names.ts";
import { keepCopyList, type SourceStates } from "../sessions/copy-list.ts";
import { archivePlace, type CopyOf } from "../sessions/places.ts";

/** The session of a copy, with the one that it works for. */
export interface CopyFor extends CopyOf {
  parent?: string | undefined;
}

interface CopyText {
  /** The note beside the session: in `append` only values that are short. */
  note: JsonRecord;
  /** The time that the copy gets, ISO. @default the one that it has */
  at?: string | undefined;
  /** True if it is on disk before it counts, since nothing else could make it again. */
  durable: boolean;
}

/** Writes copies; the table that lists them follows at the end. */
export interface CopyWriter {
  /** Writes lines in place of a copy that may be there. */
  write(whose: CopyFor, lines: string, text: CopyText): void;
  /** Adds lines to a copy: killed meanwhile, it has the lines and the note of before. */
  append(whose: CopyFor, lines: string, text: CopyText): void;
  remove(whose: CopyFor): void;
  /** Lists a copy that was written otherwise. */
  list(file: string): void;
  /** Lists what was written, and in what state hosts' files were read for it; returns the copies. */
  end(states?: SourceStates): ReadonlySet<string>;
}

export function copyWriter(paths: Pick<Paths, "copies">): CopyWriter {
  const written = new Set<string>();
  return {
    write(whose, lines, { note, at, durable }) {
      const file = archivePlace(paths, whose);
      const writer = writeBlocks(file, { durable, about: { ...whose, ...note } });
      try {
        writer.write(Buffer.from(lines));
      } catch (error) {
        writer.abandon();
        throw error;
      }
      writer.end({}, at);
      written.add(file);
    },
    append(whose, lines, { note, at, durable }) {
      const file = archivePlace(paths, whose);
      appendBlocks(file, Buffer.from(lines), { note, durable, at });
      written.add(file);
    },
    list: (file) => void written.add(file),
    remove(whose) {
      removeStored(archivePlace(paths, whose));
    },
    end(states) {
      keepCopyList(paths, { written, ...(states && { states }) });
      return written;
    },
  };
}
