/**
 * Secrets that are known by their own form: issuers' token prefixes, JWTs and private key blocks.
 *
 * Every pattern is linear: it starts at a literal, and what follows is one class with an upper bound or without a tail.
 */

interface Format {
  kind: string;
  /** Texts without any of these literals cannot hold the format. */
  literals: readonly string[];
  /** Whether it begins with one of the literals, and whether no word may run into that. */
  start: "literal" | "bounded literal" | "anything";
  /** What follows the literal, or the whole pattern. */
  rest: string;
}

/** Not inside a word; a letter that belongs to an escape such as `\n` does not count. */
const LEFT = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;

/** Prefixes that occur in nothing else, so they count even inside a longer word. */
function distinct(kind: string, prefixes: string, rest: string): Format {
  return { kind, literals: prefixes.split(" "), start: "literal", rest };
}

/** Prefixes that end or start ordinary words, too. */
function word(kind: string, prefixes: string, rest: string): Format {
  return { kind, literals: prefixes.split(" "), start: "bounded literal", rest };
}

/** Forms known by something in their middle. */
function around(kind: string, literals: string, source: string): Format {
  return { kind, literals: literals.split(" "), start: "anything", rest: source };
}

const HEX = "[A-Fa-f0-9]";
const BASE62 = "[A-Za-z0-9]";
const URL64 = "[A-Za-z0-9_-]";
const BASE64 = "[A-Za-z0-9+/]";
const DIGIT_AHEAD = "(?=[A-Za-z_-]{0,80}[0-9])";

let known: readonly Format[] | undefined;

/** Made when first needed: a prompt hook loads this file each time and seldom needs it. */
function formats(): readonly Format[] {
  known ??= listFormats();
  return known;
}

/** More telling forms stand before those that would match a part of them. */
function listFormats(): Format[] {
  return [
    // model providers
    distinct("anthropic-key", "sk-ant-", `${URL64}{16,}`),
    distinct("openrouter-key", "sk-or-v1-", `${HEX}{32,}`),
    distinct("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-service-", `${DIGIT_AHEAD}${URL64}{20,}`),
    around("openai-key", "T3BlbkFJ", `sk-${URL64}{16,200}?T3BlbkFJ${URL64}{16,}`),
    word("langfuse-key", "sk-lf-", `${HEX}{8}-[A-Fa-f0-9-]{27}`),
    word("model-key", "sk-", `${DIGIT_AHEAD}${BASE62}{20,}`),
    distinct("google-key", "AIza", `${URL64}{30,}`),
    word("google-key", "AQ.Ab", `${URL64}{30,}`),
    distinct("google-token", "ya29. GOCSPX-", `[A-Za-z0-9_.-]{20,}`),
    word("google-token", "1//0", `${URL64}{30,}`),
    word("groq-key", "gsk_", `${BASE62}{30,}`),
    word("huggingface-token", "hf_ api_org_", `${BASE62}{30,}`),
    word("replicate-token", "r8_", `${BASE62}{30,}`),
    word("xai-key", "xai-", `${BASE62}{40,}`),
    word("perplexity-key", "pplx-", `${BASE62}{40,}`),
    word("fireworks-key", "fw_", `${DIGIT_AHEAD}${BASE62}{20,}`),
    distinct("together-key", "tgp_v1_", `${URL64}{30,}`),
    word("cerebras-key", "csk-", `${BASE62}{40,}`),
    distinct("nvidia-key", "nvapi-", `${URL64}{40,}`),
    word("voyage-key", "pa-", `${DIGIT_AHEAD}${URL64}{40,}`),
    word("jina-key", "jina_", `${BASE62}{40,}`),
    word("tavily-key", "tvly-", `${DIGIT_AHEAD}${URL64}{20,}`),
    word("firecrawl-key", "fc-", `${HEX}{32}(?!${BASE62})`),
    word("elevenlabs-key", "sk_", `${HEX}{48}(?!${BASE62})`),
    distinct("langsmith-key", "lsv2_pt_ lsv2_sk_", `${HEX}{32}(?:_${HEX}{10})?`),
    distinct("pinecone-key", "pcsk_", `${BASE62}[A-Za-z0-9_]{40,}`),
    // clouds
    word("aws-key", "AKIA ASIA AROA AIDA AGPA AIPA ANPA ANVA ABIA ACCA A3T", `[A-Z0-9]{16,17}(?!${BASE62})`),
    distinct("aws-key", "ABSK bedrock-api-key-", `${BASE64}{60,}={0,2}`),
    around(
      "azure-secret",
      "Q~",
      `(?:(?<![\\w~.-])|(?<=\\\\[nrt]))[A-Za-z0-9_~.-]{3}\\dQ~[A-Za-z0-9_~.-]{31,34}`,
    ),
    around("azure-key", "JQQJ9 AZDO", `${LEFT}(?:${BASE62}{52}JQQJ9|${BASE62}{76}AZDO)${BASE62}{4,}`),
    distinct("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", `${HEX}{40,}`),
    word("cloudflare-token", "cfk_ cfut_ cfat_", `${BASE62}{40,}`),
    around("cloudflare-token", "v1.0-", `${LEFT}v1\\.0-${HEX}{24}-${HEX}{100,}`),
    word("databricks-token", "dapi", `${HEX}{32}(?:-[0-9])?(?!${BASE62})`),
    distinct("heroku-token", "HRKU-", `${URL64}{30,}`),
    word("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", `${BASE62}{20,}`),
    word("netlify-token", "nfp_", `${BASE62}{30,}`),
    word("fly-token", "fm1a_ fm1r_ fm2_ fo1_", `[A-Za-z0-9+/_-]{40,}={0,3}`),
    word("render-key", "rnd_", `${DIGIT_AHEAD}${BASE62}{24,}`),
    word("supabase-key", "sbp_", `${HEX}{40}`),
    distinct("supabase-key", "sb_secret_", `${DIGIT_AHEAD}${URL64}{20,}`),
    distinct("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", `[A-Za-z0-9_.=-]{30,}`),
    word("neon-key", "napi_", `${BASE62}{40,}`),
    word("alibaba-key", "LTAI", `${DIGIT_AHEAD}${BASE62}{16,}`),
    word("tencent-key", "AKID", `${BASE62}{32}(?!${BASE62})`),
    around("terraform-token", ".atlasv1.", `${LEFT}${BASE62}{14}\\.atlasv1\\.${URL64}{40,}`),
    distinct("vault-token", "hvs. hvb. hvr.", `${DIGIT_AHEAD}${URL64}{24,}`),
    word("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", `[A-Za-z0-9_.-]{40,}`),
    word("pulumi-token", "pul-", `${HEX}{40}`),
    distinct("tailscale-key", "tskey-", `[a-z]{2,20}-[0-9A-Za-z_]{8,40}-[0-9A-Za-z_]{16,}`),
    distinct("1password-token", "ops_ey", `[A-Za-z0-9+/=_-]{60,}`),
    distinct("age-key", "AGE-SECRET-KEY-1", "[0-9A-Za-z]{50,}"),
    distinct("grafana-token", "glsa_", `${BASE62}{32}_${HEX}{8}`),
    word("grafana-token", "glc_", `${BASE64}{32,}={0,2}`),
    distinct("openshift-token", "sha256~", `${URL64}{43}(?!${URL64})`),
    // code hosts, registries, builds
    around("github-token", "ghs_", `ghs_[0-9]{1,20}_${URL64}{1,1000}\\.${URL64}{1,10000}\\.${URL64}{1,1000}`),
    distinct("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9_]{30,}"),
    distinct("github-token", "github_pat_", "[A-Za-z0-9_]{30,}"),
    distinct(
      "gitlab-token",
      "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- gloas- glwt-",
      `${URL64}{20,}(?:\\.[a-z0-9]{2,20}){0,3}`,
    ),
    distinct("gitlab-token", "GR1348941", `${URL64}{20,}`),
    distinct("atlassian-token", "ATATT3 ATCTT3", "[A-Za-z0-9_=-]{50,}"),
    word("bitbucket-password", "ATBB", `${BASE62}{28,}`),
    distinct("npm-token", "npm_", `${BASE62}{36,}`),
    distinct("pypi-token", "pypi-AgE", `${URL64}{40,}`),
    distinct("rubygems-key", "rubygems_", `${HEX}{48}`),
    word("crates-token", "cio", `${DIGIT_AHEAD}${BASE62}{32}(?!${BASE62})`),
    distinct("docker-token", "dckr_pat_ dckr_oat_", `${URL64}{20,}`),
    word("nuget-key", "oy2", `[a-z0-9]{43}(?!${BASE62})`),
    distinct("clojars-token", "CLOJARS_", "[A-Za-z0-9]{50,}"),
    distinct("jfrog-token", "AKCp", `${BASE62}{60,}`),
    word("sonar-token", "squ_ sqp_ sqa_", `${HEX}{40}`),
    distinct("circleci-token", "CCIPAT_ CCIPRJ_", `${BASE62}{10,40}_${HEX}{40}`),
    distinct("buildkite-token", "bkua_", `${HEX}{40}`),
    // chat, mail, telephone
    distinct(
      "slack-token",
      "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe. xwfp-",
      "[A-Za-z0-9.-]{10,}",
    ),
    around(
      "slack-webhook",
      "hooks.slack",
      "(?<=hooks\\.slack(?:-gov)?\\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_-]{16,}",
    ),
    around("discord-token", ".", `${LEFT}[MNO]${URL64}{23,27}\\.${URL64}{6}\\.${URL64}{27,}`),
    around("discord-webhook", "webhooks/", `(?<=/api/webhooks/)\\d{15,21}/${URL64}{40,}`),
    around(
      "teams-webhook",
      "webhookb2/",
      "(?<=webhookb2/)[A-Za-z0-9@-]{30,}/[A-Za-z]{1,40}/[A-Za-z0-9/-]{30,}",
    ),
    around("telegram-token", ":AA", `(?:${LEFT}|(?<=bot))\\d{8,10}:AA${URL64}{32,}`),
    word("sendgrid-key", "SG.", `${URL64}{10,}\\.${URL64}{10,}`),
    word("mailgun-key", "key-", `${HEX}{32}(?!${BASE62})`),
    around("mailchimp-key", "-us", `${LEFT}${HEX}{32}-us\\d{1,2}(?!${BASE62})`),
    distinct("brevo-key", "xkeysib- xsmtpsib-", `${HEX}{64}-${BASE62}{16}`),
    word("resend-key", "re_", `${BASE62}{8}_${BASE62}{20,}`),
    word("twilio-key", "SK", `${HEX}{32}(?!${BASE62})`),
    distinct("intercom-token", "dG9rO", `${BASE64}{40,}={0,2}`),
    distinct("facebook-token", "EAAC EAAB EAAG EAAJ EAAM", `${BASE62}{60,}`),
    around("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", `${LEFT}A{20,24}${BASE62}{1,100}%[A-Za-z0-9%]{40,}`),
    // payment, commerce
    word("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", `${BASE62}{10,}`),
    word("stripe-secret", "whsec_", `${BASE64}{24,}={0,2}`),
    word("square-token", "sq0atp- sq0csp- sq0idp-", `${URL64}{22,}`),
    word("square-token", "EAAA", `${URL64}{60}(?!${URL64})`),
    distinct(
      "braintree-token",
      "access_token$production$ access_token$sandbox$",
      "[a-z0-9]{10,20}\\$[a-f0-9]{32}",
    ),
    around(
      "plaid-token",
      "access-",
      `${LEFT}access-(?:sandbox|development|production)-${HEX}{8}-[A-Fa-f0-9-]{27}`,
    ),
    distinct("flutterwave-key", "FLWSECK", "[A-Za-z0-9_-]{12,}"),
    distinct("shopify-token", "shpat_ shpca_ shppa_ shpss_", `${BASE62}{32,}`),
    word("shippo-token", "shippo_live_ shippo_test_", `${HEX}{40}`),
    word("easypost-key", "EZAK EZTK", `${BASE62}{54}(?!${BASE62})`),
    // work and design tools, monitoring
    distinct("linear-key", "lin_api_ lin_oauth_", "[A-Za-z0-9_]{32,}"),
    word("notion-token", "ntn_", `${BASE62}{40,}`),
    word("notion-token", "secret_", `${DIGIT_AHEAD}${BASE62}{43}(?!${BASE62})`),
    word("airtable-token", "pat", `${BASE62}{14}\\.${HEX}{64}`),
    distinct("figma-token", "figd_ figo_ figu_", `${URL64}{30,}`),
    distinct("postman-key", "PMAK-", `${HEX}{24}-${HEX}{34}`),
    distinct("contentful-token", "CFPAT-", `${URL64}{40,}`),
    word("typeform-token", "tfp_", "[A-Za-z0-9_.=-]{40,}"),
    word("posthog-key", "phx_ phs_", `${BASE62}{40,}`),
    distinct("sentry-token", "sntrys_ sntryu_", "[A-Za-z0-9+/=_-]{40,}"),
    distinct("newrelic-key", "NRAK- NRAL- NRII-", "[A-Za-z0-9-]{27,}"),
    distinct("dynatrace-token", "dt0c01. dt0s01.", "[A-Z0-9]{24}\\.[A-Z0-9]{64}"),
    word("dropbox-token", "sl.", `${DIGIT_AHEAD}${URL64}{100,}`),
    word("mapbox-token", "sk.eyJ", `${URL64}{20,}\\.${URL64}{10,}`),
    // anyone's: each maximal run is tried once, because the left neighbour may not be of the same class
    around(
      "jwt",
      "eyJ",
      String.raw`(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{8,}|\.(?=\.)){1,4}`,
    ),
  ];
}

/** A chat bot's token has no literal, only three parts of known lengths. */
const BOT_TOKEN = /[MNO][A-Za-z0-9_-]{23,27}\./;

/** Whether a long word, with some characters before it, may be part of a token. A cheap first look. */
export function mayBeToken(text: string): boolean {
  return (
    formats().some(({ literals, start }) =>
      literals.some((literal) => holds(text, literal, start === "bounded literal")),
    ) ||
    text.includes("earer ") ||
    BOT_TOKEN.test(text)
  );
}

function holds(text: string, literal: string, bounded: boolean): boolean {
  if (literal === ".") return false;
  for (let at = text.indexOf(literal); at !== -1; at = text.indexOf(literal, at + 1)) {
    if (!bounded || isLeft(text, at)) return true;
  }
  return false;
}

/** What `LEFT` says, of one place. */
function isLeft(text: string, at: number): boolean {
  return !/[A-Za-z0-9]/.test(text.charAt(at - 1)) || /\\[nrt]/.test(text.slice(Math.max(0, at - 2), at));
}

const compiled = new Map<Format, RegExp>();

function patternOf(format: Format): RegExp {
  const ready = compiled.get(format);
  if (ready) return ready;
  const { literals, start, rest } = format;
  const left = start === "bounded literal" ? LEFT : "";
  const begin = start === "anything" ? "" : `${left}(?:${literals.map(escapeLiteral).join("|")})`;
  const pattern = new RegExp(begin + rest, "g");
  compiled.set(format, pattern);
  return pattern;
}

function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** The text with each token replaced. */
export function replaceTokens(text: string, mark: (kind: string) => string): string {
  let result = text;
  for (const format of formats()) {
    if (format.literals.some((literal) => result.includes(literal))) {
      result = result.replace(patternOf(format), mark(format.kind));
    }
  }
  return result;
}
