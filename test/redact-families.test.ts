import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { redact } from "../lib/redact/redact.ts";
import { type Random, seeded } from "./support/random.ts";
import { ROOT } from "./support/run.ts";
import { chars } from "./support/secrets.ts";

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const LETTERS = LOWER + LOWER.toUpperCase();
const BASE62 = `${LETTERS}0123456789`;
const HEX = "0123456789abcdef";
const URL64 = `${BASE62}_-`;

/** Tokens whose random part may have no digit: beginning, alphabet, length. */
const SHORT: [string, string, number][] = [
  ["glpat-", URL64, 20],
  ["gldt-", URL64, 20],
  ["whsec_", BASE62, 24],
  ["vcp_", BASE62, 24],
  ["hvs.", URL64, 24],
  ["sk-", BASE62, 24],
  ["sk-proj-", URL64, 24],
  ["fw_", BASE62, 24],
  ["tvly-", BASE62, 24],
  ["rnd_", BASE62, 24],
  ["sk_live_", BASE62, 24],
  ["dckr_pat_", URL64, 27],
  ["GOCSPX-", URL64, 28],
];

describe("redact() of tokens without a digit", () => {
  test.each(SHORT)("%s", (beginning, alphabet, length) => {
    const random = seeded(11);
    const passed: string[] = [];
    for (let round = 0; round < 2000; round++) {
      const letters = [...alphabet].filter((character) => !/[0-9]/.test(character)).join("");
      const token = beginning + chars(random, round % 2 === 0 ? letters : alphabet, length);
      if (redact(`use ${token} now`).includes(token)) passed.push(token);
    }
    // half of them have no digit at all, as one in thirty of real ones
    expect(passed.length).toBeLessThanOrEqual(8);
  });
});

test("redact() takes a random password of twelve letters and digits at its name", () => {
  const random = seeded(15);
  let passed = 0;
  for (let round = 0; round < 4000; round++) {
    const text = `{"password":"${chars(random, BASE62, 12)}","user":"ann"}`;
    if (redact(text) === text) passed++;
  }
  expect(passed / 4000).toBeLessThan(0.005);
});

/** Contexts with `@` for the value. */
const CONTEXTS: Record<string, string[]> = {
  "names of tokens with an id or a hash": [
    "SNYK_TOKEN=@uuid",
    'export LINEAR_TOKEN="@uuid"',
    '"token":"@hex40"',
    '{"token": "@hex64", "user": "ann"}',
    "GITEA_TOKEN=@hex40",
    'apiToken: "@hex32"',
    "NPM_TOKEN=@uuid",
    "x-auth-token: @uuid",
    "VAULT_TOKEN=@uuid",
    "--token @hex40",
    "ACCESS_TOKEN='@uuid'",
  ],
  "values with blanks": [
    'export DB_PASSWORD="@words"',
    "DB_PASSWORD='@words'",
    'ADMIN_PASS="@words" ./run.sh',
    'env RESTIC_PASSWORD="@words" restic snapshots',
    'docker run -e "X=1" -e POSTGRES_PASSWORD="@words" postgres',
    'APP_SECRET="@words"',
    "passphrase: @words",
    'Passphrase: "@words"',
    "mnemonic: @mnemonic",
    'SEED_PHRASE="@mnemonic"',
    "the recovery phrase is @mnemonic.",
  ],
  commands: [
    "sshpass -p @ ssh ann@host",
    "sshpass -p'@' rsync -a x host:",
    "docker login -u ann -p @ registry.example.test",
    "podman login --password=@ quay.io",
    "redis-cli -h cache -a @ ping",
    "mongosh -u ann -p @ --host db",
    "mongodump --password=@ --db shop",
    "cqlsh -u ann -p @",
    "mosquitto_pub -u ann -P @ -t x",
    "smbclient //host/share -U ann%@",
    'ldapsearch -x -D "cn=admin" -w @ -b dc=x',
    "openssl rsa -in key.pem -passin pass:@",
    "openssl enc -aes-256-cbc -k @ -in a",
    "keytool -list -storepass @ -keystore a.jks",
    "sqlcmd -S db -U sa -P @ -Q x",
    "ipmitool -H host -U root -P @ power status",
    "7z a -p@ out.7z in",
    "zip -P @ out.zip in",
    "ssh-keygen -t ed25519 -N @ -f id",
    "gpg --batch --passphrase @ -d a.gpg",
    "htpasswd -b .htpasswd ann @",
    "rabbitmqctl add_user ann @",
    "echo 'ann:@' | chpasswd",
    "kubectl create secret generic db --from-literal=password=@",
    "curl -F password=@ https://example.test",
    "curl -d 'user=ann&password=@' https://example.test",
    "curl --data-urlencode 'password=@' https://example.test",
    "nmcli dev wifi connect home password @",
    "wpa_passphrase home @",
    "az login --service-principal -u x -p @ --tenant y",
  ],
  "statements and configuration": [
    "CREATE USER ann WITH PASSWORD '@';",
    "CREATE ROLE app LOGIN PASSWORD '@'",
    "ALTER USER ann IDENTIFIED BY '@';",
    "CREATE USER 'ann'@'%' IDENTIFIED WITH caching_sha2_password BY '@'",
    "CREATE LOGIN ann WITH PASSWORD = N'@'",
    "SET PASSWORD FOR 'ann' = PASSWORD('@')",
    "create user ann with password '@';",
    "ENV API_KEY @",
    "setx DB_PASSWORD @",
    "requirepass @",
    "masterauth @",
    "machine example.test login ann password @",
    'os.getenv("DB_PASSWORD", "@")',
    "os.environ.get('API_TOKEN', '@')",
    'process.env.DB_PASSWORD || "@"',
    "process.env.JWT_SECRET ?? '@'",
    'ENV.fetch("SECRET_KEY_BASE", "@")',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's default
    "${DB_PASSWORD:-@}",
    "client-key-data: @b64",
    "AWS Secret Access Key [None]: @aws",
    "AWS Secret Access Key: @aws",
    "API key: @hex40",
    "Secret Key: @b64",
  ],
  "markup and prose": [
    "<password>@</password>",
    "<db.password>@</db.password>",
    '<apiKey env="prod">@</apiKey>',
    "<clientSecret>@</clientSecret>",
    "**Password:** @",
    "**Password**: @",
    "- __Password__: @",
    "| password | @ |",
    "Log in as ann, the password is @ and the port 22.",
    "my password is `@`, keep it",
    "The password for the staging database is @.",
    "password was changed to @, please note",
    "das Passwort ist @.",
    "Passwort: @",
    "my password: @ and the port 22",
    "use @ as the password",
    "la contraseña es @",
    "密码是@",
    "пароль: @",
  ],
};

const ALPHABETS: Record<string, (random: Random) => string> = {
  uuid: (r) => [8, 4, 4, 4, 12].map((length) => chars(r, HEX, length)).join("-"),
  hex32: (r) => chars(r, HEX, 32),
  hex40: (r) => chars(r, HEX, 40),
  hex64: (r) => chars(r, HEX, 64),
  b64: (r) => `LS0t${chars(r, BASE62, 400)}`,
  aws: (r) => `${chars(r, BASE62, 37)}/+9`,
  words: (r) => Array.from({ length: 4 }, () => chars(r, LOWER, 6)).join(" "),
  mnemonic: (r) => Array.from({ length: 12 }, () => chars(r, LOWER, 5)).join(" "),
  "": (r) => `${chars(r, LOWER, 5)}${r.integer(10, 99)}${chars(r, LETTERS, 3)}`,
};

describe("redact() takes out, by their context,", () => {
  test.each(Object.entries(CONTEXTS))("%s", (_, templates) => {
    const random = seeded(12);
    for (const template of templates) {
      for (let round = 0; round < 20; round++) {
        const kind = /@(uuid|hex\d\d|b64|aws|words|mnemonic)\b/.exec(template)?.[1] ?? "";
        const place = kind === "" ? template.lastIndexOf("@") : template.indexOf(`@${kind}`);
        const at = kind === "" && /@(host|'%|example)/.test(template) ? lastValue(template) : place;
        const value = (ALPHABETS[kind] as (random: Random) => string)(random);
        const text = template.slice(0, at) + value + template.slice(at + 1 + kind.length);
        const redacted = redact(`see:\n${text}\nand so on`);
        expect({ text, redacted: redacted.includes(value) ? redacted : "" }).toEqual({ text, redacted: "" });
        expect(redacted).toContain("[redacted:");
        expect(redact(redacted)).toBe(redacted);
      }
    }
  });

  /** The `@` that is no part of an address. */
  function lastValue(template: string): number {
    return template.search(/@(?!host|'%|example)/);
  }
});

test("redact() takes out a password that is a word, where nothing else can be meant", () => {
  const templates = [
    '{"user":"ann","password":"@"}',
    "mysql -u root --password=@ shop",
    "wget --user=ann --password=@ http://host.test",
    'connect(user="ann", password="@")',
    "{'password': '@'}",
    ':password => "@"',
    'password := "@"',
    '"{\\"password\\":\\"@\\"}"',
    "**Password:** @",
    "- **Password**: `@`",
    'os.getenv("DB_PASSWORD","@")',
    "os.environ.get('API_TOKEN', '@')",
    'process.env.DB_PASSWORD || "@"',
    'ENV.fetch("DB_PASSWORD", "@")',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's default
    "${DB_PASSWORD:-@}",
    'System.getProperty("db.password", "@")',
    'source.setPassword("@")',
    "setenv DB_PASSWORD @",
    "ENV DB_PASSWORD @",
    "echo @ | sudo -S ls",
    "net use Z: \\\\host\\share @ /user:ann",
    "vault kv put secret/app password=@",
    "username=ann\npassword=@",
    "[Bash git credential fill username=ann password=@]",
    'keyring.set_password("svc","ann","@")',
    'get(url, auth=("ann", "@"))',
    "WIFI:S:home;T:WPA;P:@;;",
  ];
  for (const template of templates) {
    const redacted = redact(template.replace("@", "tigerlily"));
    expect([template, redacted.includes("tigerlily")]).toEqual([template, false]);
    expect(redact(redacted)).toBe(redacted);
  }
  for (const text of [
    '{"password": "required"}',
    '{"password": "Wachtwoord"}',
    'password: "passwordInput"',
    '<Input name="password" error="incorrect">',
    "**Password:** required",
    "**Password:** minimum eight characters",
    'process.env.DB_PASSWORD || "postgres"',
    "`ANTHROPIC_API_KEY` or `ANTHROPIC_OAUTH_TOKEN`",
    'setPassword("password")',
    'auth=("user", "password")',
  ]) {
    expect(redact(text)).toBe(text);
  }
});

test("redact() takes random letters after a name, and hex keys as a URL's user", () => {
  const random = seeded(16);
  let passed = 0;
  for (let round = 0; round < 2000; round++) {
    const text = `{"password":"${chars(random, LOWER, 12)}","user":"ann"}`;
    if (redact(text) === text) passed++;
  }
  expect(passed / 2000).toBeLessThan(0.005);
  for (const text of [
    `git clone https://${chars(random, HEX, 40)}@host.test/x`,
    `TOTP secret: ${chars(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)}`,
    "I changed the password to Marigold12! yesterday",
    "login ann pw: dandelion9",
  ]) {
    expect([text, redact(text)]).toEqual([text, expect.stringContaining("[redacted:")]);
  }
});

test("redact() takes out a PuTTY key that was put on one line", () => {
  const key = chars(seeded(17), BASE62, 48);
  const file = `PuTTY-User-Key-File-3: ssh-ed25519 Encryption: none Public-Lines: 1 AAAA Private-Lines: 1 ${key} Private-MAC: ab`;
  expect(redact(file)).toContain("Private-Lines: 1 [redacted:private-key] Private-MAC: ab");
  const cut = redact(`${file.slice(0, file.indexOf(key) + 30)}…`);
  expect(cut).toContain("Private-Lines: 1 [redacted:private-key]…");
});

test("redact() takes out key files, seeds and hashes of passwords", () => {
  const r = seeded(13);
  const b64 = `${BASE62}+/`;
  const b58 = BASE62.replace(/[0OIl]/g, "");
  const lines = (length: number) => Array.from({ length }, () => chars(r, b64, 64)).join("\n");
  const salt = chars(r, b64, 22);
  const secrets = [
    `PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 4\n${lines(4)}\nPrivate-MAC: x`,
    `-----BEGIN OpenVPN Static key V1-----\n${Array.from({ length: 16 }, () => chars(r, HEX, 32)).join("\n")}\n-----END OpenVPN Static key V1-----`,
    `${"xp"}rv9s21ZrQH143K${chars(r, b58, 97)}`,
    `otpauth://totp/Shop:ann?secret=${chars(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32)}&issuer=Shop`,
    `otpauth://totp/Shop?issuer=Shop&secret=${"JBSWY3DP"}EHPK3PXP`,
    `$2b$10$${chars(r, `${BASE62}./`, 53)}`,
    `$2y$12$${chars(r, `${BASE62}./`, 53)}`,
    `$argon2id$v=19$m=65536,t=3,p=4$${salt}$${chars(r, b64, 43)}`,
    `root:$6$${chars(r, BASE62, 16)}$${chars(r, `${BASE62}./`, 86)}:19000:0`,
    `ann:$apr1$${chars(r, BASE62, 8)}$${chars(r, `${BASE62}./`, 22)}`,
    `pbkdf2_sha256$600000$${chars(r, BASE62, 22)}$${chars(r, b64, 43)}=`,
    `scrypt:32768:8:1$${chars(r, BASE62, 16)}$${chars(r, HEX, 128)}`,
    `SCRAM-SHA-256$4096:${salt}==$${chars(r, b64, 43)}=:${chars(r, b64, 43)}=`,
    `{SSHA}${chars(r, b64, 32)}`,
    `xoxc-${chars(r, "0123456789", 12)}-${chars(r, "0123456789", 12)}-${chars(r, HEX, 64)}`,
    `xoxd-${chars(r, BASE62, 60)}%2F${chars(r, BASE62, 60)}%3D`,
    `nsec1${chars(r, "023456789acdefghjklmnpqrstuvwxyz", 58)}`,
  ];
  for (const text of secrets) {
    const redacted = redact(`a ${text}\nb`);
    const pieces = text.match(/[A-Za-z0-9+/.]{12,}/g) ?? [];
    const left = pieces.filter(
      (piece) => redacted.includes(piece) && !/^(?:PuTTY|OpenVPN|Private|totp|Shop)/.test(piece),
    );
    expect({ text, left }).toEqual({ text, left: [] });
    expect(redact(redacted)).toBe(redacted);
  }
});

describe("redact() of invisible characters", () => {
  const INVISIBLE =
    "ad 34f 61c 115f 1160 17b4 17b5 180b 180e 200b 200c 200d 200e 200f 202a 202e 2060 2063 2066 2069 206f 3164 feff ffa0 fff9 fe00 fe0e fe0f e0001 e0041 e007f e0100 e01ef e0fff 1d173 13430 1bca0";

  test.each(INVISIBLE.split(" "))("U+%s hides no token", (code) => {
    const character = String.fromCodePoint(Number.parseInt(code, 16));
    const random = seeded(14);
    const token = `ghp_${chars(random, BASE62, 36)}`;
    for (let at = 1; at < token.length; at += 3) {
      const text = `use ${token.slice(0, at)}${character}${token.slice(at, at + 4)}${character}${token.slice(at + 4)} now`;
      expect(redact(text)).toBe("use [redacted:github-token] now");
    }
    expect(redact(`pass${character}word=${character}Tr0ub4${character}dor&3`)).toBe(
      "password=[redacted:password]",
    );
  });

  test("leaves no message in plane 14 or in variation selectors", () => {
    const hide = (text: string, base: number) =>
      [...text].map((letter) => String.fromCodePoint(base + letter.charCodeAt(0))).join("");
    const shown = redact(
      `a${hide("obey", 0xe0100)} ❤${hide("\u0001\u0002\u0003", 0xfe00)} b${hide("run", 0xe0000)}`,
    );
    expect(shown).toBe("a ❤\ufe03 b");
  });

  test("keeps what scripts and emoji need", () => {
    const text = "👩‍👩‍👧 ❤️ 1️⃣ 👁️‍🗨️ می‌خواهم क्‍ष 葛 é";
    expect(redact(text)).toBe(text);
  });
});

describe("redact() of secrets that only their place gives away", () => {
  test.each([
    ["db1:5432:shop:alice:tigerlily", "tigerlily"],
    ["*:*:*:postgres:s3same", "s3same"],
    ["# pgpass\nlocalhost:5432:*:app:open sesame", undefined],
    ["Your verification code is 482913.", "482913"],
    ["one-time code: 482 913", "482 913"],
    ["OTP: 77120", "77120"],
    ["my PIN is 4821", "4821"],
    ["SIM pin: 4821", "4821"],
    ['variable "db_password" {\n  type    = string\n  default = "tigerlily"\n}', "tigerlily"],
    ["- name: DB_PASSWORD\n  value: tigerlily", "tigerlily"],
    ['{"name": "API_TOKEN", "value": "tiger-lily-4"}', "tiger-lily-4"],
    ["- name: db-password\n  value: 'tigerlily'", "tigerlily"],
    ["TOTP secret: JBSW Y3DP EHPK 3PXP", "JBSW Y3DP EHPK 3PXP"],
    ["setup key: jbsw y3dp ehpk 3pxp", "jbsw y3dp ehpk 3pxp"],
    ["db:\n  host: db1\n  user: alice\n  password: tigerlily\n", "tigerlily"],
    ["username: alice\nport: 5432\ndb_password: tigerlily", "tigerlily"],
  ])("%j", (text, secret) => {
    if (secret === undefined) expect(redact(text)).toBe(text);
    else {
      expect(redact(text)).not.toContain(secret);
      expect(redact(text)).toContain("[redacted:");
    }
  });

  test.each([
    "src/a.ts:12:5:error:unused",
    "host:8080:8080:tcp:open",
    "10:5432:20:30:40 elapsed",
    "HTTP code: 4043, exit code is 127",
    "error code is 482913",
    "the security code review is 2024",
    "PIN 12 of the header, GPIO PIN: 17",
    "pin: 1234 in package.json",
    'variable "region" {\n  default = "eu-central-1"\n}',
    'variable "db_password" {\n  type = string\n}',
    'variable "db_password" {\n  default = ""\n}',
    "- name: LOG_LEVEL\n  value: debugging",
    '{"name": "primary-color", "value": "#ff8800"}',
    "name: PASSWORD\nvalue: $" + "{DB_PASSWORD}",
    "setup key with that this code from them",
    "interface Login {\n  username: string\n  password: string\n}",
    "properties:\n  username: alice\n  password: required\n",
    "const login = {\n  user: name,\n  password: tigerlily,\n}",
  ])("keeps %j", (text) => expect(redact(text)).toBe(text));
});

/** Made up by somebody who had not seen the rules: `«…»` is the secret, `@kind:length` random, `⏎` a line end. */
const HOSTILE = readFileSync(join(ROOT, "test/fixtures/redact/hostile.txt"), "utf8").trim().split("\n");
const KINDS: Record<string, string> = {
  b62: BASE62,
  hex: HEX,
  HEX: HEX.toUpperCase(),
  b64: `${BASE62}+/`,
  b64p: `${BASE62}./`,
  b64url: URL64,
  b58: BASE62.replace(/[0OIl]/g, ""),
  B32: `${LOWER.toUpperCase()}234567`,
};
const lines = (text: string, put: (line: string, index: number) => string) =>
  text.split("\n").map(put).join("\n");
/** Where people and tools put it, and the least part that is taken there. */
const SETTINGS: [place: string, least: number, put: (text: string) => string][] = [
  ["alone", 0.9, (text) => text],
  ["after words", 0.88, (text) => `Noted, here is it: ${text} ok.`],
  ["in a diff", 0.88, (text) => lines(text, (line) => `+  ${line}`)],
  ["in JSON", 0.88, (text) => JSON.stringify({ output: text })],
  ["in escaped JSON", 0.88, (text) => JSON.stringify(JSON.stringify({ output: text }))],
  ["with line numbers", 0.88, (text) => lines(text, (line, index) => `${index + 12}→${line}`)],
  ["in a quote", 0.88, (text) => lines(text, (line) => `> ${line}`)],
];

test.each(SETTINGS)("redact() takes hostile forms %s: %d of them at least", (_, least, put) => {
  const random = seeded(21);
  const passed = HOSTILE.filter((form) => {
    const secrets: string[] = [];
    const text = form.replace(/«([^»]*)»/g, (_, value: string) => {
      const made = value.replace(/@(\w+):(\d+)/g, (_, kind: string, length: string) =>
        chars(random, KINDS[kind] ?? "", Number(length)),
      );
      secrets.push(made);
      return made;
    });
    const redacted = redact(put(text.replaceAll("⏎", "\n")));
    return secrets.some((secret) => redacted.includes(secret));
  });
  expect(HOSTILE.length).toBeGreaterThan(200);
  expect(1 - passed.length / HOSTILE.length).toBeGreaterThanOrEqual(least);
});
