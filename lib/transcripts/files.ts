/** Hands out what rooms above ask of a transcript's file, packed or not: where it lies, its size and time, its bytes. */

export { hasPromptsAlone, leftOf, readNote } from "../hosts/blocks.ts";
export { hashBefore, linesForward, NEWLINE, readAt, readFully, withFile } from "../hosts/lines.ts";
export { placeOnDisk, statUnpacked } from "../hosts/packed.ts";
