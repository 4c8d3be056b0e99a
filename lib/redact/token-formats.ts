/**
 * Lists the secrets known by their own form: issuers' token prefixes, JWTs, wallet keys, password hashes.
 *
 * Every pattern is linear: it starts at a literal, and what follows is one class with an upper bound or without a tail.
 */

export interface Format {
  kind: string;
  /** A text without any of these literals cannot match. */
  literals: readonly string[];
  /** Whether it begins with one of the literals, and whether that must begin a word. */
  start: "literal" | "bounded literal" | "anything";
  /** The pattern after the literal, or the whole pattern. */
  rest: string;
  /** Whether names begin like this too, so that the rest must look random. */
  random?: boolean;
}

/** Not inside a word; a letter that belongs to an escape such as `\n` does not count. */
export const LEFT = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;

/** Returns a format of prefixes that occur nowhere else and therefore count inside a longer word, too. */
function distinct(kind: string, prefixes: string, rest: string): Format {
  return { kind, literals: prefixes.split(" "), start: "literal", rest };
}

/** Returns a format of prefixes that end or start ordinary words, too. */
function word(kind: string, prefixes: string, rest: string): Format {
  return { kind, literals: prefixes.split(" "), start: "bounded literal", rest };
}

/** Marks a format with whose prefixes names begin, too. */
function ambiguous(format: Format): Format {
  return { ...format, random: true };
}

/** Formats known by something in their middle. */
function around(kind: string, literals: string, source: string): Format {
  return { kind, literals: literals.split(" "), start: "anything", rest: source };
}

const HEX = "[A-Fa-f0-9]";
const BASE62 = "[A-Za-z0-9]";
const URL64 = "[A-Za-z0-9_-]";
const BASE64 = "[A-Za-z0-9+/]";

/** Lists all formats, specific ones before those that would match a part of them. */
export function listFormats(): Format[] {
  return [
    // model providers
    distinct("anthropic-key", "sk-ant-", `${URL64}{16,}`),
    distinct("openrouter-key", "sk-or-v1-", `${HEX}{32,}`),
    ambiguous(distinct("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-service-", `${URL64}{20,}`)),
    around("openai-key", "T3BlbkFJ", `sk-${URL64}{16,200}?T3BlbkFJ${URL64}{16,}`),
    word("langfuse-key", "sk-lf-", `${HEX}{8}-[A-Fa-f0-9-]{27}`),
    ambiguous(word("model-key", "sk-", `${BASE62}{20,}`)),
    distinct("google-key", "AIza", `${URL64}{30,}`),
    word("google-key", "AQ.Ab", `${URL64}{30,}`),
    distinct("google-token", "ya29. GOCSPX-", `[A-Za-z0-9_.-]{20,}`),
    word("google-token", "1//0", `${URL64}{30,}`),
    word("groq-key", "gsk_", `${BASE62}{30,}`),
    word("huggingface-token", "hf_ api_org_", `${BASE62}{30,}`),
    word("replicate-token", "r8_", `${BASE62}{30,}`),
    word("xai-key", "xai-", `${BASE62}{40,}`),
    word("perplexity-key", "pplx-", `${BASE62}{40,}`),
    ambiguous(word("fireworks-key", "fw_", `${BASE62}{20,}`)),
    distinct("together-key", "tgp_v1_", `${URL64}{30,}`),
    word("cerebras-key", "csk-", `${BASE62}{40,}`),
    distinct("nvidia-key", "nvapi-", `${URL64}{40,}`),
    ambiguous(word("voyage-key", "pa-", `${URL64}{40,}`)),
    word("jina-key", "jina_", `${BASE62}{40,}`),
    ambiguous(word("tavily-key", "tvly-", `${URL64}{20,}`)),
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
    ambiguous(word("render-key", "rnd_", `${BASE62}{24,}`)),
    word("supabase-key", "sbp_", `${HEX}{40}`),
    ambiguous(distinct("supabase-key", "sb_secret_", `${URL64}{20,}`)),
    distinct("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", `[A-Za-z0-9_.=-]{30,}`),
    word("neon-key", "napi_", `${BASE62}{40,}`),
    ambiguous(word("alibaba-key", "LTAI", `${BASE62}{16,}`)),
    word("tencent-key", "AKID", `${BASE62}{32}(?!${BASE62})`),
    around("terraform-token", ".atlasv1.", `${LEFT}${BASE62}{14}\\.atlasv1\\.${URL64}{40,}`),
    ambiguous(distinct("vault-token", "hvs. hvb. hvr.", `${URL64}{24,}`)),
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
    ambiguous(word("crates-token", "cio", `${BASE62}{32}(?!${BASE62})`)),
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
      "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe. xwfp-",
      "[A-Za-z0-9.+/=_%-]{10,}",
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
    word("facebook-token", "EAAC EAAB EAAG EAAJ EAAM", `${BASE62}{60,}`),
    around("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", `${LEFT}A{20,24}${BASE62}{1,100}%[A-Za-z0-9%]{40,}`),
    word("mailersend-token", "mlsn.", `${HEX}{64}`),
    distinct("hubspot-token", "pat-na1- pat-eu1- pat-ap1-", `${HEX}{8}-[A-Fa-f0-9-]{27}`),
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
    distinct("duffel-token", "duffel_live_ duffel_test_", `${URL64}{40,}`),
    // wallets
    word("wallet-key", "xprv yprv zprv tprv uprv vprv", "[1-9A-HJ-NP-Za-km-z]{100,}"),
    word("nostr-key", "nsec1", "[02-9ac-hj-np-z]{58}"),
    // work and design tools, monitoring
    distinct("linear-key", "lin_api_ lin_oauth_", "[A-Za-z0-9_]{32,}"),
    word("notion-token", "ntn_", `${BASE62}{40,}`),
    ambiguous(word("notion-token", "secret_", `${BASE62}{43}(?!${BASE62})`)),
    word("airtable-token", "pat", `${BASE62}{14}\\.${HEX}{64}`),
    distinct("figma-token", "figd_ figo_ figu_", `${URL64}{30,}`),
    distinct("postman-key", "PMAK-", `${HEX}{24}-${HEX}{34}`),
    distinct("contentful-token", "CFPAT-", `${URL64}{40,}`),
    word("typeform-token", "tfp_", "[A-Za-z0-9_.=-]{40,}"),
    word("posthog-key", "phx_ phs_", `${BASE62}{40,}`),
    distinct("sentry-token", "sntrys_ sntryu_", "[A-Za-z0-9+/=_-]{40,}"),
    distinct("newrelic-key", "NRAK- NRAL- NRII-", "[A-Za-z0-9-]{27,}"),
    distinct("dynatrace-token", "dt0c01. dt0s01.", "[A-Z0-9]{24}\\.[A-Z0-9]{64}"),
    ambiguous(word("dropbox-token", "sl.", `${URL64}{100,}`)),
    word("mapbox-token", "sk.eyJ", `${URL64}{20,}\\.${URL64}{10,}`),
    distinct("honeycomb-key", "hcaik_ hcbik_ hcxik_ hcalk_", `${BASE62}{30,}`),
    distinct("logfire-token", "pylf_v1_", "[A-Za-z0-9_]{40,}"),
    distinct("axiom-token", "xaat- xapt-", `${HEX}{8}-[A-Fa-f0-9-]{27}`),
    distinct("sourcegraph-token", "sgp_", "[A-Fa-f0-9_]{40,}"),
    distinct("apify-token", "apify_api_", `${BASE62}{30,}`),
    distinct("prefect-key", "pnu_ pnb_", `${BASE62}{36}`),
    distinct("adafruit-key", "aio_", `${BASE62}{28}`),
    distinct("docker-swarm-token", "SWMTKN-1-", "[a-z0-9]{50}-[a-z0-9]{25}"),
    distinct("infracost-key", "ico-", `${BASE62}{32}(?!${BASE62})`),
    distinct("wakatime-key", "waka_", `${HEX}{8}-[A-Fa-f0-9-]{27}`),
    word("e2b-key", "e2b_", `${HEX}{40}`),
    word("readme-key", "rdme_", "[a-z0-9]{70}"),
    word("runpod-key", "rpa_", `${BASE62}{40,}`),
    ambiguous(word("brave-key", "BSA", `${URL64}{28}(?!${URL64})`)),
    // hashes of passwords, which are guessed offline
    around("password-hash", "$2", String.raw`\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}`),
    around(
      "password-hash",
      "$argon2",
      String.raw`\$argon2(?:id|i|d)\$(?:v=\d{1,3}\$)?[a-z0-9=,]{5,60}\$[A-Za-z0-9+/]{8,}={0,2}\$[A-Za-z0-9+/]{16,}={0,2}`,
    ),
    around(
      "password-hash",
      "$1$ $5$ $6$ $apr1$ $y$ $7$",
      String.raw`\$(?:1|5|6|y|7|apr1)\$(?:rounds=\d{1,9}\$|[./A-Za-z0-9]{1,10}\$)?[./A-Za-z0-9]{1,22}\$[./A-Za-z0-9]{22,86}`,
    ),
    around("password-hash", "$P$ $H$ $S$", String.raw`\$[PHS]\$[./A-Za-z0-9]{31,52}`),
    around(
      "password-hash",
      "SHA} SHA256} SHA512}",
      String.raw`(?<=\{S?SHA(?:256|512)?\})[A-Za-z0-9+/]{27,}={0,2}`,
    ),
    around(
      "password-hash",
      "pbkdf2",
      String.raw`pbkdf2[_:-]sha\d{1,3}[$:]\d{1,9}\$[^\s$"']{1,64}\$[A-Za-z0-9+/=]{20,}`,
    ),
    around(
      "password-hash",
      "scrypt:",
      String.raw`scrypt:\d{1,8}:\d{1,3}:\d{1,3}\$[^\s$"']{1,64}\$[a-f0-9]{32,}`,
    ),
    around(
      "password-hash",
      "SCRAM-SHA",
      String.raw`SCRAM-SHA-(?:1|256|512)\$\d{1,8}:[A-Za-z0-9+/=]{8,}\$[A-Za-z0-9+/=]{20,}:[A-Za-z0-9+/=]{20,}`,
    ),
    // anyone's: each maximal run is tried once, because the left neighbour may not be of the same class
    around(
      "jwt",
      "eyJ",
      String.raw`(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{8,}|\.(?=\.)){1,4}`,
    ),
  ];
}
