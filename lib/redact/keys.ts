/** Finds private keys: in blocks, in lines without their block, as arrays of bytes. */

import type { ReportSecret } from "./formats.ts";
import { contentStart } from "./lines.ts";

const BEGIN = /-----BEGIN ([A-Za-z0-9 ]{0,60}?)-----/g;
const PRIVATE = /PRIVATE KEY(?: BLOCK)?$|^OpenVPN Static key/i;
/** The longest body that a block with an end is believed to have: a 16 Ki bit RSA key is 13 KB. */
const BODY_MAX = 40_000;
/** A long piece of base64, which only a key's body contains. */
const MATERIAL = /[A-Za-z0-9+/=]{20}/;
/** A line of base64 or a key's header, after what editors, diffs and quotes put before a line. */
const BODY_LINE =
  /(?:\s|["'\x60+>|,\\]|\d{1,5}(?:[→:|-]|\t)){0,80}(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\n]{0,200}|[A-Za-z0-9+/=_-]{16,})/y;
/** The last, shorter line. */
const BODY_END =
  /["'\x60,]?\s?\n[\s+>|"'\x60]{0,80}(?:\d{1,5}(?:[→:|-]|\t))?(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/]{1,76}={0,2}(?=["',]?\s*?(?:\n|$))/y;
const PUTTY = /Private-Lines: \d{1,3}[\s]/g;

/** Reports private key blocks and returns the places of all blocks. A mere mention of a `BEGIN` line stays. */
export function findKeyBlocks(text: string, found: ReportSecret): { start: number; end: number }[] {
  const open: { start: number; end: number }[] = [];
  let end = -2;
  if (text.includes("-----BEGIN ")) {
    for (const { index, 0: begin, 1: label = "" } of text.matchAll(BEGIN)) {
      if (index < (open.at(-1)?.end ?? 0)) continue;
      const body = index + begin.length;
      // looked for once and kept, so that many beginnings without an end stay linear
      if (end !== -1 && end < body) end = text.indexOf("-----END", body);
      const until = endOfBlock(text, body, end);
      if (PRIVATE.test(label) && MATERIAL.test(text.slice(body, until))) found(index, until, "private-key");
      open.push({ start: index, end: until });
    }
  }
  if (text.includes("Private-Lines: ")) {
    for (const { index, 0: head } of text.matchAll(PUTTY)) {
      const body = index + head.length;
      const until = endOfBody(text, body);
      if (until > body) found(body, until, "private-key");
    }
  }
  return open;
}

/** A block ends at its own end, else where what follows is no body any more. */
function endOfBlock(text: string, body: number, end: number): number {
  const inner = end === -1 || end - body > BODY_MAX ? undefined : text.slice(body, end);
  if (inner !== undefined && !inner.includes("-----BEGIN") && MATERIAL.test(inner)) {
    const close = text.indexOf("-----", end + 8);
    if (close !== -1 && close - end < 80) return close + 5;
  }
  return endOfBody(text, body);
}

/** Returns where a body that begins here ends. */
export function endOfBody(text: string, from: number): number {
  let end = from;
  // a step for each line: an engine that holds all of them to go back on gets slow with thousands
  for (BODY_LINE.lastIndex = from; BODY_LINE.test(text); ) end = BODY_LINE.lastIndex;
  BODY_END.lastIndex = end;
  return BODY_END.test(text) ? BODY_END.lastIndex : end;
}

const ARRAY = /\[\s{0,8}((?:\d{1,3}\s{0,8},\s{0,8}){63}\d{1,3}),?\s{0,8}\]/g;

/** Reports keys written as 64 bytes. */
export function findKeyArrays(text: string, found: ReportSecret): void {
  if (text.search(ARRAY) === -1) return;
  for (const { index, 0: whole, 1: bytes = "" } of text.matchAll(ARRAY)) {
    if (bytes.split(",").every((byte) => Number(byte) < 256))
      found(index + 1, index + whole.length - 1, "private-key");
  }
}

/** A line of nothing but base64, after what editors and diffs put before it: of some length, or the last, padded one. */
const KEY_LINE =
  /^([ \t]*(?:\d{1,6}[→:|\t-]|[+>|-](?=[\sA-Za-z0-9+/]))?[ \t]*)((?=[^\n]*[A-Z])(?=[^\n]*[a-z])[A-Za-z0-9+/]{16,76}|[A-Za-z0-9+/]{2,75}={1,2})(?=[ \t"',]*$)/gm;

/** Returns a text that follows one in which a key was open, without the lines of that key. */
export function replaceKeyLines(text: string): string {
  return text.replace(KEY_LINE, "$1[redacted:private-key]");
}

/** Returns whether a key is open where a text ends; undefined if the text says nothing of it. */
export function leavesKeyOpen(text: string): boolean | undefined {
  if (text.includes("-----")) {
    const begin = Math.max(text.lastIndexOf("PRIVATE KEY-----"), text.lastIndexOf("PRIVATE KEY BLOCK-----"));
    const end = text.lastIndexOf("-----END ");
    if (begin !== -1 || end !== -1) return begin !== -1 && text.lastIndexOf("-----BEGIN ", begin) > end;
  }
  const tail = text.slice(-120).trimEnd();
  const last = tail.slice(tail.lastIndexOf("\n") + 1);
  return /^.{0,24}[A-Za-z0-9+/]{60,76}$/s.test(last) ? true : undefined;
}

/** Lines of a key's body are this long. */
const [LINE_MIN, LINE_MAX] = [60, 76];

/** Returns whether a run is one whole line of a key's body. */
export function isBodyLine(text: string, { start, end }: { start: number; end: number }): boolean {
  if (end - start < LINE_MIN || end - start > LINE_MAX) return false;
  return start - contentStart(text, start) <= 1 && /^["',]?\s*?(?:\n|$)/.test(text.slice(end, end + 8));
}
