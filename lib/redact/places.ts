/** Finds secrets by the one place that each is given at: an option of a command, a statement, a sentence, an address, a cookie. */

import { isHex, isStandIn, looksRandom } from "./looks.ts";
import { compileTable } from "./plain.ts";
import type { Found } from "./secrets.ts";

/** A word that each place has at its beginning, or right behind what is looked back at. */
export const PLACE_WORDS =
  "code(?= is|:)|codes(?= ?:|\\n)|pin(?= ?[:=]| is| was| code)|t?otp(?![a-z])|[2m]fa(?![a-z])|phrase|identified|wifi:|sudo -S|chpasswd|login -|from-literal|net use |htpasswd|rabbitmqctl|(?<![\\w./-])(?:sshpass|vault|mysql\\w*|mariadb|redis-cli|mongo\\w*|cqlsh|mosquitto_\\w+|sqlcmd|bcp|ipmitool|zip|unzip|7z|u?n?rar|ldap[a-z]+|openssl|ssh-keygen|wl?freerdp|xl?freerdp|smbclient|curl|wget|xh|https?|hurl) ";

/** Kinds, and what stands before a value; `@a` goes over other arguments, `@v` is a value, bare or in quotes. */
const COMMANDS = String.raw`
password (?:sshpass|mongo\w*|cqlsh)@a -p ?@v
password (?:mysql\w*|mariadb|7z|u?n?rar)@a -p@v
password login -(?:@a -)?p @v
password redis-cli@a -a @v
password (?:sqlcmd|bcp|ipmitool|zip|unzip|mosquitto_\w+)@a -P ?@v
password ldap\w+@a -[ws] @v
password openssl@a -(?:k |(?:pass(?:in|out)? )?pass:)@v
password ssh-keygen@a -[NP] @v
password [wx]l?freerdp@a /p:@v
password smbclient@a -U ?["']?[^\s%"']{1,60}%@v
password (?:curl|wget|xh|https?|hurl)@a (?:-u|-a|--(?:proxy-)?user)[ =]{1,2}["']?[^\s:"'$]{1,100}:@v
password htpasswd -\w*b\w* \S{1,100} \S{1,60} @v
password rabbitmqctl \w+ \S{1,60} @v
password vault@a (?:pass(?:word)?|secret|token)=@v
password (?<=wpa_)passphrase \S{1,60} @v
password net use \S{1,4} \S{1,200} @v(?= /user)
password from-literal[= ]["']?[\w.-]{1,60}=@v
password (?:(?<=set_)password|auth=)\((?:["'][^"'\n]{1,100}["'], ?){1,2}["']([^"'\n]{4,200})["']
password PASSWORD\s{0,4}[=(]?\s{0,4}N?'([^'\n]{3,200})'
password (?<=echo ["']?(?:[\w.-]{1,40}:)?([^\s"'$|:]{4,100})["']? ?\| ?(?:sudo )?)(?:sudo -S|chpasswd)
pin (?:PIN|[Pp]in [Cc]ode)@s(?:[:=]|is|was)@s(\d{4,8})(?!\w|[.-]\w)
`;
/** Sentences and statements. */
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

const PLACES = [...compileTable(COMMANDS, PARTS, "dy"), ...compileTable(SENTENCES, PARTS, "diy")];

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
/** `${PASSWORD}`, `$PASS`, `{password}`, `%PASS%`, `***`, or a marker of ours. */
const TEMPLATE = /^(?:\$[\w{(].*|\{.*\}|%\w+%|\*+|\[redacted:[a-z0-9-]+\]|x{3,}|\.{3,}|…|)$/i;
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
  for (const { index, 1: user = "", 2: password = "" } of text.matchAll(USER)) {
    const start = index + 3;
    // a slash is believed only where no port and path can be meant
    if (PORT.test(password) || (password.includes("/") && user.includes("."))) continue;
    if (looksRandom(user) || HEX_USER.test(user) || password === "x-oauth-basic")
      found(start, start + user.length, "url-user");
    const at = start + user.length + 1;
    if (!TEMPLATE.test(password)) found(at, at + password.length, "url-password");
  }
}

const SESSION = /=["']?([A-Za-z0-9%._+/-]{16,4096})/y;

/** Reports the value of a cookie or parameter that identifies a session, and returns where it ends. */
export function findSession(text: string, nameEnd: number, found: Found): number {
  SESSION.lastIndex = nameEnd;
  const value = SESSION.exec(text)?.[1] ?? "";
  if (!looksRandom(value) && !(isHex(value) && value.length >= 24)) return nameEnd;
  found(SESSION.lastIndex - value.length, SESSION.lastIndex, "cookie");
  return SESSION.lastIndex;
}
