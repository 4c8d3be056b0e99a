import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { countRedactions, oneLine, redact, redactor } from "../lib/redact/redact.ts";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { readEntries } from "./support/entries.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { fuzzSeed, seeded } from "./support/random.ts";
import { ROOT } from "./support/run.ts";
import { chars, opaqueSecret, privateKey, SECRET_KINDS, secretsOf } from "./support/secrets.ts";

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
  expect(() => redactor(["("])).toThrow('Cannot use pattern "(": it is no regular expression');
});

test("countRedactions() counts what was replaced", () => {
  const [secret] = secretsOf("github-token", seeded(1));
  const text = `${secret?.text} and ${secret?.text}`;
  expect(countRedactions(redact(text))).toBe(2);
  expect(countRedactions("nothing here")).toBe(0);
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
  for (let round = 0; round < 2000; round++) {
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
  `-----BEGIN ${"PRIVATE"} KEY-----`,
  `-----BEGIN ${"PRIVATE"} KEY-----\nMIIEaaaaaaaaaaaaaaaaaaaaaaaa\n`,
  `-----BEGIN ${"PRIVATE"} KEY-----\n\n\n-----END`,
];

test("redact() and oneLine() take hostile repetitions of 100 KB in their stride", () => {
  for (const trap of TRAPS) {
    const text = trap.repeat(Math.ceil(100_000 / trap.length));
    const redacted = redact(`${text}!`);
    expect(redact(redacted) === redacted).toBe(true);
    expect(oneLine(redacted, 80).length).toBeLessThanOrEqual(160);
  }
}, 30_000);

const COOKIE = `${"s3".repeat(4)}Kd9fQ2x7Lm4Z`;
const CUT_KEY = privateKey(seeded(3)).split("\n").slice(0, 5).join("\n");
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

test("oneLine() cuts by code points, never inside a pair, and never exceeds the limit", () => {
  expect(oneLine("😀😀😀😀", 3)).toBe("😀😀…");
  expect(oneLine("😀😀😀", 3)).toBe("😀😀😀");
  expect(oneLine("abc", 3)).toBe("abc");
  expect(oneLine("ab cd", 4)).toBe("ab…");
  expect(oneLine("abc", 1)).toBe("…");
  expect(oneLine("abc", 0)).toBe("");
});

const TRANSCRIPTS = join(ROOT, "..", "shared", "transcripts");

test.skipIf(!existsSync(TRANSCRIPTS))(
  "redact() takes nothing but tokens of pages from real conversations (../shared/transcripts)",
  () => {
    const files = readdirSync(TRANSCRIPTS, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => join(TRANSCRIPTS, name))
      .filter((file) => statSync(file).isFile());
    let entries = 0;
    const found: string[] = [];
    for (const file of files) {
      for (const { text } of readEntries(file, { results: true, unterminated: "accept" })) {
        entries++;
        // the reader has redacted it
        if (!text.includes("[redacted:")) continue;
        for (const marker of text.matchAll(/.{0,60}\[redacted:[a-z0-9-]+\].{0,30}/g)) {
          // tokens of a page's forms and live sockets are secrets
          if (!/csrf-token|phx-|redacted:secret\]\\"></.test(marker[0])) found.push(marker[0]);
        }
      }
    }
    console.error(
      `${entries} entries, ${found.length} redactions${found.map((line) => `\n  ${line}`).join("")}`,
    );
    expect(entries).toBeGreaterThan(5000);
    expect(found).toEqual([]);
  },
  30_000,
);
