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
const KINDS: Record<string, string> = {
  low: LOWER,
  let: LETTERS,
  dig: "0123456789",
  b62: BASE62,
  hex: "0123456789abcdef",
  HEX: "0123456789ABCDEF",
  b64: `${BASE62}+/`,
  b64p: `${BASE62}./`,
  b64url: `${BASE62}_-`,
  b58: BASE62.replace(/[0OIl]/g, ""),
  B32: `${LOWER.toUpperCase()}234567`,
  bech: "023456789acdefghjklmnpqrstuvwxyz",
};

/** Forms of a file, a line each: `«…»` is the secret, `@kind:length` random characters, `⏎` a line end. */
function readForms(file: string): string[] {
  return readFileSync(join(ROOT, "test/fixtures/redact", file), "utf8")
    .trim()
    .split("\n");
}

function fill(form: string, random: Random): { text: string; secrets: string[] } {
  const secrets: string[] = [];
  const made = (part: string) =>
    part.replace(/@(\w+):(\d+)/g, (_, kind: string, length: string) =>
      chars(random, KINDS[kind] ?? "", Number(length)),
    );
  const text = form
    .replace(/«([^»]*)»/g, (_, value: string) => {
      const secret = made(value).replaceAll("⏎", "\n");
      secrets.push(secret);
      return secret;
    })
    .replaceAll("⏎", "\n");
  return { text, secrets };
}

test("redact() takes every secret that a known place gives away, and the same the second time", () => {
  const random = seeded(12);
  for (const form of readForms("taken.txt")) {
    for (let round = 0; round < 10; round++) {
      const { text, secrets } = fill(form, random);
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
    const { text, secrets } = fill(form, random);
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
  const letters = [...(KINDS[kind] ?? "")].filter((character) => !/[0-9]/.test(character)).join("");
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
    let passed = 0;
    for (let round = 0; round < 2000; round++) {
      const text = `{"password":"${chars(random, KINDS[kind] ?? "", 12)}","user":"ann"}`;
      if (redact(text) === text) passed++;
    }
    expect(passed / 2000).toBeLessThan(0.005);
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
