/**
 * Replaces secrets by three questions asked of a text without its escapes: does a part have a known shape, is it near a name
 * that announces a secret, does it look random by itself?
 */

import { findInAddresses } from "./addresses.ts";
import { unescapeText } from "./escapes.ts";
import {
  type CharacterRun,
  findCards,
  findFormat,
  findMiddles,
  type ReportSecret,
  type Scan,
  scan,
} from "./formats.ts";
import { endOfBody, findKeyArrays, findKeyBlocks, isBodyLine } from "./keys.ts";
import { decode, looksRandom } from "./looks.ts";
import { BARE } from "./names.ts";
import { endOfValue, findAnnounced, findForeign, type Judge } from "./places.ts";
import { isSecret } from "./table.ts";

interface Span {
  start: number;
  end: number;
  kind: string;
  /** Whether it was found by its looks alone. */
  isGuess?: boolean;
}

const TOKEN = /[A-Za-z0-9+][A-Za-z0-9+/_-]{15,}={0,2}/g;
/** Nearly all long runs of ordinary text are names and paths without a digit. */
const UNUSUAL = /\d|[a-z][A-Z][a-z]?[A-Z]/;
/** Pictures and fonts within a page hold no secret. */
const MEDIA = /data:(?:image|font|audio|video|application)\/[\w.+-]{1,40}(?:;[\w=-]{1,30})?;base64,$/;

/** `pw=` and four characters. */
const SHORTEST = 7;

/** Replaces every secret by a marker of its kind. What was found by its looks alone is no value to look for elsewhere. */
export function replaceSecrets(
  text: string,
  taken?: (value: string, kind: string) => void,
  decide = isSecret,
): string {
  if (text.length < SHORTEST) return text;
  const plain = unescapeText(text);
  const spans = findSecrets(plain.text, scan(plain.text), decide);
  if (spans.length === 0) return text;
  if (taken)
    for (const { start, end, kind, isGuess } of spans)
      if (!isGuess) taken(plain.text.slice(start, end), kind);
  let result = "";
  let done = 0;
  for (const { start, end, kind } of merge(spans)) {
    const from = Math.max(done, plain.original(start));
    const to = plain.original(end);
    if (to <= from) continue;
    result += `${text.slice(done, from)}[redacted:${kind}]`;
    done = to;
  }
  return result + text.slice(done);
}

/** Puts spans in order; of two that overlap, a guess goes, else the one that begins first grows. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (!last || span.start >= last.end) merged.push({ ...span });
    else if (last.isGuess && !span.isGuess) merged[merged.length - 1] = { ...span };
    else if (!span.isGuess) last.end = Math.max(last.end, span.end);
  }
  return merged;
}

function findSecrets(
  text: string,
  { words, prefixes, runs, isForeign }: Scan,
  decide: typeof isSecret,
): Span[] {
  const spans: Span[] = [];
  const found = (start: number, end: number, kind: string) => spans.push({ start, end, kind });
  const blocks = findKeyBlocks(text, found);
  const isShown = text.includes(";base64,")
    ? (at: number) => MEDIA.test(text.slice(Math.max(0, at - 90), at))
    : () => false;
  const tokens = runs.filter(({ start, end }) => UNUSUAL.test(text.slice(start, end)) && !isShown(start));
  let from = 0;
  for (const at of prefixes) if (at >= from) from = findFormat(text, at, found);
  for (const run of tokens) findMiddles(text, run, found);
  const judge: Judge = (candidate) => {
    const isFound = decide(text, candidate);
    if (isFound) found(candidate.start, endOfValue(text, candidate), candidate.kind);
    return isFound;
  };
  findAnnounced(text, words, judge);
  if (isForeign) findForeign(text, judge);
  findInAddresses(text, found);
  findCards(text, found);
  findKeyArrays(text, found);
  const guessed = (start: number, end: number, kind: string) =>
    spans.push({ start, end, kind, isGuess: true });
  let [until, next] = [0, 0];
  for (const run of tokens) {
    for (let block = blocks[next]; block && block.start <= run.start; block = blocks[++next])
      until = Math.max(until, block.end);
    until = findRandom(text, { ...run, until }, guessed, decide);
  }
  return spans;
}

/**
 * Reports what looks random in a run, and base64 of a text that holds a secret, but not before `until`, where a key's body ends;
 * returns where the last body ends. From each line of a body the same end would be found.
 */
function findRandom(
  text: string,
  { start: from, end, until }: CharacterRun & { until: number },
  found: ReportSecret,
  decide: typeof isSecret,
): number {
  let done = until;
  for (const { index, 0: token } of text.slice(from, end).matchAll(TOKEN)) {
    const start = from + index;
    if (start < done) continue;
    const place = { start, end: start + token.length };
    const inner = decode(token);
    if (inner !== undefined && findSecrets(inner, scan(inner), decide).length > 0) {
      found(start, place.end, "secret");
    } else if (isRandom(text, { ...place, way: inner === undefined ? "run" : "encoded" }, decide)) {
      if (isBodyLine(text, place)) {
        done = endOfBody(text, start);
        found(start, done, "private-key");
      } else found(start, place.end, "secret");
    }
  }
  return done;
}

/** Shorter ones are mostly ids, longer ones pictures, certificates, source maps and signatures. */
const [MIN, MAX] = [20, 200];

function isRandom(
  text: string,
  { start, end, way }: CharacterRun & { way: string },
  decide: typeof isSecret,
): boolean {
  const token = text.slice(start, end);
  if (token.length < MIN || token.length > MAX || !/^(?=.*[A-Z])(?=.*[a-z]).*\d/.test(token)) return false;
  // nearly all are paths, which the table need not be asked about
  if (!looksRandom(token)) return false;
  return decide(text, {
    start,
    end,
    kind: "secret",
    level: BARE,
    way,
    isQuoted: false,
    name: { text: "", start, end: start },
  });
}
