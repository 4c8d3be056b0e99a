/**
 * Finds secrets by their own shape: issuers' prefixes, JWTs, wallet keys, hashes of passwords, payment cards.
 *
 * Each character is looked at once: a shape is tried only where its prefix begins a word, and what follows is one class with
 * a bound or without a tail, so the time is linear.
 */

import { matches, rowsOf } from "./features.ts";
import { isName, type ReportSecret } from "./looks.ts";

/** Prefixes that only tokens have: of whom, and how they begin. What follows is long and consists of no words. */
const ISSUERS = `
anthropic sk-ant- | openrouter sk-or-v1- | openai sk-proj- sk-svcacct- sk-admin- sk-service- | google AIza AQ.Ab
google ya29. GOCSPX- 1//0 | groq gsk_ | huggingface hf_ api_org_ | replicate r8_ | xai xai- | perplexity pplx-
fireworks fw_ | together tgp_v1_ | cerebras csk- | nvidia nvapi- | jina jina_ | tavily tvly- | langfuse sk-lf-
langsmith lsv2_pt_ lsv2_sk_ | pinecone pcsk_ | aws ABSK bedrock-api-key- | digitalocean dop_v1_ doo_v1_ dor_v1_
cloudflare cfk_ cfut_ cfat_ v1.0- | heroku HRKU- | vercel vcp_ vci_ vca_ vcr_ vck_ | netlify nfp_ | render rnd_
fly fm1a_ fm1r_ fm2_ fo1_ | supabase sbp_ sb_secret_ | planetscale pscale_tkn_ pscale_pw_ pscale_oauth_ | neon napi_
vault hvs. hvb. hvr. | doppler dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. | pulumi pul- | tailscale tskey-
1password ops_ey | age AGE-SECRET-KEY-1 | grafana glsa_ glc_ | openshift sha256~ | npm npm_ | rubygems rubygems_
github ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ | gitlab glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent-
gitlab glsoat- glffct- gloas- glwt- GR1348941 | atlassian ATATT3 ATCTT3 | bitbucket ATBB | pypi pypi-AgE
docker dckr_pat_ dckr_oat_ SWMTKN-1- | clojars CLOJARS_ | jfrog AKCp | sonar squ_ sqp_ sqa_ | buildkite bkua_
circleci CCIPAT_ CCIPRJ_ | slack xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- xwfp-
sendgrid SG. | brevo xkeysib- xsmtpsib- | mailersend mlsn. | hubspot pat-na1- pat-eu1- pat-ap1- | shippo shippo_
stripe sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_ | square sq0atp- sq0csp- sq0idp-
braintree access_token$ | plaid access-sandbox- access-development- access-production- | flutterwave FLWSECK
shopify shpat_ shpca_ shppa_ shpss_ | duffel duffel_live_ duffel_test_ | linear lin_api_ lin_oauth_ | notion ntn_
figma figd_ figo_ figu_ | postman PMAK- | contentful CFPAT- | typeform tfp_ | posthog phx_ phs_ | nostr nsec1
sentry sntrys_ sntryu_ | newrelic NRAK- NRAL- NRII- | dynatrace dt0c01. dt0s01. | mapbox sk.eyJ | dropbox sl.
honeycomb hcaik_ hcbik_ hcxik_ hcalk_ | logfire pylf_v1_ | axiom xaat- xapt- | sourcegraph sgp_ | apify apify_api_
prefect pnu_ pnb_ | adafruit aio_ | wakatime waka_ | e2b e2b_ | readme rdme_ | runpod rpa_ | intercom dG9rO
`;
const ISSUED = /[\w+/~%$.-]{16,64}/y;
const ISSUED_REST = /[\w+/~%$.-]*(?:=[0-9A-Fa-f]{8}|={1,3})?/y;

/**
 * Prefixes that words have, too, and signs in the middle of a secret: what follows has to fit exactly, and what is looked back at.
 * Groups are the secret, from the first to the last.
 */
const EXACT = String.raw`
model-key sk- [A-Za-z0-9]{20,}
elevenlabs-key sk_ @x{48}(?!\w)
aws-key AKIA ASIA AROA AIDA AGPA AIPA ANPA ANVA ABIA ACCA A3T (?!IOSFODNN7EXAMPLE)[A-Z0-9]{16,17}(?!\w)
databricks-token dapi @x{32}(?:-\d)?(?!\w)
vault-token s. b. [A-Za-z0-9]{24}(?!\w)
mailgun-key key- @x{32}(?!\w)
twilio-key SK @x{32}(?!\w)
notion-token secret_ [A-Za-z0-9]{43}(?!\w)
airtable-token pat [A-Za-z0-9]{14}\.@x{64}
wallet-key xprv yprv zprv tprv uprv vprv [1-9A-HJ-NP-Za-km-z]{100,}
jwt eyJ (?<![\w-]eyJ)[\w-]{10,}(?:\.[\w-]{8,}|\.(?=\.)){1,4}
password-hash $2 [abxy]?\$\d\d\$[./A-Za-z0-9]{53}
password-hash $argon2 i?d?\$(?:v=\d{1,3}\$)?[a-z0-9=,]{5,60}\$[\w+/-]{8,}={0,2}\$[\w+/-]{16,}={0,2}
password-hash $1$ $5$ $6$ $y$ $7$ $apr1$ (?:rounds=\d{1,9}\$|[./A-Za-z0-9]{1,10}\$)?[./A-Za-z0-9]{1,22}\$[./A-Za-z0-9]{22,86}
password-hash $P$ $H$ $S$ [./A-Za-z0-9]{31,52}
password-hash pbkdf2 [_:-]sha\d{1,3}[$:]\d{1,9}\$[^\s$"']{1,64}\$[A-Za-z0-9+/=]{20,}
password-hash scrypt: \d{1,8}:\d{1,3}:\d{1,3}\$[^\s$"']{1,64}\$[a-f0-9]{32,}
password-hash SCRAM-SHA- \d{1,3}\$\d{1,8}:[A-Za-z0-9+/=]{8,}\$[A-Za-z0-9+/=]{20,}:[A-Za-z0-9+/=]{20,}
password-hash SHA} SHA256} SHA512} [A-Za-z0-9+/]{27,}={0,2}
slack-webhook services/ workflows/ triggers/ (T[A-Z0-9]{6,14}/[A-Z0-9]{6,14}/[\w/-]{16,})
discord-webhook webhooks/ (\d{15,21}/[\w-]{40,})
azure-secret Q~ (?<=(?<![\w~.-])([\w~.-]{3}\d)Q~)([\w~.-]{31,34})
azure-key JQQJ9 (?<=(?<!\w)([A-Za-z0-9]{52})JQQJ9)(\w{4,})
terraform-token .atlasv1. (?<=(?<!\w)([A-Za-z0-9]{14})\.atlasv1\.)([\w-]{40,})
telegram-token :AA (?<=(?<![A-Za-z0-9])((?:bot)?\d{8,10}):AA)([\w-]{32,})
mailchimp-key -us (?<=(?<!\w)(@x{32})-us)(\d{1,2})(?!\w)
card 3 4 5 6 (?<![.-].)\d{3}(?:(?:\x20\d{4}){3}|(?:-\d{4}){3})(?![\d.-])
password :543 (?<=[\w.*-]:543)\d:@p
password :6432: :*: (?<=[\w.*-]:(?:6432|\*):)@p
password :thin: (?<=:thin:)[\w.-]{1,60}/([^\s"'@/[\]\x60]{3,100})@
password tcp( unix( (?<=(?<![\w:/.-])[\w.-]{1,60}:([^\s"'@:[\]\x60]{3,100})@(?:tcp|unix)\()
`;
const PARTS: Record<string, string> = {
  "@x": "[A-Fa-f0-9]",
  // database, user and password of a line in PostgreSQL's file of passwords
  "@p": "[\\w*-]{1,60}:[\\w-]{1,60}:((?:[^:\\s\"'\\\\]|\\\\.){3,100})(?=[\"',}\\]]{0,4}[ \\t]*(?:\\n|$))",
};

/** Shapes within long runs. */
const SHAPES = rowsOf(String.raw`
discord-token \b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}
password-hash (?<![\w*/])\*[0-9A-F]{40}(?!\w)
`).map(([kind, source]) => ({ kind, pattern: new RegExp(source, "g") }));
const SHAPE_MIN = 41;
/** A key written as 64 bytes. */
const BYTES =
  /(?:\s{0,8}(?:25[0-5]|2[0-4]\d|1?\d?\d)\s{0,8},){63}\s{0,8}(?:25[0-5]|2[0-4]\d|1?\d?\d),?\s{0,8}(?=\])/y;

interface Format {
  kind: string;
  prefix: string;
  /** A pattern of the rest; undefined for the prefixes of issuers, which all have the same. */
  rest: RegExp | undefined;
  /** True for a sign in the middle of a word. */
  isWithin: boolean;
}

const LISTED = ISSUERS.trim()
  .split(/\s\| |\n/)
  .flatMap((issuer): Format[] => {
    const [name, ...prefixes] = issuer.split(" ");
    return prefixes.map((prefix) => ({ kind: `${name}-token`, prefix, rest: undefined, isWithin: false }));
  });
const FITTED = rowsOf(EXACT).flatMap(([kind, row]): Format[] => {
  const prefixes = row.split(" ");
  const source = (prefixes.pop() ?? "").replace(/@[xp]/g, (part) => PARTS[part] ?? part);
  const rest = new RegExp(source, "dy");
  return prefixes.map((prefix) => ({ kind, prefix, rest, isWithin: source.startsWith("(?<=") }));
});
/** The formats by the first two characters of their prefix, or by its only one; exact ones come last. */
const FORMATS = Map.groupBy([...LISTED, ...FITTED], ({ prefix }) => prefix.slice(0, 2));

/** Returns all prefixes, for texts made of nothing else. */
export const listPrefixes = (): string[] => [...LISTED, ...FITTED].map(({ prefix }) => prefix);

/** Reports the secret whose prefix is here, and returns where it ends. */
export function findFormat(text: string, at: number, found: ReportSecret): number {
  for (const format of FORMATS.get(text.slice(at, at + 2)) ?? FORMATS.get(text.charAt(at)) ?? []) {
    const span = matchFormat(text, at, format);
    if (span === undefined) continue;
    found(span[0], span[1], format.kind);
    return span[1];
  }
  return at;
}

/** Reports the secrets of shapes without a prefix. */
export function findShapes(text: string, runs: readonly CharacterRun[], found: ReportSecret): void {
  for (const { start, end } of runs) {
    if (end - start < SHAPE_MIN) continue;
    for (const { kind, pattern } of SHAPES)
      for (const { index, 0: whole } of text.slice(start, end).matchAll(pattern))
        found(start + index, start + index + whole.length, kind);
  }
  for (let at = text.indexOf("["); at !== -1; at = text.indexOf("[", at + 1)) {
    BYTES.lastIndex = at + 1;
    if (BYTES.test(text)) found(at + 1, BYTES.lastIndex, "private-key");
  }
}

function matchFormat(text: string, at: number, format: Format): [start: number, end: number] | undefined {
  const { prefix, rest = ISSUED, isWithin } = format;
  if (!text.startsWith(prefix, at) || (!isWithin && isInWord(text, at - 1))) return undefined;
  rest.lastIndex = at + prefix.length;
  const match = rest.exec(text);
  const isMask = /^[xX*.]+$/.test(match?.[0] ?? "");
  return match && !isMask ? spanOf(text, at, format, match) : undefined;
}

function spanOf(
  text: string,
  at: number,
  { kind, prefix, rest }: Format,
  match: RegExpExecArray,
): [start: number, end: number] | undefined {
  const groups = match.indices?.slice(1).filter(Boolean) ?? [];
  const [start, end] = [groups[0]?.[0] ?? at, groups.at(-1)?.[1] ?? at + prefix.length + match[0].length];
  const value = text.slice(start, end);
  if (groups.length > 0 && matches("template", value)) return undefined;
  if (kind === "card" && !isLuhn(value.replace(/\D/g, ""))) return undefined;
  return rest ? [start, end] : endOfIssued(text, match[0], [start, end]);
}

/** Returns the span of a token of an issuer, unless words follow its prefix: a name as long as this has a joint. */
function endOfIssued(
  text: string,
  body: string,
  [start, end]: [number, number],
): [number, number] | undefined {
  const wholeWords = body.length < 64 ? body : body.replace(/[-_./]*[A-Z]?[a-z]*$/, "");
  if (!/^[A-Za-z0-9]{20}/.test(body) && isName(wholeWords)) return undefined;
  ISSUED_REST.lastIndex = end;
  let last = ISSUED_REST.test(text) ? ISSUED_REST.lastIndex : end;
  while (text[last - 1] === ".") last--;
  return [start, last];
}

function isLuhn(digits: string): boolean {
  const doubled = [...digits].map((digit, i) => Number(digit) * (i % 2 === 0 ? 2 : 1));
  return doubled.reduce((sum, digit) => sum + (digit > 9 ? digit - 9 : digit), 0) % 10 === 0;
}

export interface CharacterRun {
  start: number;
  end: number;
}

export interface Scan {
  /** The bits of all characters. */
  bits: number;
  /** Offsets at which a word that announces a secret may begin. */
  words: number[];
  /** Offsets at which a token of a known format, an address or a key's block may begin. */
  prefixes: number[];
  /** Runs of characters that tokens consist of, as long as a token is at least. */
  runs: CharacterRun[];
}

const RUN_MIN = 16;
/** The length of 64 numbers with their commas. */
const BYTES_MIN = 127;
/** The first letters of all such words, up to four count; of those with two, any third may follow. */
const STARTS =
  "pass assw pwd psk pw mdp kenn sen wach hasl hesl sifr lose sala adga paro lozi gesl jels pepp secu secr cred mnem gehe segr toke key auth bear basi base sig clav wall seed salt sess sid root code pin otp totp 2fa mfa phra iden wifi sudo chpa log net htpa rabb rman lite etcd lftp open xh free smbc curl wget http hurl pdo mysq nect raw fiel op: get- zuga inlo sqlp sqll".split(
    " ",
  );
/** Options, which begin a word. */
const OPTIONS = ["-u\0", "-p", "-a", "-w", "-s", "-n", "-x"];
/** Beginnings of what is judged by its place in an address or a block. */
const MARKS = ["://", "Private-Lines", "BEGIN "];
/** Letters are 1 to 26 whatever their case, digits 27, other characters of tokens 28 to 31, all others 0. */
const CODE = 31;
/** Letters beyond ASCII, but not dashes, quotes, arrows and emoji; what may be a control or invisible; signs of escapes. */
export const [FOREIGN, SUSPECT, ESCAPED] = [32, 64, 128];
/** The code of each character, and these bits. */
const CODES = new Uint8Array(1 << 16)
  .fill(SUSPECT)
  .fill(FOREIGN | SUSPECT, 0xc0, 0x2000)
  .fill(0, 0x2010, 0x2028)
  .fill(0, 0x2030, 0x2060)
  .fill(0, 0x2070, 0x3000)
  .fill(FOREIGN | SUSPECT, 0x3000, 0xd800)
  .fill(0, 32, 127);
setCodes(0, "\t\n");
setCodes(ESCAPED, "\\%&");
for (const [i, signs] of ["0123456789", "_+-/=.$}", "*", "~", ":"].entries()) setCodes(27 + i, signs);
for (const letter of "abcdefghijklmnopqrstuvwxyz")
  setCodes(letter.charCodeAt(0) & CODE, letter + letter.toUpperCase());

function setCodes(code: number, signs: string): void {
  for (const sign of signs) CODES[sign.charCodeAt(0)] = code;
}

const [WORD, PREFIX] = [1, 2];
/** Bits of what begins a word alone, beside those of what may stand within one. */
const AT_START = 2;
/** Kinds of matches that may begin with three characters of these codes. */
const BEGINNINGS = new Uint8Array(1 << 15);
/** The codes that may follow them, a bit each. */
const FOURTH = new Uint32Array(1 << 15);
for (const start of STARTS) addBeginning(start, WORD);
for (const option of OPTIONS) addBeginning(option, WORD << AT_START);
for (const mark of MARKS) addBeginning(mark, PREFIX);
// a prefix of one digit is that of a longer number
for (const { prefix, isWithin } of [...LISTED, ...FITTED])
  addBeginning(prefix.length > 1 ? prefix : prefix.repeat(4), isWithin ? PREFIX : PREFIX << AT_START);

/** The first two characters of prefixes and marks, 7 bits each. */
const PAIRS = new Uint8Array(1 << 14);
for (const start of [...MARKS, ...listPrefixes()])
  for (const second of start[1] ?? "0123456789") PAIRS[(start.charCodeAt(0) << 7) | second.charCodeAt(0)] = 1;

function beginsPrefix(text: string, at: number): boolean {
  return PAIRS[(text.charCodeAt(at) << 7) | text.charCodeAt(at + 1)] === 1;
}

function codeAt(text: string, at: number): number {
  return at < text.length ? (CODES[text.charCodeAt(at)] as number) & CODE : 0;
}

function addBeginning(word: string, bits: number): void {
  const pair = (codeAt(word, 0) << 10) | (codeAt(word, 1) << 5);
  const [least, most] = word.length > 2 ? [codeAt(word, 2), codeAt(word, 2)] : [0, 31];
  for (let code = pair | least; code <= (pair | most); code++) {
    BEGINNINGS[code] = (BEGINNINGS[code] ?? 0) | bits;
    FOURTH[code] = (FOURTH[code] ?? 0) | (word.length > 3 ? 1 << codeAt(word, 3) : -1);
  }
}

/** Looks at each character once, without a branch that ordinary words would take now and then. */
export function scan(text: string): Scan {
  const [words, prefixes, runs]: [number[], number[], CharacterRun[]] = [[], [], []];
  let bits = 0;
  let last = 0;
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const character = CODES[text.charCodeAt(i)] as number;
    const code = character & CODE;
    bits |= character;
    // the codes of four characters
    last = ((last << 5) | code) & 0xfffff;
    const begins = BEGINNINGS[last & 0x7fff] as number;
    if (begins !== 0 && ((FOURTH[last & 0x7fff] as number) >>> codeAt(text, i + 1)) & 1) {
      const before = last >> 15;
      const kinds = before > 0 && before < 28 ? begins : begins | (begins >> AT_START);
      if (kinds & WORD) words.push(i - 2);
      if (kinds & PREFIX && beginsPrefix(text, i - 2)) prefixes.push(i - 2);
    }
    // 0 behind a character of code 0
    length = (length + 1) & (-code >> 31);
    if (length === RUN_MIN) runs.push({ start: i + 1 - RUN_MIN, end: endOfRun(text, i + 1) });
  }
  return { bits, words, prefixes, runs };
}

/** Returns whether a text holds nothing at which a secret may begin. */
export function isHarmless(text: string, { bits, words, prefixes, runs }: Scan): boolean {
  return bits <= CODE && text.length < BYTES_MIN && words.length + prefixes.length + runs.length === 0;
}

function endOfRun(text: string, from: number): number {
  let end = from;
  while (end < text.length && codeAt(text, end) !== 0) end++;
  return end;
}

function isInWord(text: string, at: number): boolean {
  const code = at < 0 ? 0 : codeAt(text, at);
  return code > 0 && code < 28;
}
