/** Looks at each character of a text once: where words begin that may announce a secret, and which long runs it has. */

import { listPrefixes } from "./formats.ts";

export interface Run {
  start: number;
  end: number;
}

interface Scan {
  /** Where a word may begin that announces a secret. */
  words: number[];
  /** Where a token of a known format may begin. */
  prefixes: number[];
  /** Runs of characters that tokens consist of, as long as a token is at least. */
  runs: Run[];
}

const RUN_MIN = 16;
/** The first letters of all such words; of those with two, any third may follow. */
const STARTS =
  "pas pwd psk pw ken sen wac has hes sif los sal adg pep sec cre mne geh seg tok key aut bea bas sig cla wal see coo ses sid mas roo cod pin otp tot 2fa mfa phr ide wif sud chp log fro net htp rab ssh vau mys mar red mon cql mos sql bcp ipm zip unz 7z rar unr ldap ope xh wlf xlf wfr smb cur wge htt hur".split(
    " ",
  );
/** Letters are 1 to 26 whatever their case, digits 27, other characters of tokens 28, all others 0. */
const CODES = new Uint8Array(128);
const [WORD, PREFIX] = [1, 2];
let beginnings: Uint8Array | undefined;

function buildBeginnings(): Uint8Array {
  const built = new Uint8Array(1 << 15);
  for (let code = 33; code < 127; code++) {
    const character = String.fromCharCode(code);
    if (/[A-Za-z]/.test(character)) CODES[code] = code & 31;
    else if (/\d/.test(character)) CODES[code] = 27;
    else if ("_+-/=.~$%:*}".includes(character)) CODES[code] = 28;
  }
  const add = (word: string, bit: number) => {
    const [first = 0, second = 0, third] = [...word].map((letter) => CODES[letter.charCodeAt(0)] ?? 0);
    const pair = (first << 10) | (second << 5);
    for (let code = third ?? 0; code <= (third ?? 31); code++)
      built[pair | code] = (built[pair | code] ?? 0) | bit;
  };
  for (const start of STARTS) add(start, WORD);
  for (const prefix of listPrefixes()) add(prefix, PREFIX);
  return built;
}

/** Scans a text. */
export function scan(text: string): Scan {
  beginnings ??= buildBeginnings();
  const found: Scan = { words: [], prefixes: [], runs: [] };
  let trigram = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text.charCodeAt(i);
    const code = character < 128 ? (CODES[character] ?? 0) : 0;
    trigram = ((trigram << 5) | code) & 0x7fff;
    const begins = beginnings[trigram] ?? 0;
    if (begins & WORD) found.words.push(i - 2);
    if (begins & PREFIX && !isInWord(text, i - 3)) found.prefixes.push(i - 2);
    if (code !== 0) continue;
    if (i - start >= RUN_MIN) found.runs.push({ start, end: i });
    start = i + 1;
  }
  if (text.length - start >= RUN_MIN) found.runs.push({ start, end: text.length });
  return found;
}

function isInWord(text: string, at: number): boolean {
  const code = at < 0 ? 0 : text.charCodeAt(at);
  return code < 128 && (CODES[code] ?? 0) - 1 < 27 && (CODES[code] ?? 0) > 0;
}
