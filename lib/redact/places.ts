/** Finds secrets by the one place that each is given at: an option of a command, a statement, a sentence, an address, a cookie. */

import { isHex, isStandIn, looksRandom } from "./looks.ts";
import type { Found } from "./secrets.ts";

/** A word that each place has at its beginning, or right behind what is looked back at. */
export const PLACE_WORDS =
  "code(?= is|:)|codes(?= ?:|\\n)|pin(?= ?[:=]| is| was| code)|t?otp(?![a-z])|[2m]fa(?![a-z])|phrase|identified|wifi:|sudo -S|chpasswd|login -|from-literal|net use |htpasswd|rabbitmqctl|(?<![\\w./-])(?:sshpass|vault|mysql\\w*|mariadb|redis-cli|mongo\\w*|cqlsh|mosquitto_\\w+|sqlcmd|bcp|ipmitool|zip|unzip|7z|u?n?rar|ldap[a-z]+|openssl|ssh-keygen|wl?freerdp|xl?freerdp|smbclient|curl|wget|xh|https?|hurl) ";

/** What stands before a value; `@a` goes over other arguments, `@v` is a value, bare or in quotes. */
const COMMANDS = String.raw`
sshpass@a -p ?@v
(?:mysql\w*|mariadb)@a -p@v
login -(?:@a -)?p @v
redis-cli@a -a @v
(?:mongo\w*|cqlsh)@a -p ?@v
mosquitto_\w+@a -P @v
(?:sqlcmd|bcp|ipmitool|zip|unzip)@a -P ?@v
(?:7z|u?n?rar)@a -p@v
ldap\w+@a -[ws] @v
openssl@a -(?:k |(?:pass(?:in|out)? )?pass:)@v
ssh-keygen@a -[NP] @v
[wx]l?freerdp@a /p:@v
smbclient@a -U ?["']?[^\s%"']{1,60}%@v
(?:curl|wget|xh|https?|hurl)@a (?:-u|-a|--(?:proxy-)?user)[ =]{1,2}["']?[^\s:"'$]{1,100}:@v
htpasswd -\w*b\w* \S{1,100} \S{1,60} @v
rabbitmqctl \w+ \S{1,60} @v
vault@a (?:pass(?:word)?|secret|token)=@v
(?<=wpa_)passphrase \S{1,60} @v
net use \S{1,4} \S{1,200} @v(?= /user)
from-literal[= ]["']?[\w.-]{1,60}=@v
(?:(?<=set_)password|auth=)\((?:["'][^"'\n]{1,100}["'], ?){1,2}["']([^"'\n]{4,200})["']
PASSWORD\s{0,4}[=(]?\s{0,4}N?'([^'\n]{3,200})'
(?<=echo ["']?(?:[\w.-]{1,40}:)?([^\s"'$|:]{4,100})["']? ?\| ?(?:sudo )?)(?:sudo -S|chpasswd)
`;
/** Sentences and statements, each behind the kind of what it tells. */
const SENTENCES = String.raw`
password identified(?: with [\w'"]{1,40})? (?:by|as)\s{1,4}["']([^'"\n]{3,200})["']
password (?:creds|credentials?|auth)["']?[ :=]{1,3}["']?[\w.@-]{1,60} ?[:/] ?(@m[^\s"'<>,;/]{6,100})
password (?<=\buse[ds]? ["']?(@m[^\s"'<>]{6,100})["']? as (?:\w{1,12} ){0,2})pass(?:word|phrase)(?! \w)
password (?<=(?:create|alter)\s+(?:user|role|login)\s[^\n;']{0,100})password\s{0,4}=?\s{0,4}'([^'\n]{3,200})'
password wifi:(?:[STH]:[^;\n]{0,64};){0,3}P:([^;\n]{4,100});
code (?<=(?:tion|time|ity|login|sign-?in|2fa|mfa) (?:pass)?)code(?: is|:)@s(\d{3}[ -]\d{3}|\d{4,8})(?!\w|[.-]\w)
password passphrase@s(?:[:=]|is)@s((?:[a-z]{3,12}[ -]){3,9}[a-z]{3,12})(?=["'.,;\s]|$)
code otp(?: is|:)@s(\d{3}[ -]\d{3}|\d{4,8})(?!\w|[.-]\w)
pin (?<=\b(?:my|your|card|door|alarm|sim|phone|unlock) )pin@s(?:[:=]|is|was)@s(\d{4,8})(?!\w|[.-]\w)
code (?<=(?:recovery|backup|scratch|emergency) )codes\W{1,8}((?=[^\n]{0,20}\d)@c(?:["',;\s]{1,4}@c){0,20})
secret (?:t?otp|[2m]fa|(?<=setup[ _-])key)(?:[ _-]?(?:secret|seed|key))?@s(?:[:=]|is)?@s(@t)=*(?![\w-])
mnemonic (?:mnemonic|wallet|seed|phrase)(?:[ _-](?:phrase|words))?@s(?:[:=]|is|are)@s((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b
`;
const PARTS: Record<string, string> = {
  "@a": "[^\\n;]{0,200}?",
  "@v": "(?:\"([^\"$\\n]{3,100})\"|'([^'$\\n]{3,100})'|[\"']?([^\\s\"'|;&<>$:/-][^\\s\"'|;&<>]{2,199}))",
  "@s": "[\"'`*]{0,3}\\s{0,4}[\"'`*]{0,3}",
  "@m": "(?=[^\\s\"'<>]{0,99}\\d)",
  "@c": "[a-z0-9]{4,8}[- ]?[a-z0-9]{4,8}",
  "@t": "[A-Z2-7]{16,128}|(?=[A-Z -]{1,60}[2-7])(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{1,8}",
};

const PLACES: [kind: string, pattern: RegExp][] = [
  ...readRows(COMMANDS).map((row) => ["password", compile(row, "dy")] as [string, RegExp]),
  ["pin", compile("(?:PIN|[Pp]in [Cc]ode)@s(?:[:=]|is|was)@s(\\d{4,8})(?!\\w|[.-]\\w)", "dy")],
  ...readRows(SENTENCES).map(
    (row) => [row.split(" ", 1)[0], compile(row.slice(row.indexOf(" ") + 1), "diy")] as [string, RegExp],
  ),
];

function readRows(table: string): string[] {
  return table.trim().split("\n");
}

function compile(row: string, flags: string): RegExp {
  return new RegExp(
    row.replace(/@[a-z]/g, (part) => PARTS[part] ?? part),
    flags,
  );
}

/** Names of fields and variables. */
const FIELD = /^(?:pass(?:word|wd)?|pwd|secret|token|required)$/i;

/** Reports what is given at this place, and returns where it ends. */
export function findPlaced(text: string, at: number, found: Found): number {
  for (const [kind, pattern] of PLACES) {
    pattern.lastIndex = at;
    const [start, end] = pattern.exec(text)?.indices?.slice(1).find(Boolean) ?? [0, 0];
    const value = text.slice(start, end);
    if (end === 0 || isStandIn(value) || FIELD.test(value)) continue;
    found(start, end, kind);
    return Math.max(at, end);
  }
  return at;
}

const USER = /:\/\/([^\s:@/?#"'`<>[\\]{0,256})(?::([^\s"'`<>\\]{1,256}))?@(?=[\w[$])/g;
const PORT = /^\d{1,5}(?:[/?#]|$)/;
/** Keys as user names, as in a clone URL or the address of an error collector. */
const HEX_USER = /^[0-9a-f]{32,64}$/;

/** A line of a PostgreSQL password file. */
const PGPASS =
  /(?<![\w.*-])[\w.*-]{1,100}:(?:543\d|6432|\*):[\w*-]{1,60}:[\w-]{1,60}:([^:\s"']{3,100})(?=["',]?[ \t]*(?:\n|$))/g;

/** Reports users and passwords in addresses. */
export function findInAddresses(text: string, found: Found): void {
  if (text.includes(":543") || text.includes(":*:") || text.includes(":6432:")) {
    for (const { index, 0: line, 1: password = "" } of text.matchAll(PGPASS))
      found(index + line.length - password.length, index + line.length, "password");
  }
  if (!text.includes("://") || !text.includes("@")) return;
  for (const { index, 1: user = "", 2: whole } of text.matchAll(USER)) {
    const start = index + 3;
    // a password with a slash is believed only where no port and path can be meant
    const password =
      whole !== undefined && (PORT.test(whole) || (whole.includes("/") && user.includes(".")))
        ? undefined
        : whole;
    if (whole !== undefined && password === undefined) continue;
    if (looksRandom(user) || HEX_USER.test(user) || password === "x-oauth-basic")
      found(start, start + user.length, "url-user");
    const at = start + user.length + 1;
    if (password !== undefined && !isTemplate(password)) found(at, at + password.length, "url-password");
  }
}

/** `${PASSWORD}`, `$PASS`, `{password}`, `%PASS%`, `***`, or a marker of ours. */
function isTemplate(value: string): boolean {
  return /^(?:\$[\w{(].*|\{.*\}|%\w+%|\*+|\[redacted:[a-z0-9-]+\]|x{3,}|\.{3,}|…)$/i.test(value);
}

/** A header or an option with cookies. */
const COOKIES = /cookies?["']?[ \t]{0,4}[:= ][ \t]{0,4}["']?(?=[\w.-]{1,60}=)([^\n"']{1,4096})/iy;
const COOKIE = /(?<=(?:^|[;\s])[\w.-]{1,60}=)[^\s;,"']{16,}/g;
const VALUE = /=["']?([A-Za-z0-9%._+/-]{16,})/y;

/** Reports the values of cookies after this name that identify a session, and returns where they end. */
export function findCookies(
  text: string,
  { start, end }: { start: number; end: number },
  found: Found,
): number {
  COOKIES.lastIndex = Math.max(start, end - 7);
  const [whole, cookies = ""] = COOKIES.exec(text) ?? [];
  if (whole === undefined) {
    VALUE.lastIndex = end;
    const value = VALUE.exec(text)?.[1] ?? "";
    if (!isSession(value)) return end;
    found(VALUE.lastIndex - value.length, VALUE.lastIndex, "cookie");
    return VALUE.lastIndex;
  }
  const from = COOKIES.lastIndex - cookies.length;
  for (const { index, 0: value } of cookies.matchAll(COOKIE)) {
    if (isSession(value)) found(from + index, from + index + value.length, "cookie");
  }
  return end;
}

function isSession(value: string): boolean {
  return looksRandom(value) || (isHex(value) && value.length >= 24);
}
