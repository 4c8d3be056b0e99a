/**
 * The one table that judges a value: a row is a feature, and how much it says for or against a secret where nothing, a `token`,
 * a `secret` or a `password` announces the value. The value is a secret where the sum is positive.
 *
 * Features are its look (looks.ts), the way it is given (places.ts), and what patterns find in the value (`v`), its name (`n`),
 * before the name (`b`), between both (`g`), and behind the value (`a`); `t` are traits: the way, the look, and whether it is
 * quoted, first and last on its line, or made of words. Weights are fitted: test/bench/redact-fit.ts.
 */

import { contentStart } from "./lines.ts";
import { isMostlyWords, isWords, lookAt } from "./looks.ts";
import { OF_SECRET } from "./names.ts";
import type { Candidate } from "./places.ts";

const TABLE = String.raw`
bias all ~ -1 -88 -51 -21
way encoded - -29 . . .
way certain + . 2 8 1
way argument ~ . 4 9 -8
way element ~ . 0 32 14
way written ~ . -4 -26 -19
way said ~ . -8 -41 11
way foreign ~ . . . 2
way near - . -31 -23 0
way column ~ . . . 2
way command ~ . . . 6
way sentence ~ . . . 1
look stand - -29 -71 -90 -128
look elsewhere - . -29 -49 -84
look keys - . -29 -29 -58
look chain - . -29 -48 0
look number - . -21 -29 0
look uuid ~ 0 -39 23 0
look hash ~ 0 62 24 0
look about - . -29 -36 -56
look sentence - . . -29 0
look long - . . -29 0
look titled - . . -29 -34
look phrase ~ . . 4 -4
look random + 14 24 35 0
look asks - -29 -29 -37 -78
look algorithm - -29 -29 -29 -29
look path - -29 0 -36 -29
look mixed + 0 2 15 74
look scrambled + 0 13 14 30
look field - . -43 -36 -82
look adjective - . -29 -29 -40
look compound + . 0 32 57
look caps - . -29 -29 -29
look word ~ . -29 -16 23
look other ~ 0 -9 -22 -21
t quoted + . 1 9 8 quoted
t first ~ . -8 -21 0 first
t last ~ . 21 21 -6 last
t line + . 1 18 20 first last
t words - -7 0 -10 -1 words
t names - -42 -1 -37 0 names
t bareword - . . -15 -19 (?:word|other|field) bare
t saidword - . . . -57 (?:said|foreign|strong|near|beside) (?:word|other|field) bare
t saidcompound ~ . . . -39 (?:said|foreign|near|beside) compound bare
t writtenlast ~ . 13 7 8 written \w+ bare.* last
t writtenline ~ . -45 17 -4 written \w+ bare.* first last
t certainword ~ . -13 19 16 (?:certain|argument|element|command|column).* (?:word|compound|other|scrambled)
t certainfield ~ . . . -7 (?:certain|argument|element|command|column).* field
t digits + . . . 133 (?:code|pin) number
t mnemonic + . . . 58 (?:mnemonic|code|secret) (?:phrase|sentence|about)
t phrasesaid + . . . 38 sentence password (?:phrase|about|sentence)
v tiny - . -9 -20 -38 ^.{0,4}$
v short - . -24 -41 -48 ^.{0,6}$
v ten + . 48 10 24 ^.{10}
v long + . 5 13 15 ^.{16}
v sign + . 8 5 0 [^\w.:/|\s-]
v digit + . 54 53 1 \d
v slash - -8 0 -28 -29 [/\\]
v dotted - . -76 -26 0 \w\.\w|::
v identifier - . -8 -6 -1 ^[A-Za-z_]\w*$
v plain ~ . 24 41 34 ^[a-z]{8,}$
v inflected - . -7 0 -60 ^\p{L}+(?:ed|en|ble|ory|oire|orio|ive|ing|ent|lich|isch|rt|lijk|но|ен|ый)$
v assigned - . -11 -21 -97 ^[a-z]\w*=$
v joint ~ . -12 -50 22 \p{L}-\p{L}
v underscored - 0 -7 0 -54 [a-z]_[a-z]
V label - . -7 0 -60 ^(?:\w+[_.-])?@secret
v id - -25 0 -3 . ^(?:[A-Za-z]{1,12}[_-]){1,3}[A-Za-z0-9]+$|^[0-9a-f]{6,}(?:-[0-9A-Za-z]{1,12})+$
v public - -39 . . . ^(?:MII.{3}CC|MII.{3}ANBgkq|MFkwEwYH|MCowBQYDK2V|AAAA[BCE]|sha\d{1,3}-|h1:)
v segments - -21 -13 -3 -3 ^(?:[A-Za-z]+-){2}
V wallet + . 4 0 . ^0x[0-9a-f]{64}$
n variable + . 46 75 17 ^(?:[A-Z0-9_]+|_[a-z]\w*)$
n compound ~ . -28 12 31 [a-zA-Z][_.-][a-zA-Z]|[a-z][A-Z]
n option + . 3 0 114 ^-
n directive + . . 68 14 ^(?:\w+\.)*set[A-Z_]|^(?:requirepass|masterauth|rootpw|bindpw)$|authtok$
N pass - . . . -34 ^pass$
N secret + . . 32 . secret$
N cookie ~ . -44 . . sid$|session(?:_?id)?$|sess$
N signature - . -98 . . sig(?:nature)?$
n dollar ~ . 0 0 -35 ^\$
g sign + . 38 18 56 ^=["']?$
g spaced ~ . 23 3 -29 ^ ?= ?["']?$
g colon ~ . 4 22 8 ^["'*_]{0,3}\s?:
G scheme + . 35 0 . (?:bearer|basic|token|apikey|digest|negotiate)[ \t]+$
g stressed + . 0 0 10 \*\*|__
g to ~ . . . -19  to\b
g wide ~ . -45 -13 -8 ["'|\t]|\s{2}
g bar - . 0 0 -16 \|
g call ~ . . . 7 ^["']?\(
g closed - . . . -39 ^\)
g compared - . 0 -21 -67 [=!]==?
g cell ~ . 28 -19 -5 ^\s*["'\x60]
B user + . . . 17 \b(?:user(?:name)?|login|email|host|port|database)["']?(?:\s?[:=]\s?\S*|\s+\S{1,100}[,;])\s+$|\blogin\s+\S{1,100}\s+$
b environment + . 0 0 43 \b(?:ENV|setx|setenv) +$
b parameter + 0 9 0 0 [?&]$|\$\{$
b pair + . 15 0 81 ;\s?$|\w=[^\s=]{1,100}[,&]$
b code - . -35 -5 -33 (?:[\w)\]>]\s?\(|(?:[=(,:]|=>|return)\s*\{)(?:[^(){}"'\x60]|"[^"\n]*"|'[^'\n]*'|\x60[^\x60\n]*\x60)*["'\x60]?$|\b(?:const|let|var|val|final|auto|def)\s[^=\n]*$
b arn - -21 0 -42 0 \barn:[^\s"']*$
b section + . . 0 16 (?:^|\n)[\s+>|\d→-]{0,12}\[[\w .:"-]{1,40}\]\s*\n[^()[\]{};]*$
b labelled ~ . . 3 -3 (?:^|\n)\P{L}{0,12}\p{Lu}\p{Ll}+(?: \p{L}+){0,4} $
B public - -31 . . . (?:\bsha\d{1,3}(?:[-:=_ ]|sum)|sha256:|\bmd5[-:=]|\bh1:|base64,|nonce[-=]|["'][xyne]["']\s?:\s?["']|ssh-\w+ |ecdsa-\S{1,30} |w/"|(?:id|hash|digest|checksum|integrity|fingerprint|etag|nonce|commit|sha|rev|cursor|uuid|ref|guid|version|sum|md5|thumbprint|mappings|public_?key|pubkey|name|class(?:Name)?|type|file|path|url|href|src)["'\x60]?\s{0,2}[:=>]{1,2}\s{0,2}["'\x60]?)$
b address - -24 . . . [\w+.-]{2,20}://[^\s"'<>?#&;]*$|[/@]$
b kubernetes + 35 . . . kind: Secret\s[^]*\bdata:
a call - . -36 0 -18 ^[([]
a name - . 0 -35 0 ^["'] ?: ?["'{[\d]
a pair + . 5 3 0 ^;\s?[\w ]{1,40}=|^,\w[\w.]{0,40}=
a end + . 15 5 3 ^(?:$|[\s&|"'])
a list ~ . -26 -17 -4 ^[,)};]
a statement ~ . -20 -28 -6 ^.?\s*?(?:\n|$)
`;

/** Cheap ones first. */
const ORDER = "vngatb";
interface Feature {
  aspect: string;
  name: string;
  weights: number[];
  pattern: RegExp | undefined;
}
/** The rows; patterns of an aspect in capitals ignore case. */
const FEATURES = TABLE.trim()
  .split("\n")
  .map((row): Feature => {
    const [aspect = "", name = "", , ...rest] = row.split(" ");
    const source = rest.slice(4).join(" ").replace("@secret", OF_SECRET.source);
    const flags = /[A-Z]/.test(aspect) ? "i" : source.includes("\\p{") || source.includes("\\P{") ? "u" : "";
    const weights = rest.slice(0, 4).map((weight) => Number(weight) || 0);
    return {
      aspect: aspect.toLowerCase(),
      name,
      weights,
      pattern: source ? new RegExp(source, flags) : undefined,
    };
  });
/** At each level what way and look weigh, then the patterns that say something, and the most that the rest of them can add. */
const AT_LEVEL = [0, 1, 2, 3].map((level) => {
  const said = FEATURES.map((feature) => ({ ...feature, weight: feature.weights[level] ?? 0 }));
  const given = new Map(
    said.filter(({ pattern }) => !pattern).map(({ aspect, name, weight }) => [`${aspect} ${name}`, weight]),
  );
  const rows = said
    .flatMap(({ aspect, weight, pattern }) => (pattern && weight ? [{ aspect, weight, pattern }] : []))
    .sort((a, b) => ORDER.indexOf(a.aspect) - ORDER.indexOf(b.aspect) || a.weight - b.weight);
  const most = rows.map((_, at) => rows.slice(at).reduce((sum, { weight }) => sum + Math.max(0, weight), 0));
  return { given, rows, most };
});

/** Returns the aspects of a candidate, its traits when first asked for. */
function aspectsOf(
  text: string,
  { start, end, level, way, isQuoted, name }: Candidate,
): Record<string, string> {
  const v = text.slice(start, Math.min(end, start + 400));
  const look = lookAt(v, isQuoted);
  const a = text.slice(end, end + 44);
  let traits = "";
  return {
    v,
    a,
    look,
    n: name.text,
    g: text.slice(name.end, start),
    way: way.split(" ", 1)[0] ?? way,
    b: text.slice(Math.max(0, name.start - (level ? 120 : 300)), name.start),
    get t(): string {
      if (traits) return traits;
      const isFirst = AT_FIRST.test(text.slice(contentStart(text, name.start), name.start));
      traits = `${way} ${look}${isQuoted ? " quoted" : " bare"}${isFirst ? " first" : ""}${AT_LAST.test(a) ? " last" : ""}`;
      traits += `${isWords(v) ? " words" : ""}${isMostlyWords(v) ? " names" : ""}`;
      return traits;
    },
  };
}
const AT_FIRST = /^[\s*_\x60|-]*$/;
const AT_LAST = /^["'\x60*\]}|\s]{0,8}?(?:\n|$)/;

/** Returns the features that a candidate has. */
export function featuresOf(text: string, candidate: Candidate): Feature[] {
  const aspects = aspectsOf(text, candidate);
  return FEATURES.filter(({ aspect, name, pattern }) =>
    pattern ? pattern.test(aspects[aspect] ?? "") : aspect === "bias" || aspects[aspect] === name,
  );
}

/** Returns whether the features of a candidate say more for a secret than against one. */
export function isSecret(text: string, candidate: Candidate): boolean {
  const { given, rows, most } = AT_LEVEL[candidate.level] ?? {
    given: new Map<string, number>(),
    rows: [],
    most: [],
  };
  const aspects = aspectsOf(text, candidate);
  let sum = ["bias all", `way ${aspects.way}`, `look ${aspects.look}`].reduce(
    (sum, row) => sum + (given.get(row) ?? 0),
    0,
  );
  for (let at = 0; at < rows.length; at++) {
    if (sum + (most[at] ?? 0) <= 0) return false;
    const { aspect = "", weight = 0, pattern } = rows[at] ?? {};
    if (pattern?.test(aspects[aspect] ?? "")) sum += weight;
  }
  return sum > 0;
}
