/** Finds users and passwords in addresses. */

import type { ReportSecret } from "./formats.ts";
import { looksRandom } from "./looks.ts";

const USER = /:\/\/([^\s:@/?#"'\x60<>[\\]{0,256})(?::([^\s"'\x60<>\\]{1,256})@|@(?=[\w[$]))/g;
/** `${PASSWORD}`, `$PASS`, `{password}`, `%PASS%`, `***`, or a marker of ours. */
const TEMPLATE = /^(?:\$[\w{(].*|\{.*\}|%\w+%|\*+|\[redacted:[a-z0-9-]+\]|x{3,}|\.{3,}|…|)$/i;
const PORT = /^\d{1,5}(?:[/?#]|$)/;
/** Keys as user names, as in a clone URL or the address of an error collector. */
const HEX_USER = /^[0-9a-f]{32,64}$/;

/** Passwords at a place without a scheme: in PostgreSQL's password files, and for the drivers of Go and Oracle. */
const UNNAMED =
  /(?<![\w.*-])[\w.*-]{1,100}:(?:543\d|6432|\*):[\w*-]{1,60}:[\w-]{1,60}:((?:[^:\s"'\\]|\\.){3,100})(?=["',}\]]{0,4}[ \t]*(?:\n|$))|(?<![\w:/.-])[\w.-]{1,60}:([^\s"'\x60:@[\]]{3,100})@(?:tcp|unix)\(|:thin:[\w.-]{1,60}\/([^\s"'\x60@/[\]]{3,100})@/dg;

/** Reports users and passwords in addresses. */
export function findInAddresses(text: string, found: ReportSecret): void {
  if (/:(?:543|\*:|6432:|thin:)|@(?:tcp|unix)\(/.test(text)) {
    for (const { indices } of text.matchAll(UNNAMED)) {
      const [start, end] = indices?.slice(1).find(Boolean) ?? [0, 0];
      if (!TEMPLATE.test(text.slice(start, end))) found(start, end, "password");
    }
  }
  if (!text.includes("://") || !text.includes("@")) return;
  for (const { index, 1: user = "", 2: password = "" } of text.matchAll(USER)) {
    const start = index + 3;
    // a slash is believed only where no port and path can be meant
    if (PORT.test(password) || (password.includes("/") && user.includes("."))) continue;
    if (looksRandom(user) || HEX_USER.test(user) || password === "x-oauth-basic")
      found(start, start + user.length, "url-user");
    const at = start + user.length + 1;
    const isCut = password.length < 3 && !/[\w[$]/.test(text.charAt(at + password.length + 1));
    if (!isCut && !TEMPLATE.test(password)) found(at, at + password.length, "url-password");
  }
}
