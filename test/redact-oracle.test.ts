import { expect, test } from "bun:test";
import { redact } from "../lib/redact/redact.ts";
import { seeded } from "./support/random.ts";
import { chars, privateKey, SECRET_KINDS, secretsOf } from "./support/secrets.ts";

/** Development tools have a package of their own (test/package.json), which a plain `bun install` does not fetch. */
async function loadSecretlint() {
  try {
    const [{ lintSource }, { creator }] = await Promise.all([
      import("@secretlint/core"),
      import("@secretlint/secretlint-rule-preset-recommend"),
    ]);
    return { lintSource, creator };
  } catch {
    console.error("secretlint is not installed (bun install --cwd test): its tests are skipped");
    return undefined;
  }
}

const secretlint = await loadSecretlint();
const oracleTest = test.skipIf(!secretlint);

/** Where secrets stand in transcripts: what comes before and after. */
const PLACES: [before: string, after: string][] = [
  ["", ""],
  ["use ", ", then deploy."],
  ['{"value": "', '"}'],
  ['"{\\"v\\":\\"', '\\"}"'],
  ["export MY_VALUE=", "\nnpm test"],
  ["https://api.example.test/v1?x=", "&page=2"],
  ["```sh\ncurl -H 'X-Thing: ", "' https://api.example.test\n```"],
  ["Bash echo ", " > out.txt"],
  ["first\\n", "\\nnext"],
  ["<b>", "</b>"],
  ["密钥", "。"],
  ["(", ")"],
  ["`", "`"],
  ["+ value: [", "]"],
];

oracleTest("secretlint finds nothing in redacted tokens of any known form, wherever they stand", async () => {
  const seen = new Set<string>();
  for (const seed of [1, 2, 3]) {
    const random = seeded(seed);
    for (const kind of SECRET_KINDS) {
      for (const { text, hidden } of secretsOf(kind, random)) {
        const raw = PLACES.map(([before, after]) => before + text + after);
        for (const rule of await findings(raw.join("\n\n"))) seen.add(rule);
        const redacted = raw.map((place) => redact(place));
        const marked = text.replace(hidden, "[redacted]");
        expect(redacted.map(withoutKinds)).toEqual(PLACES.map(([before, after]) => before + marked + after));
        expect(await findings(redacted.join("\n\n"))).toEqual([]);
        expect(redacted.map((place) => redact(place))).toEqual(redacted);
      }
    }
  }
  // the oracle saw what it knows, so its silence afterwards means something
  expect([...seen].sort()).toEqual(
    (
      "1password anthropic aws cloudflare databricks docker figma github gitlab grafana groq hashicorp-vault " +
      "huggingface linear notion npm openai sendgrid shopify slack stripe tailscale vercel"
    ).split(" "),
  );
});

const withoutKinds = (text: string) => text.replace(/\[redacted:[a-z0-9-]+\]/g, "[redacted]");

const PRIVATE_KEY_LABELS = ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "];

oracleTest(
  "redact() replaces whole private key blocks, also escaped, quoted line by line and cut off",
  async () => {
    const random = seeded(4);
    for (const label of PRIVATE_KEY_LABELS) {
      for (const line of ["\n", "\r\n", "\\n", "\\r\\n", '\\n" +\n  "', "\n    ", "\n+", "\n> "]) {
        const key = privateKey(random, { label, line });
        if (line === "\n" && label === "RSA ") expect(await findings(key)).toEqual(["privatekey"]);
        const redacted = redact(`before ${key} after`);
        expect(redacted).toBe("before [redacted:private-key] after");
        for (const length of [1, 100, 400, key.length - 40]) {
          const cut = key.slice(0, label.length + 40 + length);
          const rest = redact(`before ${cut}`);
          expect(leak(cut.slice(label.length + 30), rest)).toBe("");
        }
      }
    }
  },
);

const SCHEMES = "http https ftp postgres postgresql mysql mongodb mongodb+srv redis amqp smtp ssh".split(" ");

oracleTest("redact() hides the password of any URL and keeps scheme, user and host", async () => {
  const random = seeded(7);
  const seen = new Set<string>();
  for (const scheme of SCHEMES) {
    for (const password of [
      chars(random, LETTERS, 12),
      `${chars(random, LETTERS, 8)}%40!`,
      `p@${chars(random, LETTERS, 9)}:x`,
    ]) {
      const raw = `url ${scheme}://ann:${password}@db.internal.example.net:5432/app?x=1 end`;
      for (const rule of await findings(raw)) seen.add(rule);
      const redacted = redact(raw);
      expect(redacted).toBe(
        `url ${scheme}://ann:[redacted:url-password]@db.internal.example.net:5432/app?x=1 end`,
      );
      expect(await findings(redacted)).toEqual([]);
    }
  }
  expect([...seen].sort()).toEqual(["basicauth", "database-connection-string"]);
});

oracleTest("redact() hides a token used as a URL's user", async () => {
  const token = chars(seeded(8), LETTERS, 40);
  expect(redact(`git clone https://${token}@github.com/a/b.git`)).toBe(
    "git clone https://[redacted:url-user]@github.com/a/b.git",
  );
  const raw = `https://${token}:x-oauth-basic@github.com/a/b.git`;
  expect(await findings(raw)).not.toEqual([]);
  expect(redact(raw)).toBe("https://[redacted:url-user]:[redacted:url-password]@github.com/a/b.git");
});

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** The names of secretlint's rules that find something; a marker counts as what it is: a placeholder. */
async function findings(content: string, filePath = "a.txt"): Promise<string[]> {
  const oracle = secretlint;
  if (!oracle) throw new Error("Cannot ask secretlint: it is not installed");
  const ext = filePath.endsWith(".json") ? ".json" : ".txt";
  const marked = content.replace(/\[redacted:[a-z0-9-]+\]/g, "$${REDACTED}");
  const result = await oracle.lintSource({
    source: { content: marked, filePath, ext, contentType: "text" },
    options: {
      noPhysicFilePath: true,
      config: {
        rules: [
          {
            id: "@secretlint/secretlint-rule-preset-recommend",
            rule: oracle.creator,
            rules: [{ id: "@secretlint/secretlint-rule-aws", options: { enableIDScanRule: true } }],
          },
        ],
      },
    },
  });
  return result.messages
    .filter((message) => message.messageId !== "AWSAccountID")
    .map((message) => message.ruleId.replace("@secretlint/secretlint-rule-", ""));
}

/** A piece of the secret, long enough to matter, that is still in the text. */
function leak(secret: string, text: string): string {
  for (const piece of secret.match(/[A-Za-z0-9+/]{20}/g) ?? []) if (text.includes(piece)) return piece;
  return "";
}
