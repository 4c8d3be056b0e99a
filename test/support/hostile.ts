/** Hostile texts: one character or form over and over, as nobody writes and any file may hold. */

import { listPrefixes } from "../../lib/redact/formats.ts";
import { seeded } from "./random.ts";

const CHARACTERS = [
  ..."\0\u0001\u0007\t\n\r\u001b !\"#$%&'()*+,-./0189:;<=>?@AZaz[\\]^_`{|}~\u007f",
  ..."\u0080\u0090\u009b\u009c\u009d\u00a0\u00adéßİı中あア한กاא\u0301\u200b\u200d\u2028\u202e‘“…—。、！\u3000\ue000\ufe0f\ufeff\ufffd",
  ..."😀👩‍👩‍👧\u{e0041}\u{e0100}",
  "\ud83d",
  "\udc00",
];

/** Forms that some pattern begins with, and pieces of language, markup, code and logs. */
const FORMS = [
  'com.example.pkg.|a.|a-|a_|aB|aB1|A1-|1.|1,|1:|10:30 |2026-02-03 |/a|../|a/b.ts |~/a |C:\\a\\|\\n|\\\\n|\\"',
  'a@b.|@@|@@a |@@"|http://a/|http://a:b@|://|://a:|?a=b&|a=b; |a=b&|key=|key: |"key":|password=|password: ',
  "password is |the password for a |PASSWORD '|IDENTIFIED BY |<password>|<token a|machine a login b |sshpass -p |docker login ",
  'curl -d a&|curl -u a:|mysql -p|mongosh -p |openssl -k |mnemonic: a |passphrase: abc |abc abc |_TOKEN |getenv("A_TOKEN", ',
  '${A_KEY:-|A_SECRET || "|Cookie: |a=bbbbbbbbbbbbbbbb;|Bearer |bearer a|[redacted:|[redacted:x]|--password |--a-b ',
  '{|}|{"a":|[[|]]|((|))|<a>|</a>|<a |<!--|<system-reminder>|</system-reminder>|<skill name=a>|```|```\n|~~~\n|`a` |**a** |__a__ ',
  "- |- [ ] |* |1. |# |> || a |--- |\n\n|\n |\n- |\r\n|\t|. |a. |A. |? |! |a, |a; |: |; |- a\n|# a\n|1. a\n|> a\n",
  "I will |I'll |we decided to use |Decided: |never |always |please |don't |must |should |ok |no, |yes |wait |TODO |fix the |add |let's ",
  "error: |Error: a\n|  at a (b:1:2)\n|FAIL |warning: |npm test && |git commit -m 'a' |git commit -m \"|cd a && |a; b | \\\n|$(a) |sudo ",
  "yesterday |last tuesday |in May |Christmas |at 5 |am 24. |5 pm |two days ago |next week |phase 1 |v1.2.3 |#123 |~1 |@@a~1 |@@a: b",
  "\u001b[31m|\u001b]0;a|\u001b]8;;|\u001bP|\u001b[0|\u009b31|\u009d0;a|a\u0301|👍🏽|🇩🇪|中文。|これは|한국어 |שלום |العربية ",
].flatMap((group) => group.split("|"));

const BLOCKS = [
  `-----BEGIN ${"PRIVATE"} KEY-----\n`,
  "-----END ",
  "Private-Lines: 1\nAAAA\n",
  "$2b$10$",
  "$6$a$",
  "eyJ",
  "eyJhbGciOiJ9.",
];

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Long words without a break. */
const ALPHABETS: [name: string, alphabet: string][] = [
  ["hexadecimal", "0123456789abcdef"],
  ["base64", BASE64],
  ["base64url", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"],
  ["letters", "abcdefghijklmnopqrstuvwxyz"],
  ["digits", "0123456789"],
  ["dotted", "abcdefghij.."],
  ["words", "abcdefghij      "],
  ["lines", "abcdefghij    \n"],
  ["Chinese", "的一是不了人我在有他这为之大来以个中上们"],
  ["signs", "!#$%&()*+,-./:;<=>?@[]^_{|}~"],
];

/** Base64 and hexadecimal digits in lines, as files, editors, diffs and mails have them. */
const LINES: [name: string, alphabet: string, line: (text: string, index: number) => string][] = [
  ["base64 in lines", BASE64, (text) => `${text}\n`],
  ["base64 in CRLF lines", BASE64, (text) => `${text}\r\n`],
  ["base64 in numbered lines", BASE64, (text, index) => `${index + 1}→${text}\n`],
  ["base64 in a quote", BASE64, (text) => `> ${text}\n`],
  ["base64 in a diff", BASE64, (text) => `+${text}\n`],
  ["base64 in escaped lines", BASE64, (text) => `${text}\\n`],
  ["base64 in code", BASE64, (text) => `  "${text}\\n" +\n`],
  ["base64 behind a key's beginning", BASE64, (text, index) => `${index === 0 ? BLOCKS[0] : ""}${text}\n`],
  ["base64 in words", BASE64, (text) => `${text.slice(0, 40)} `],
  ["hexadecimal in lines", "0123456789abcdef", (text) => `${text}\n`],
  ["digits in a list", "0123456789", (text) => text.replace(/(..)/g, "$1, ")],
];
const LINE_CHARS = 76;

interface HostileText {
  name: string;
  /** The text at about so many UTF-16 units. */
  of: (length: number) => string;
}

/** All of them, with the beginnings of tokens where those are wanted. */
export function hostileTexts({ tokens }: { tokens: boolean }): HostileText[] {
  const literals = tokens ? listPrefixes() : [];
  const repeated = [...new Set([...CHARACTERS, ...FORMS, ...BLOCKS, ...literals])]
    .filter(Boolean)
    .map((form) => ({
      name: JSON.stringify(form),
      of: (length: number) => `${form.repeat(Math.ceil(length / form.length))}!`,
    }));
  const random = ALPHABETS.map(([name, alphabet]) => ({
    name: `random ${name}`,
    of: (length: number) => randomText([...alphabet], length),
  }));
  const lines = LINES.map(([name, alphabet, line]) => ({
    name,
    of: (length: number) =>
      randomText([...alphabet], length).replace(/.{76}/g, (text, at) => line(text, at / LINE_CHARS)),
  }));
  return [...repeated, ...random, ...lines];
}

function randomText(alphabet: readonly string[], length: number): string {
  const random = seeded(1);
  return Array.from({ length }, () => alphabet[random.integer(0, alphabet.length - 1)]).join("");
}
