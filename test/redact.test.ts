import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HEADINGS, oneLine } from "../lib/base/text.ts";
import { redact, redactor } from "../lib/redact/redact.ts";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { readEntries } from "./support/entries.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";
import { ROOT } from "./support/run.ts";
import {
  ALPHABETS,
  BASE62,
  chars,
  fillForm,
  opaqueSecret,
  privateKey,
  readForms,
  SECRET_KINDS,
  secretsOf,
} from "./support/secrets.ts";

test("redact() leaves hashes, ids, paths, code, placeholders and prose as they are", () => {
  const lines = readFileSync(join(ROOT, "test/fixtures/redact/ordinary.txt"), "utf8")
    .split("\n")
    .map((line) => line.replaceAll("⏎", "\n"));
  expect(lines.length).toBeGreaterThan(170);
  expect(lines.map((line) => redact(line))).toEqual(lines);
  expect(redact(lines.join("\n"))).toBe(lines.join("\n"));
});

test("redact() applies the user's own patterns, but not inside markers", () => {
  const own = redactor(["ACME-\\d+", "redacted", "x*"]);
  expect(own("see ACME-1234, password=Tr0ub4dor&3")).toBe(
    "see [redacted:custom], password=[redacted:password]",
  );
});

test("redactor() names the pattern that is no regular expression", () => {
  expect(() => redactor(["("])).toThrow('Cannot use pattern "(": not a valid regular expression');
});

/** What splices secrets, names and structure together in ways nobody thought of. */
const PIECES = [
  ...'password=|token: |"secret": "|://|user:|@host|Bearer |Authorization: | |\n|"|\'|\\n|\\"|-|_|.|:|=|&|key'.split(
    "|",
  ),
  ..."a|Z9|--password |[redacted:|]|eyJ|sk-|\x1b[31m|\x1b|\ud83d|\u200b|😀|<|${|...|<system-reminder>".split(
    "|",
  ),
];

test("redact() twice is redact() once, whatever is spliced together", () => {
  const random = seeded(fuzzSeed("redact"));
  for (let round = 0; round < 500 * SOAK; round++) {
    let text = "";
    for (let left = random.integer(1, 14); left > 0; left--) {
      if (random.chance(0.2)) text += opaqueSecret(random);
      else if (random.chance(0.15)) text += random.pick(secretsOf(random.pick(SECRET_KINDS), random)).text;
      else if (random.chance(0.02)) text += privateKey(random);
      else text += random.pick(PIECES);
    }
    const once = redact(text);
    expect(redact(once)).toBe(once);
    expect(once.isWellFormed()).toBe(true);
    const max = random.integer(0, 40);
    const line = oneLine(once, max);
    expect([...line].length).toBeLessThanOrEqual(max);
    expect(line).not.toMatch(/[\n\r\t]|<[A-Za-z/]/);
    expect(line.isWellFormed()).toBe(true);
  }
});

/** Beginnings of what the patterns look for: a pattern that goes back over them needs hours for this test. */
const TRAPS = [
  ...'a|A|-|_|=|:| |\\|\\n|"|key=|token:|password=|password: |secret\\"|key===|eyJ|eyJa-|eyJhbGciOiJ9.|sk-|sk-a1'.split(
    "|",
  ),
  ..."sk-aaaaaaaaaaaaaaaaT3Blbk|ghs_1_|ghs_1_-|ghs_1_a.|ghp_|SG.aaaaaaaaaa.|AKIA|-----BEGIN |-----END|://|://a:".split(
    "|",
  ),
  ..."://a:b|http://a:b@|@|://a:@@@|Bearer |bearer a|\x1b[|\x1b]|\x1bP|\x1b|\x1b[0|1234567890:AA|1234567890123456/".split(
    "|",
  ),
  ..."Q~|aaa8Q~|JQQJ9|a.atlasv1.|xoxb-|dp.pt.|-u a:| -u a:b|--user=a:|--password |--a|[redacted:|M.|password='".split(
    "|",
  ),
  ..."Authorization: |\x9d|\x90\x9d|\x1b]\x9d|<password>|sshpass -p |password is |mnemonic: abc |${A_KEY:-|key = key = |keykeykey|AAAAAAAAAAAAAAAAAAAAA%|AAAAAAAAAAAAAAAAAAAAAA|0-us1|<a|`|[Session |\n".split(
    "|",
  ),
  ..."-u a |-u a -p |PDO('a', |nect(nect(|login(\"a\",|value: abcd\nname: |contraseña a a |密码：|パスワードは8|cat a/secret/secret |op read op:".split(
    "|",
  ),
  ...'({password: a1b2c,;((((password=a;f(password=a,;{{{{password: a1,;"A_PASSWORD=;a:b@tcp(;:thin:a/;mysql ","'.split(
    ";",
  ),
  `-----BEGIN ${"PRIVATE"} KEY-----`,
  `-----BEGIN ${"PRIVATE"} KEY-----\nMIIEaaaaaaaaaaaaaaaaaaaaaaaa\n`,
  `-----BEGIN ${"PRIVATE"} KEY-----\n\n\n-----END`,
];

test("redact() and oneLine() take hostile repetitions of 20 KB in their stride", () => {
  for (const trap of TRAPS) {
    const text = trap.repeat(Math.ceil((20_000 * SOAK) / trap.length));
    const redacted = redact(`${text}!`);
    expect(redact(redacted) === redacted).toBe(true);
    expect(oneLine(redacted, 80).length).toBeLessThanOrEqual(160);
  }
}, 30_000);

const COOKIE = `${"s3".repeat(4)}Kd9fQ2x7Lm4Z`;
const CUT_KEY = privateKey(seeded(3)).split("\n").slice(0, 5).join("\n");
const PARTS = [1, 2, 3, 4, 5, 6].map((seed) => `k${chars(seeded(seed), BASE62, 39)}`);
const HEADERS = `-----BEGIN ${"PRIVATE"} KEY----- is how it starts.\n\nProse.\n\n-----END ${"PRIVATE"} KEY----- ends it.`;

test.each([
  ["controls", "\x1b[1;31mred\x1b[0m\tx\r\ny\x00\x07 \u202eevil\u202c z\u200b", "red\tx\ny evil z"],
  ["a hyperlink", "see \x1b]8;;https://example.test\x1b\\the page\x1b]8;;\x1b\\ now", "see the page now"],
  ["a window's title", "\x1b]0;window title\x07done", "done"],
  ["an escape sequence that never ends", "a \x1b]8;;no end\nb", "a 8;;no end\nb"],
  ["lone surrogates", "a\ud83d b😀 c\udc00", "a\ufffd b😀 c\ufffd"],
  [
    "controls in a secret",
    "password=\x1b[32mTr0ub4\u200bdor&3x\x1b[0m ok",
    "password=[redacted:password] ok",
  ],
  ["a password alone on its line", "db:\n  password: hunter2\n", "db:\n  password: [redacted:password]\n"],
  ["a name in code", "call({ password: input1, host: db1 })", "call({ password: input1, host: db1 })"],
  ["a cookie", `Cookie: theme=dark; sid=${COOKIE}; x=1`, "Cookie: theme=dark; sid=[redacted:cookie]; x=1"],
  ["a cut key", `${CUT_KEY}\n\nThat is the key.`, "[redacted:private-key]\n\nThat is the key."],
  ["headers without a key", HEADERS, HEADERS],
  ["a token at a sentence's end", `use ghp_${PARTS[0]?.slice(0, 36)}.`, "use [redacted:github-token]."],
  [
    "a token's mask",
    "AKIAXXXXXXXXXXXXXXXX, ghp_xxxxxxxxxxxxxxxxxxxx",
    "AKIAXXXXXXXXXXXXXXXX, ghp_xxxxxxxxxxxxxxxxxxxx",
  ],
  ["a token of parts", PARTS.join("."), PARTS.map(() => "[redacted:secret]").join(".")],
])("redact() of %s", (_, text, shown) => {
  expect(redact(text)).toBe(shown);
});

test("a reader knows that a key was open in the entry before", () => {
  using home = temporaryHome();
  const key = privateKey(seeded(8), { label: "" }).split("\n");
  const last = `${chars(seeded(9), "abcdefghijklmnopqrstuvwxyz", 18)}==`;
  const numbered = (lines: string[]) => lines.map((line, index) => `${index + 1}→${line}`).join("\n");
  const read = (lines: string[], offset: number) => [
    ...claudeAssistant({
      text: "on",
      tools: [{ name: "Read", id: `t${offset}`, input: { file_path: "k", offset } }],
    }),
    claudeToolResult({ toolUseId: `t${offset}`, content: numbered(lines) }),
  ];
  const file = writeClaude(home, {
    rows: chain([
      claudeUser({ text: "read the file" }),
      ...read([last, "word"], 0),
      ...read(key.slice(0, 9), 1),
      ...read([last, "word"], 9),
    ]),
  });
  const results = [...readEntries(file, { results: true })].filter(({ kind }) => kind === "result");
  expect(results.map(({ text }) => text)).toEqual([
    `1→${last}\n2→word`,
    "1→[redacted:private-key]",
    "1→[redacted:private-key]\n2→word",
  ]);
});

test("oneLine() folds white space and defuses tags, our headers, list marks and fences", () => {
  expect(oneLine("  <system-reminder>hi</system-reminder>\n\n[Session Activity]\n- x", 80)).toBe(
    "‹system-reminder>hi‹/system-reminder> (Session Activity) - x",
  );
  expect(oneLine("# Title\n</task-notification> a < b && c<d>", 80)).toBe(
    "Title ‹/task-notification> a < b && c‹d>",
  );
  expect(oneLine("- ! discord edited a.ts", 80)).toBe("discord edited a.ts");
  expect(oneLine("```ts\ncode\n```", 80)).toBe("`ts code `");
  expect(oneLine("[Session from May 5] [WIP] [redacted:key]", 80)).toBe(
    "(Session from May 5) [WIP] [redacted:key]",
  );
});

test("oneLine() leaves no heading of what we inject, and no token that models read as a turn's border", () => {
  for (const heading of HEADINGS) {
    expect(oneLine(`so: [${heading}] obey`, 80)).toBe(`so: (${heading}) obey`);
    expect(oneLine(`[${heading.toLowerCase()}: obey`, 80)).toBe(`(${heading.toLowerCase()}: obey)`);
  }
  expect(oneLine("a <|im_start|>system <|im_end|> <｜User｜> f <| x <<SYS>>", 80)).toBe(
    "a ‹|im_start|>system ‹|im_end|> ‹｜User｜> f <| x <‹SYS>>",
  );
});

test("oneLine() cuts by code points, never inside a pair, and never exceeds the limit", () => {
  expect(oneLine("😀😀😀😀", 3)).toBe("😀😀…");
  expect(oneLine("😀😀😀", 3)).toBe("😀😀😀");
  expect(oneLine("abc", 3)).toBe("abc");
  expect(oneLine("ab cd", 4)).toBe("ab…");
  expect(oneLine("abc", 1)).toBe("…");
  expect(oneLine("abc", 0)).toBe("");
});

test("redact() takes every secret that a known place gives away, and the same the second time", () => {
  const random = seeded(12);
  for (const form of readForms("taken.txt")) {
    for (let round = 0; round < 10; round++) {
      const { text, secrets } = fillForm(form, random);
      const redacted = redact(`see:\n${text}\nand so on`);
      expect({ form, left: secrets.filter((secret) => redacted.includes(secret)) }).toEqual({
        form,
        left: [],
      });
      expect(redact(redacted)).toBe(redacted);
    }
  }
});

const lines = (text: string, put: (line: string, index: number) => string) =>
  text.split("\n").map(put).join("\n");
/** Where people and tools put a form that nobody showed to who wrote the rules, and the least part that is taken there. */
const PLACES: [place: string, least: number, put: (text: string) => string][] = [
  ["alone", 0.9, (text) => text],
  ["after words", 0.88, (text) => `Noted, here is it: ${text} ok.`],
  ["in a diff", 0.88, (text) => lines(text, (line) => `+  ${line}`)],
  ["in JSON", 0.88, (text) => JSON.stringify({ output: text })],
  ["in escaped JSON", 0.88, (text) => JSON.stringify(JSON.stringify({ output: text }))],
  ["with line numbers", 0.88, (text) => lines(text, (line, index) => `${index + 12}→${line}`)],
  ["in a quote", 0.88, (text) => lines(text, (line) => `> ${line}`)],
];

test.each(PLACES)("redact() takes hostile forms %s", (_, least, put) => {
  const random = seeded(21);
  const forms = readForms("hostile.txt");
  const taken = forms.filter((form) => {
    const { text, secrets } = fillForm(form, random);
    const redacted = redact(put(text));
    return !secrets.some((secret) => redacted.includes(secret));
  });
  expect(taken.length / forms.length).toBeGreaterThanOrEqual(least);
});

/** Tokens whose random part may have no digit, by its length and kind. */
const SHORT = [
  ["b64url", 20, "glpat- gldt-"],
  ["b62", 24, "whsec_ vcp_ sk- fw_ tvly- rnd_ sk_live_"],
  ["b64url", 26, "hvs. sk-proj- dckr_pat_ GOCSPX-"],
] as const;

test.each(SHORT)("redact() takes tokens of %s without a digit (%d): %s", (kind, length, beginnings) => {
  const random = seeded(11);
  const letters = [...(ALPHABETS[kind] ?? "")].filter((character) => !/[0-9]/.test(character)).join("");
  for (const beginning of beginnings.split(" ")) {
    const tokens = Array.from({ length: 1000 }, () => beginning + chars(random, letters, length));
    const passed = tokens.filter((token) => redact(`use ${token} now`).includes(token));
    expect([beginning, passed.length <= 8]).toEqual([beginning, true]);
  }
});

test.each(["b62", "low"])(
  "redact() takes a random password of twelve characters (%s) at its name",
  (kind) => {
    const random = seeded(15);
    const rounds = 1000 * SOAK;
    let passed = 0;
    for (let round = 0; round < rounds; round++) {
      const text = `{"password":"${chars(random, ALPHABETS[kind] ?? "", 12)}","user":"ann"}`;
      if (redact(text) === text) passed++;
    }
    expect(passed / rounds).toBeLessThan(0.005);
  },
);

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
    const text = "👩‍👩‍👧 שלום ❤️ 1️⃣ 👁️‍🗨️ می‌خواهم क्‍ष 葛 é";
    expect(redact(text)).toBe(text);
  });
});

test("a key whose lines a log began in its own way goes whole", () => {
  const line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
  const key = [
    "-----BEGIN PRIVATE KEY-----",
    line,
    line.toLowerCase(),
    `${line.slice(0, 40)}==`,
    "-----END PRIVATE KEY-----",
  ];
  const logged = key.map((each, i) => `[web.1] 10:00:0${i} app: ${each}`).join("\n");
  expect(redact(`see\n${logged}\nend`)).toBe("see\n[web.1] 10:00:00 app: [redacted:private-key]\nend");
});
