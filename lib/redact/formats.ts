/**
 * Finds secrets by their own shape: issuers' prefixes, JWTs, wallet keys, hashes of passwords, payment cards.
 *
 * Each character is looked at once: a shape is tried only where its prefix begins a word, and what follows is one class with
 * a bound or without a tail, so the time is linear.
 */

import { isName, isTemplate, type ReportSecret } from "./looks.ts";

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

/** Prefixes that words have, too, and forms without a prefix of letters: what follows has to fit exactly. */
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
slack-webhook services/ workflows/ triggers/ T[A-Z0-9]{6,14}/[A-Z0-9]{6,14}/[\w/-]{16,}
discord-webhook webhooks/ \d{15,21}/[\w-]{40,}
`;

type Shape = [kind: string, part: string, pattern: RegExp];

/** Reads rows of a kind, what each such secret contains (one of several), and its pattern; a group is the secret itself. */
function readShapes(rows: string): Shape[] {
  return [...rows.matchAll(/^(\S+) (\S+) (.+)$/gm)].flatMap(([, kind = "", parts = "", pattern = ""]) =>
    parts.split("|").map((part): Shape => [kind, part, new RegExp(pattern, "dg")]),
  );
}

/** Shapes within a run that are known by something in their middle. */
export const MIDDLES = readShapes(String.raw`
azure-secret Q~ (?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}
azure-key JQQJ9 (?<!\w)[A-Za-z0-9]{52}JQQJ9\w{4,}
terraform-token .atlasv1. (?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}
telegram-token :AA (?<![A-Za-z0-9])(?:bot)?\d{8,10}:AA[\w-]{32,}
mailchimp-key -us (?<!\w)[A-Fa-f0-9]{32}-us\d{1,2}(?!\w)
discord-token . (?<!\w)[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}
password-hash * (?<![\w*/])\*[0-9A-F]{40}(?!\w)
`);

/** Shapes of several runs: cards, and passwords in PostgreSQL's files. */
export const SPACED = readShapes(String.raw`
card 1 (?<![\d.-])[3-6]\d{3}(?:(?: \d{4}){3}|(?:-\d{4}){3})(?![\d.-])
password :543|:6432:|:*: (?<![\w.*-])[\w.*-]{1,100}:(?:543\d|6432|\*):[\w*-]{1,60}:[\w-]{1,60}:((?:[^:\s"'\\]|\\.){3,100})(?=["',}\]]{0,4}[ \t]*(?:\n|$))
`);

/** Passwords in addresses without a scheme, for the drivers of Go and Oracle. */
export const DRIVERS = readShapes(String.raw`
password @tcp(|@unix( (?<![\w:/.-])[\w.-]{1,60}:([^\s"'@:[\]\x60]{3,100})@(?:tcp|unix)\(
password :thin: :thin:[\w.-]{1,60}\/([^\s"'@/[\]\x60]{3,100})@
`);

/** Keys written as 64 bytes. */
export const ARRAYS = readShapes(String.raw`
private-key , \[((?:\s{0,8}(?:25[0-5]|2[0-4]\d|1?\d?\d)\s{0,8},){63}\s{0,8}(?:25[0-5]|2[0-4]\d|1?\d?\d),?\s{0,8})\]
`);

interface Format {
  kind: string;
  prefix: string;
  rest: RegExp | undefined;
}

const LISTED = ISSUERS.trim()
  .split(/\s\| |\n/)
  .map((issuer) => [`${issuer.split(" ")[0]}-token`, issuer.split(" ").slice(1), undefined] as const);
const FITTED = EXACT.trim()
  .split("\n")
  .map((row): [string, string[], RegExp] => {
    const [kind = "", ...prefixes] = row.split(" ");
    return [kind, prefixes, new RegExp((prefixes.pop() ?? "").replaceAll("@x", "[A-Fa-f0-9]"), "y")];
  });
/** The formats by the first two characters of their prefix; exact ones come last. */
const FORMATS = Map.groupBy(
  [...LISTED, ...FITTED].flatMap(([kind, all, rest]) =>
    all.map((prefix): Format => ({ kind, prefix, rest })),
  ),
  ({ prefix }) => prefix.slice(0, 2),
);

/** Returns all prefixes, for texts made of nothing else. */
export function listPrefixes(): string[] {
  return [...FORMATS.values()].flat().map(({ prefix }) => prefix);
}

/** Reports the secret whose prefix begins a word here, and returns where it ends. */
export function findFormat(text: string, at: number, found: ReportSecret): number {
  for (const format of FORMATS.get(text.slice(at, at + 2)) ?? []) {
    const end = matchFormat(text, at, format);
    if (end === undefined) continue;
    found(format.kind.endsWith("webhook") ? at + format.prefix.length : at, end, format.kind);
    return end;
  }
  return at;
}

/** Reports the secrets of some shapes in a part of a text. */
export function findShapes(shapes: readonly Shape[], text: string, from: number, found: ReportSecret): void {
  for (const [kind, known, pattern] of shapes) {
    if (!text.includes(known)) continue;
    for (const { indices } of text.matchAll(pattern)) {
      const [start, end] = indices?.[1] ?? indices?.[0] ?? [0, 0];
      const value = text.slice(start, end);
      if (kind === "card" ? isLuhn(value.replace(/\D/g, "")) : !isTemplate(value))
        found(from + start, from + end, kind);
    }
  }
}

function matchFormat(text: string, at: number, { prefix, rest }: Format): number | undefined {
  if (!text.startsWith(prefix, at)) return undefined;
  const from = at + prefix.length;
  const pattern = rest ?? ISSUED;
  pattern.lastIndex = from;
  if (!pattern.test(text)) return undefined;
  const body = text.slice(from, pattern.lastIndex);
  const wholeWords = body.length < 64 ? body : body.slice(0, 64).replace(/[-_./]*[A-Z]?[a-z]*$/, "");
  // a name as long as this has a joint
  if (/^[xX*.]+$/.test(body) || (!/^[A-Za-z0-9]{20}/.test(body) && isName(wholeWords))) return undefined;
  if (rest) return pattern.lastIndex;
  ISSUED_REST.lastIndex = pattern.lastIndex;
  let end = ISSUED_REST.test(text) ? ISSUED_REST.lastIndex : pattern.lastIndex;
  while (text[end - 1] === ".") end--;
  return end;
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
  /** Offsets at which a word that announces a secret may begin. */
  words: number[];
  /** Offsets at which a token of a known format may begin. */
  prefixes: number[];
  /** Runs of characters that tokens consist of, as long as a token is at least. */
  runs: CharacterRun[];
  /** True for a text with letters beyond ASCII. */
  isForeign: boolean;
  /** True for a text that may hold a key's block, an address, a picture or a card. */
  isMarked: boolean;
}

const RUN_MIN = 16;
/** The first letters of all such words; of those with two, any third may follow. */
const STARTS =
  "pas ass par loz ges jel mys pwd psk pw mdp ken sen wac has hes sif los sal adg pep sec cre mne geh seg tok key aut bea bas sig cla wal see coo ses sid mas roo cod pin otp tot 2fa mfa phr ide wif sud chp log fro net htp rab sql rma etc lft ope xh fre smb cur wge htt hur pdo nec raw fie op: -u\0 get zug inl -p -a -w -s -n -x".split(
    " ",
  );
/** Letters are 1 to 26 whatever their case, digits 27, other characters of tokens 28, all others 0. */
const CODES = new Uint8Array(128);
const [WORD, PREFIX, MARK] = [1, 2, 4];
/** Three characters within `-----BEGIN`, `Private-Lines`, `://`, `;base64,`, `:5432:`, `:thin:`, `@tcp(`, `@unix(`, and a card's number. */
const MARKS = ["---", "e-l", ":54", ":64", ":th", "tcp", "nix", "e64", "1 1", "1-1"];
/** Kinds of matches that may begin with three characters of these codes. */
const BEGINNINGS = new Uint8Array(1 << 15);
for (let code = 33; code < 127; code++) {
  const character = String.fromCharCode(code);
  if (/[A-Za-z]/.test(character)) CODES[code] = code & 31;
  else if (/\d/.test(character)) CODES[code] = 27;
  else if ("_+-/=.~$%:*}".includes(character)) CODES[code] = 28;
}
for (const start of STARTS) addBeginning(start, WORD);
for (const prefix of listPrefixes()) addBeginning(prefix, PREFIX);
for (const mark of MARKS) addBeginning(mark, MARK);

function addBeginning(word: string, bit: number): void {
  const codeAt = (at: number) => CODES[word.charCodeAt(at)] ?? 0;
  const pair = (codeAt(0) << 10) | (codeAt(1) << 5);
  const [least, most] = word.length > 2 ? [codeAt(2), codeAt(2)] : [0, 31];
  for (let code = least; code <= most; code++) BEGINNINGS[pair | code] = (BEGINNINGS[pair | code] ?? 0) | bit;
}

export function scan(text: string): Scan {
  const [words, prefixes, runs]: [number[], number[], CharacterRun[]] = [[], [], []];
  let [isForeign, isMarked] = [false, false];
  let trigram = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text.charCodeAt(i);
    const code = character < 128 ? (CODES[character] as number) : 0;
    trigram = ((trigram << 5) | code) & 0x7fff;
    const begins = BEGINNINGS[trigram] as number;
    if (begins !== 0) {
      if (begins & WORD) words.push(i - 2);
      if (begins & PREFIX && !isInWord(text, i - 3)) prefixes.push(i - 2);
      if (begins & MARK) isMarked = true;
    }
    if (code !== 0) continue;
    // dashes, quotes, arrows and emoji are not letters
    if (character >= 0xc0 && (character < 0x2000 || (character >= 0x3000 && character < 0xd800)))
      isForeign = true;
    if (i - start >= RUN_MIN) runs.push({ start, end: i });
    start = i + 1;
  }
  if (text.length - start >= RUN_MIN) runs.push({ start, end: text.length });
  return { words, prefixes, runs, isForeign, isMarked };
}

function isInWord(text: string, at: number): boolean {
  const code = CODES[text.charCodeAt(at)] ?? 0;
  return code > 0 && code < 28;
}
