/** Secrets of every known form, made at run time so that no file of the repository holds one. */

import type { Random } from "./random.ts";

interface Secret {
  /** The marker's kind. */
  kind: string;
  /** What stands in the text. */
  text: string;
  /** The part that may not be seen afterwards. */
  hidden: string;
}

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const HEX = "0123456789abcdef";
const BASE36 = `${LOWER}0123456789`;
const CAPITAL = `${LOWER.toUpperCase()}234567`;
const BASE62 = `${LOWER}${LOWER.toUpperCase()}0123456789`;
const URL64 = `${BASE62}_-`;
const BASE64 = `${BASE62}+/`;

type Maker = (random: Random) => [token: string, hidden?: string];

/** One maker per form; the token's known beginning is joined to random characters. */
const MAKERS: Record<string, Maker[]> = {
  "anthropic-key": [(r) => [`sk-ant-${"api03-"}${chars(r, URL64, 93)}AA`]],
  "openrouter-key": [(r) => [`sk-or-${"v1-"}${chars(r, HEX, 64)}`]],
  "openai-key": [
    (r) => [`sk-${"proj-"}${chars(r, URL64, 74)}${"T3Blbk"}FJ${chars(r, URL64, 73)}a`],
    (r) => [`sk-${"svcacct-"}${chars(r, URL64, 58)}${"T3Blbk"}FJ${chars(r, URL64, 57)}b`],
    (r) => [`sk-${chars(r, BASE62, 20)}${"T3Blbk"}FJ${chars(r, BASE62, 20)}`],
  ],
  "model-key": [(r) => [`sk-${chars(r, HEX, 31)}7`]],
  "google-key": [(r) => [`AIza${chars(r, URL64, 35)}`], (r) => [`AQ.${"Ab"}8R${chars(r, URL64, 40)}`]],
  "google-token": [
    (r) => [`ya29${"."}${chars(r, URL64, 80)}`],
    (r) => [`GOCSPX${"-"}${chars(r, URL64, 28)}`],
  ],
  "groq-key": [(r) => [`gsk${"_"}${chars(r, BASE62, 52)}`]],
  "huggingface-token": [(r) => [`hf${"_"}${chars(r, LOWER + LOWER.toUpperCase(), 34)}`]],
  "replicate-token": [(r) => [`r8${"_"}${chars(r, BASE62, 37)}`]],
  "xai-key": [(r) => [`xai${"-"}${chars(r, BASE62, 80)}`]],
  "perplexity-key": [(r) => [`pplx${"-"}${chars(r, BASE62, 48)}`]],
  "fireworks-key": [(r) => [`fw${"_"}${chars(r, BASE62, 23)}1`]],
  "together-key": [(r) => [`tgp${"_v1_"}${chars(r, URL64, 43)}`]],
  "nvidia-key": [(r) => [`nvapi${"-"}${chars(r, URL64, 64)}`]],
  "tavily-key": [(r) => [`tvly${"-"}dev1-${chars(r, BASE62, 32)}`]],
  "langsmith-key": [(r) => [`lsv2${"_pt_"}${chars(r, HEX, 32)}_${chars(r, HEX, 10)}`]],
  "elevenlabs-key": [(r) => [`sk${"_"}${chars(r, HEX, 48)}`]],
  "aws-key": [
    (r) => [`AKIA${chars(r, CAPITAL, 16)}`],
    (r) => [`ASIA${chars(r, CAPITAL, 16)}`],
    (r) => [`ABSK${chars(r, BASE64, 128)}`],
  ],
  "azure-secret": [(r) => [`${chars(r, BASE62, 3)}8${"Q~"}${chars(r, `${BASE62}_~.-`, 33)}a`]],
  "azure-key": [(r) => [`${chars(r, BASE62, 52)}${"JQQJ"}99${chars(r, BASE62, 26)}`]],
  "digitalocean-token": [(r) => [`dop${"_v1_"}${chars(r, HEX, 64)}`]],
  "cloudflare-token": [(r) => [`cfut${"_"}${chars(r, BASE62, 40)}${chars(r, HEX, 8)}`]],
  "databricks-token": [(r) => [`dapi${chars(r, HEX, 32)}`], (r) => [`dapi${chars(r, HEX, 32)}-2`]],
  "vercel-token": [(r) => [`vcp${"_"}${chars(r, BASE62, 56)}`]],
  "netlify-token": [(r) => [`nfp${"_"}${chars(r, BASE62, 36)}`]],
  "fly-token": [(r) => [`fm2${"_"}${chars(r, BASE64, 120)}==`]],
  "supabase-key": [(r) => [`sbp${"_"}${chars(r, HEX, 40)}`]],
  "planetscale-token": [(r) => [`pscale${"_tkn_"}${chars(r, BASE62, 43)}`]],
  "terraform-token": [(r) => [`${chars(r, BASE62, 14)}${".atlasv1."}${chars(r, BASE62, 67)}`]],
  "vault-token": [(r) => [`hvs${"."}${chars(r, URL64, 94)}c`], (r) => [`hvb${"."}${chars(r, URL64, 150)}d`]],
  "doppler-token": [(r) => [`dp${".st."}prd.${chars(r, BASE62, 43)}`]],
  "pulumi-token": [(r) => [`pul${"-"}${chars(r, HEX, 40)}`]],
  "tailscale-key": [(r) => [`tskey${"-auth-"}${chars(r, BASE62, 17)}-${chars(r, BASE62, 32)}`]],
  "1password-token": [
    (r) => [
      `ops_${btoa(JSON.stringify({ email: chars(r, LOWER, 20), secretKey: chars(r, CAPITAL, 90), x: "a" }))}`,
    ],
  ],
  "age-key": [(r) => [`AGE-${"SECRET-KEY-1"}${chars(r, CAPITAL, 58)}`]],
  "grafana-token": [
    (r) => [`glsa${"_"}${chars(r, BASE62, 32)}_${chars(r, HEX, 8)}`],
    (r) => [`glc${"_"}${chars(r, BASE64, 120)}=`],
  ],
  "github-token": [
    (r) => [`ghp${"_"}${chars(r, BASE62, 36)}`],
    (r) => [`gho${"_"}${chars(r, BASE62, 36)}`],
    (r) => [`github${"_pat_"}${chars(r, BASE62, 22)}_${chars(r, BASE62, 59)}`],
    (r) => [`ghs${"_"}1234567_${chars(r, BASE62, 36)}.${chars(r, URL64, 120)}.${chars(r, URL64, 86)}`],
  ],
  "gitlab-token": [
    (r) => [`glpat${"-"}${chars(r, URL64, 19)}x`],
    (r) => [`glpat${"-"}${chars(r, URL64, 26)}.01.${chars(r, BASE36, 9)}`],
    (r) => [`gldt${"-"}${chars(r, URL64, 20)}`],
  ],
  "atlassian-token": [(r) => [`ATATT${"3xFfGF0"}${chars(r, URL64, 170)}=${chars(r, HEX, 8)}`]],
  "bitbucket-password": [(r) => [`ATBB${chars(r, BASE62, 32)}`]],
  "npm-token": [(r) => [`npm${"_"}${chars(r, BASE62, 36)}`]],
  "pypi-token": [(r) => [`pypi${"-AgE"}IcHlwaS5vcmc${chars(r, URL64, 130)}`]],
  "rubygems-key": [(r) => [`rubygems${"_"}${chars(r, HEX, 48)}`]],
  "crates-token": [(r) => [`cio${chars(r, BASE62, 31)}4`]],
  "docker-token": [(r) => [`dckr${"_pat_"}${chars(r, URL64, 27)}`]],
  "sonar-token": [(r) => [`squ${"_"}${chars(r, HEX, 40)}`]],
  "circleci-token": [(r) => [`CCIPAT${"_"}${chars(r, BASE62, 22)}_${chars(r, HEX, 40)}`]],
  "slack-token": [
    (r) => [`xoxb${"-"}${chars(r, "0123456789", 12)}-${chars(r, "0123456789", 13)}-${chars(r, BASE62, 24)}`],
    (r) => [`xapp${"-"}1-${chars(r, CAPITAL, 11)}-${chars(r, "0123456789", 13)}-${chars(r, HEX, 40)}`],
  ],
  "slack-webhook": [
    (r) => {
      const path = `T${chars(r, CAPITAL, 8)}/B${chars(r, CAPITAL, 10)}/${chars(r, BASE62, 24)}`;
      return [`https://hooks.${"slack.com"}/services/${path}`, path];
    },
  ],
  "discord-token": [(r) => [`M${chars(r, BASE62, 25)}.${chars(r, BASE62, 6)}.${chars(r, URL64, 38)}`]],
  "discord-webhook": [
    (r) => {
      const path = `${chars(r, "123456789", 18)}/${chars(r, URL64, 68)}`;
      return [`https://discord.com/${"api/web"}hooks/${path}`, path];
    },
  ],
  "telegram-token": [(r) => [`${chars(r, "123456789", 10)}:${"AA"}${chars(r, URL64, 33)}`]],
  "sendgrid-key": [(r) => [`SG${"."}${chars(r, BASE62, 22)}.${chars(r, BASE62, 43)}`]],
  "mailgun-key": [(r) => [`key${"-"}${chars(r, HEX, 32)}`]],
  "mailchimp-key": [(r) => [`${chars(r, HEX, 32)}${"-us"}12`]],
  "brevo-key": [(r) => [`xkeysib${"-"}${chars(r, HEX, 64)}-${chars(r, BASE62, 16)}`]],
  "twilio-key": [(r) => [`SK${chars(r, HEX, 32)}`]],
  "stripe-key": [
    (r) => [`sk${"_live_"}${chars(r, BASE62, 24)}`],
    (r) => [`rk${"_test_"}${chars(r, BASE62, 99)}`],
  ],
  "stripe-secret": [(r) => [`whsec${"_"}${chars(r, BASE62, 32)}`]],
  "square-token": [(r) => [`sq0atp${"-"}${chars(r, URL64, 22)}`], (r) => [`EAAA${chars(r, URL64, 60)}`]],
  "braintree-token": [(r) => [`access_token${"$production$"}${chars(r, BASE36, 16)}$${chars(r, HEX, 32)}`]],
  "shopify-token": [(r) => [`shpat${"_"}${chars(r, HEX, 32)}`], (r) => [`shpss${"_"}${chars(r, HEX, 32)}`]],
  "linear-key": [(r) => [`lin${"_api_"}${chars(r, BASE62, 40)}`]],
  "notion-token": [
    (r) => [`ntn${"_"}${chars(r, "0123456789", 11)}${chars(r, BASE62, 35)}`],
    (r) => [`secret${"_"}${chars(r, BASE62, 42)}5`],
  ],
  "airtable-token": [(r) => [`pat${chars(r, BASE62, 14)}.${chars(r, HEX, 64)}`]],
  "figma-token": [(r) => [`figd${"_"}${chars(r, URL64, 40)}`]],
  "postman-key": [(r) => [`PMAK${"-"}${chars(r, HEX, 24)}-${chars(r, HEX, 34)}`]],
  "posthog-key": [(r) => [`phx${"_"}${chars(r, BASE62, 43)}`]],
  "sentry-token": [(r) => [`sntrys${"_"}eyJ${chars(r, BASE62, 120)}`]],
  "newrelic-key": [(r) => [`NRAK${"-"}${chars(r, CAPITAL, 27)}`]],
  "mapbox-token": [(r) => [`sk${".eyJ"}1Ijoi${chars(r, BASE62, 60)}.${chars(r, URL64, 22)}`]],
  jwt: [
    (r) => [`eyJ${"hbGciOi"}${chars(r, BASE62, 20)}.eyJ${chars(r, URL64, 80)}.${chars(r, URL64, 43)}`],
    (r) => [`eyJ${"hbGciOi"}${chars(r, BASE62, 40)}.eyJ${chars(r, URL64, 400)}.${chars(r, URL64, 342)}`],
  ],
};

/** Forms with a maker. */
export const SECRET_KINDS = Object.keys(MAKERS);

/** One secret of each way in which a kind is written. */
export function secretsOf(kind: string, random: Random): Secret[] {
  return (MAKERS[kind] ?? []).map((make) => {
    const [text, hidden = text] = make(random);
    return { kind, text, hidden };
  });
}

/** A private key block as the tools write it; `line` joins its lines. */
export function privateKey(random: Random, { label = "RSA ", line = "\n" } = {}): string {
  const start = label === "OPENSSH " ? "b3BlbnNzaC1rZXktdjE" : "MII";
  const body = start + chars(random, BASE64, 1200 - start.length);
  const rows = body.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}${"PRIVATE"} KEY-----`, ...rows, `-----END ${label}${"PRIVATE"} KEY-----`].join(
    line,
  );
}

/** Random characters of an alphabet, the first a letter or digit. */
export function chars(random: Random, alphabet: string, length: number): string {
  const first = random.pick([...alphabet].filter((character) => /[A-Za-z0-9]/.test(character)));
  return first + Array.from({ length: length - 1 }, () => random.pick([...alphabet])).join("");
}

/** Passwords and keys without a form of their own, as generators and people make them. */
export function opaqueSecret(random: Random): string {
  return random.pick([
    () => chars(random, BASE62, random.integer(16, 64)),
    () => chars(random, HEX, random.pick([32, 40, 64])),
    () => `${chars(random, BASE64, 42)}==`,
    () => `${chars(random, BASE62, 10)}!${chars(random, BASE62, 6)}#9a`,
  ])();
}
