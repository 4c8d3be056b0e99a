/** Finds what looks random by itself and is none of: a hash, an id, a sum of a lock file, a data URL, a path, a name. */

import { hasWords, isHex, isUuid, looksRandom } from "./looks.ts";
import { contentStart } from "./plain.ts";

/** Shorter ones are mostly ids. */
const MIN = 20;
/** Longer ones are pictures, certificates, source maps and signatures. */
const MAX = 200;
/** Lines of a key's body are this long. */
const [BODY_MIN, BODY_MAX] = [60, 76];

/** What stands before a value that is public: a sum, an id, a public key, a place in a list. */
const PUBLIC_BEFORE =
  /(?:\bsha\d{1,3}(?:[-:=_ ]|sum)|SHA256:|\bmd5[-:=]|\bh1:|base64,|nonce[-=]|["'][xyne]["']\s?:\s?["']|ssh-\w+ |ecdsa-\S{1,30} |W\/"|(?:id|hash|digest|checksum|integrity|fingerprint|etag|nonce|commit|sha|rev|cursor|uuid|ref|guid|version|sum|md5|thumbprint|mappings|public_?key|pubkey|name|class(?:Name)?|type|file|path|url|href|src)["'`]?\s{0,2}[:=>]{1,2}\s{0,2}["'`]?)$/i;
/** `toolu_01…`, `chatcmpl-9a…`, `cus_N…`: what a short word begins is an id. */
const ID = /^(?:[A-Za-z]{1,12}[_-]){1,3}[A-Za-z0-9]+$|^[0-9a-f]{6,}(?:-[0-9A-Za-z]{1,12})+$/;
/** Certificates, public keys and sums say so at their beginning. */
const PUBLIC = /^(?:MII.{3}CC|MII.{3}ANBgkq|MFkwEwYH|MCowBQYDK2V|AAAA[BCE]|sha\d{1,3}-|h1:)/;
const ADDRESS_OF_SECRET = /reset|invite|magic|verif|confirm|token|hook|unsubscribe|auth|secret/i;

/** Returns whether a run of base64 characters is a secret by its looks, and where that ends. */
export function isRandom(text: string, { start, end }: { start: number; end: number }): boolean {
  const length = end - start;
  if (length < MIN || length > MAX) return false;
  const token = text.slice(start, end);
  if (!/[A-Z]/.test(token) || !/[a-z]/.test(token) || !/[0-9]/.test(token)) return false;
  if (isHex(token) || isUuid(token) || ID.test(token) || PUBLIC.test(token) || hasWords(token)) return false;
  if (!looksRandom(token.replace(/[+/=]/g, "")) || isPath(token)) return false;
  if (/^(?:\.[A-Za-z]\w{0,4}\b|@)/.test(text.slice(end, end + 6))) return false;
  if (PUBLIC_BEFORE.test(text.slice(Math.max(0, start - 40), start))) return false;
  return !isInAddress(text, start);
}

/** A path has segments that are words; base64 has a slash in about one of 64 characters. */
function isPath(token: string): boolean {
  if (!/[/_-]/.test(token)) return false;
  if (/^(?:[a-z]{2,}|[A-Z][a-z]+)\//.test(token)) return true;
  const parts = token.split(/[/_-]/);
  const words = parts.filter((part) =>
    /^(?:(?:[A-Z]?[a-z]{2,}){1,6}\d*|\d+|[A-Z]{2,}|[0-9a-f]{7,40})$/.test(part),
  );
  return (
    words.join("").length > token.length / 4 || !parts.some((part) => looksRandom(part) || part.length >= 12)
  );
}

/** The path of an address is no secret unless it says so; its parameters may be. */
function isInAddress(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 300), start);
  const address = /[\w+.-]{2,20}:\/\/[^\s"'<>]*$/.exec(before)?.[0];
  if (address === undefined) return /[\w.-]\/$|@$/.test(before);
  return !/[?#&;]/.test(address) && !ADDRESS_OF_SECRET.test(address);
}

/** Returns whether a run is one whole line of a key's body. */
export function isBodyLine(text: string, { start, end }: { start: number; end: number }): boolean {
  if (end - start < BODY_MIN || end - start > BODY_MAX) return false;
  const line = text.lastIndexOf("\n", start - 1) + 1;
  return start - contentStart(text, line) <= 1 && /^["',]?\s*?(?:\n|$)/.test(text.slice(end, end + 8));
}

/** Returns the text that a run of base64 hides, if it hides one. */
export function decode(run: string): string | undefined {
  if (run.length < 16 || run.length > 16_384 || !/[A-Z]/.test(run) || !/[a-z]/.test(run)) return undefined;
  try {
    if (!/^[\t\n\r -~]+$/.test(atob(run.slice(0, 16).replaceAll("-", "+").replaceAll("_", "/"))))
      return undefined;
    const text = atob(run.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/"));
    return /^[\t\n\r -~]+$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
