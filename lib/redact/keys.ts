/** Finds key material by its blocks: PEM and PuTTY files, whole, cut, or only lines of a body; words of a wallet. */

import { contentStart } from "./plain.ts";
import type { Found } from "./secrets.ts";

const BEGIN = /-----BEGIN ([A-Za-z0-9 ]{0,60}?)-----/g;
const PRIVATE = /PRIVATE KEY(?: BLOCK)?$|^OpenVPN Static key/i;
/** The longest body that a block with an end is believed to have: a 16 Ki bit RSA key is 13 KB. */
const BODY_MAX = 40_000;
/** A long piece of base64, which only a key's body contains. */
const MATERIAL = /[A-Za-z0-9+/=]{20}/;
const HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): /y;
const BODY_LINE = /[A-Za-z0-9+/=_-]{16,}/y;
const LAST_LINE = /(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/]{1,76}={0,2}(?=["',]?\s*?(?:\n|$))/y;
const PUTTY = /Private-Lines: \d{1,3}[\s]/g;

/** Reports private key blocks and returns the places of all blocks. A mere mention of a `BEGIN` line stays. */
export function findKeyBlocks(text: string, found: Found): { start: number; end: number }[] {
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

/** Returns where lines of base64 or of key headers end, each after what editors and quotes put before a line. */
export function endOfBody(text: string, from: number): number {
  let end = from;
  for (let at = from; at < text.length; ) {
    const start = skipBetween(text, at);
    HEADER.lastIndex = start;
    BODY_LINE.lastIndex = start;
    if (HEADER.test(text)) at = lineEnd(text, start);
    else if (BODY_LINE.test(text)) at = BODY_LINE.lastIndex;
    else {
      LAST_LINE.lastIndex = start;
      const isNext = /^[^\n]*\n[^\n]*$/.test(text.slice(at, start));
      return isNext && end > from && LAST_LINE.test(text) ? LAST_LINE.lastIndex : end;
    }
    end = at;
  }
  return end;
}

/** Skips line ends, quotes, commas, joints of strings and line prefixes. */
function skipBetween(text: string, from: number): number {
  let at = from;
  while (at < text.length && at - from < 120) {
    const code = text.charAt(at);
    if (code === "\n") at = contentStart(text, at + 1);
    else if (" \t\r\"'`,+|>\\".includes(code)) at++;
    else break;
  }
  return at;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

const ARRAY = /\[\s{0,8}((?:\d{1,3}\s{0,8},\s{0,8}){63}\d{1,3}),?\s{0,8}\]/g;

/** Reports keys written as 64 bytes. */
export function findKeyArrays(text: string, found: Found): void {
  for (const { index, 0: whole, 1: bytes = "" } of text.matchAll(ARRAY)) {
    if (bytes.split(",").every((byte) => Number(byte) < 256))
      found(index + 1, index + whole.length - 1, "private-key");
  }
}
