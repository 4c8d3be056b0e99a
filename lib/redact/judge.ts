/** Decides whether a value is a secret, by rules that name features of its name, of its place and of its look. */

import { isUuid } from "../base/text.ts";
import { featureOf, type Part } from "./features.ts";
import {
  isMostlyWords,
  isPath,
  isStandIn,
  isWords,
  LOOKS,
  type Look,
  longestPart,
  lookAt,
  looksRandom,
  RANDOM_MIN,
} from "./looks.ts";
import { NAMES_SECRET, type Name } from "./names.ts";

export interface Value {
  text: string;
  start: number;
  end: number;
  /** The name of the way in which it follows its name. */
  way: string;
  isQuoted: boolean;
}

const LOOK_NAMES = new Set<string>(LOOKS.map(([name]) => name));
/** Features of a value. */
const TESTS: Record<string, (value: string) => boolean> = {
  words: isWords,
  uuid: isUuid,
  looksRandom,
  "stand-in": (value) => isStandIn(value),
  "names-secret": (value) => NAMES_SECRET.test(value),
  "mostly-words": isMostlyWords,
  "path-like": isPath,
  "random-letters": (value) => looksRandom(value.replace(/[+/=]/g, "")),
  "random-part": (value) => lookAt(longestPart(value)) === "random",
  "scrambled-part": (value) => lookAt(longestPart(value)) === "scrambled",
};

/**
 * Rules, most of them about features of rules: `+` for yes, `-` for no, and the features that a row needs, or must lack (`!`). The
 * first row whose features all hold decides, and no such row means no.
 */
const RULES = Map.groupBy(
  `
line + last first
variable + constant equals
variable + constant alone
variable + constant last colons compound-constant
pair + quoted-equal behind-semicolon
pair + quoted-equal ends-pair !code
data + variable
data + option
data + pair
sure + alone
sure + variable
sure + scheme
sure + parameter
sure + pair
sure + option
sure + of:cookie
sure + directive
sure + line bold
sure + line section
sure + behind near
sure + behind last
given + sure
given + written
literal + quoted
literal + data
literal + behind
setting + variable line
phrase - token
phrase - long
phrase - stand-in
phrase - about
phrase - !letters
phrase - asks two-words
phrase + data password
phrase + data !sentence
phrase - data
phrase - secret
phrase - near
phrase - many-words
phrase - !plain
phrase + element
phrase + !sentence
secret-value - resource
secret-value - quoted next
secret-value + spaced phrase
secret-value - spaced
secret-value - call
secret-value + token opaque
secret-value - token
secret-value + random
secret-value + secret hidden
secret-value - secret
secret-value + guarded
opaque + scheme mixed !words
opaque + line hex mixed
opaque + random-part
opaque + sure scrambled-part
opaque + hash address
opaque - !hash
opaque + scheme
opaque + of:token sure
opaque - of:token
opaque - uuid
opaque + variable
opaque + parameter
opaque + of:cookie
hidden - variable eight word joints
hidden - variable eight word !capital
hidden + variable eight !none
hidden + given hash
hidden - !given
hidden - !eight
hidden - field
hidden - mixed solid words
hidden + mixed solid
hidden + mixed signs
hidden + word quoted sure !argument ends-in-secret !dashes
hidden + scrambled sure
solid + sure
solid + line sixteen
solid + line ends-in-secret
code-name + written identifier ends-argument code
code-name + written identifier ends-argument ends-line !equal first
guarded + variable eight !none
guarded - code-name !variable !option
guarded - word names-secret
guarded - word argument underscore
guarded - word pass closing
guarded + sure !none
guarded + sure settable given-word
guarded - sure
guarded + word said-word
guarded - word
guarded - none
guarded - scrambled
guarded - !five
guarded + given
guarded + near line column
guarded - path
guarded + bar first
guarded - bar
guarded + said
guarded - pass
guarded + quoted
guarded + digit !words
settable - behind !quoted
settable + behind
settable + variable
settable + option equal
given-word - stand-in
given-word - asks
given-word - small-letters names-field
given-word + small-letters
given-word + both-letters !field
said-word + beside compound
said-word - beside
said-word - pass
said-word + opened blank !dollar
said-word - opened
said-word + called member
said-word - called
said-word + speech quoted
said-word + speech compound !to
said-word + speech compound changed
said-word - speech
said-word + last colon-only compound label
said-word + line colon-only small-word small
said-word + line near compound
said-word - line near
said-word + hyphenated last line
said-word + hyphenated last colon
random-run - hex
random-run - uuid
random-run - id
random-run - public
random-run - mostly-words
random-run - !random-letters
random-run - path-like
random-run - ends-file
random-run - public-place
random-run - in-address !secret-address
random-run - in-path !in-address
random-run +
key-line + body starts-line ends-body
cell - spaced
cell - names-secret
cell + mixed
cell + hash
cell + random
cell + in-quotes !none
cell + compound !none
`
    .trim()
    .split("\n")
    .map((row) => {
      const [decided = "", verdict, ...features] = row.split(" ");
      const needs = features.map((feature) => [feature.replace("!", ""), !feature.startsWith("!")] as const);
      return { decided, verdict: verdict === "+", needs };
    }),
  ({ decided }) => decided,
);

/** Returns a test for features; each is told once. */
function judge(
  parts: Partial<Record<Part, string>>,
  facts: readonly string[] = [],
): (feature: string) => boolean {
  const known = new Map(facts.map((fact) => [fact, true]));
  let look: Look | undefined;
  const tell = (feature: string): boolean => {
    const told = featureOf(feature);
    if (told) return told.pattern.test(parts[told.part] ?? "");
    const value = parts.value ?? "";
    if (LOOK_NAMES.has(feature)) {
      look ??= lookAt(has("setting") ? value.replaceAll(".", "-") : value, has("literal"));
      return look === feature;
    }
    const test = TESTS[feature];
    if (test) return test(value);
    const rule = RULES.get(feature)?.find(({ needs }) => needs.every(([each, is]) => has(each) === is));
    return rule?.verdict ?? false;
  };
  const has = (feature: string): boolean => {
    const is = known.get(feature) ?? tell(feature);
    known.set(feature, is);
    return is;
  };
  return has;
}

/** Returns the end of the secret that a value holds, or undefined for a value that is harmless. */
export function secretEnd(
  { text: whole, start, end, way, isQuoted }: Value,
  { name, before, text }: { name: Name; before: string; text: string },
): number | undefined {
  if (name.level === "token" && whole.length < RANDOM_MIN) return undefined;
  const between = text.slice(name.end, start);
  const after = text.slice(end, end + 44);
  const parts = { name: name.text, before, between, value: whole, whole, after, way };
  const has = judge(parts, [way, name.level, `of:${name.kind}`, ...(isQuoted ? ["quoted"] : [])]);
  // a stop behind a word in a sentence is the sentence's
  if (!isQuoted && !has("sure")) parts.value = whole.replace(/[.,:;!?*]+$/, "");
  return has("secret-value") ? start + parts.value.length : undefined;
}

/** Shorter runs are mostly ids, longer ones pictures, certificates, source maps and signatures. */
const [RUN_MIN, RUN_MAX] = [20, 200];
const ALL_KINDS = /^(?=.*[A-Z])(?=.*[a-z]).*\d/;

/** Returns the kind of secret that a run of base64 characters is by its looks: a line of a key, or another one. */
export function kindOfRun(text: string, { start, end }: { start: number; end: number }): string | undefined {
  const value = text.slice(start, end);
  if (value.length < RUN_MIN || value.length > RUN_MAX || !ALL_KINDS.test(value)) return undefined;
  const before = text.slice(Math.max(0, start - 300), start);
  const has = judge({ before, value, after: text.slice(end, end + 8) });
  if (!has("random-run")) return undefined;
  return has("key-line") ? "private-key" : "secret";
}

/** Returns whether a cell of a column of passwords is one. */
export const isSecretCell = (value: string, before: string): boolean =>
  judge({ value }, /["']/.test(before) ? ["quoted", "in-quotes"] : ["quoted"])("cell");
