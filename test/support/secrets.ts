/** Secrets of every known form, made at run time so that no file of the repository holds one. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "./random.ts";

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const LETTERS = LOWER + LOWER.toUpperCase();
const DIGITS = "0123456789";
export const BASE62 = LETTERS + DIGITS;
const HEX = "0123456789abcdef";
const BASE64 = `${BASE62}+/`;
/** Alphabets by the names that forms give them. */
export const ALPHABETS: Record<string, string> = {
  low: LOWER,
  let: LETTERS,
  dig: DIGITS,
  dig1: "123456789",
  b36: LOWER + DIGITS,
  b62: BASE62,
  b62t: `${BASE62}_~.-`,
  hex: HEX,
  HEX: HEX.toUpperCase(),
  b64: BASE64,
  b64p: `${BASE62}./`,
  b64url: `${BASE62}_-`,
  b58: BASE62.replace(/[0OIl]/g, ""),
  B32: `${LOWER.toUpperCase()}234567`,
  bech: "023456789acdefghjklmnpqrstuvwxyz",
};

/** Reads the forms of a file, one a line: `«…»` is the secret, `@kind:length` random characters, `btoa(…)` base64, `⏎` a line end. */
export function readForms(file: string): string[] {
  return readFileSync(join(import.meta.dir, "../fixtures/redact", file), "utf8")
    .trim()
    .split("\n");
}

export function fillForm(form: string, random: Random): { text: string; secrets: string[] } {
  const secrets: string[] = [];
  const text = form.replaceAll("⏎", "\n").replace(/«([^»]*)»/g, (_, value: string) => {
    const filled = value.replace(/@(\w+):(\d+)/g, (_, kind: string, length: string) =>
      chars(random, ALPHABETS[kind] ?? "", Number(length)),
    );
    const secret = filled.replace(/btoa\((.*)\)/, (_, inner: string) => btoa(inner));
    secrets.push(secret);
    return secret;
  });
  return { text, secrets };
}

/** A kind of tokens and a form of it. */
const TOKENS = readForms("tokens.txt").map((line) => line.split(/ (.*)/));

export const SECRET_KINDS = [...new Set(TOKENS.map(([kind = ""]) => kind))];

/** One secret of each form of a kind: what stands in the text, and the part that may not be seen afterwards. */
export function secretsOf(kind: string, random: Random): { text: string; hidden: string }[] {
  const forms = TOKENS.flatMap(([of, form = ""]) => (of === kind ? [form] : []));
  return forms.map((form) => {
    const { text, secrets } = fillForm(form, random);
    return { text, hidden: secrets[0] ?? "" };
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
