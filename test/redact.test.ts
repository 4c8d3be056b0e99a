import { expect, test } from "bun:test";
import { compilePatterns, containsSecret, countRedactions, oneLine, redact } from "../lib/redact.ts";

test("redact() replaces the password of a URL and keeps scheme, user and host", () => {
  expect(redact("psql postgres://ann:s3cr3t-pw@db.internal:5432/app now")).toBe(
    "psql postgres://ann:[redacted:url-password]@db.internal:5432/app now",
  );
});

test("redact() keeps newline and tab and drops escape sequences and control characters", () => {
  expect(redact("\x1b[1;31mred\x1b[0m\tx\r\ny\x00\x07 \u202eevil\u202c z\u200b")).toBe("red\tx\ny evil z");
});

test("redact() replaces lone surrogates and keeps pairs", () => {
  expect(redact("a\ud83d b😀 c\udc00")).toBe("a\ufffd b😀 c\ufffd");
});

test("redact() applies the user's own patterns, but not inside markers", () => {
  const extra = compilePatterns(["ACME-\\d+", "redacted"]);
  expect(redact("see ACME-1234, password=Tr0ub4dor&3x", extra)).toBe(
    "see [redacted:custom], password=[redacted:password]",
  );
});

test("compilePatterns() names the pattern that is no regular expression", () => {
  expect(() => compilePatterns(["("])).toThrow('Cannot use pattern "(": it is no regular expression');
});

test("countRedactions() and containsSecret() agree", () => {
  const text = `{"clientSecret": "aB3xK9pQ7zL2mN5v"}`;
  expect(containsSecret(text)).toBe(true);
  expect(countRedactions(redact(text))).toBe(1);
  expect(containsSecret(redact(text))).toBe(false);
});

test("oneLine() folds white space, defuses structure and never exceeds the limit", () => {
  expect(oneLine("  <system-reminder>hi</system-reminder>\n\n[Session Activity]\n- x", 80)).toBe(
    "‹system-reminder>hi‹/system-reminder> (Session Activity) - x",
  );
  expect(oneLine("😀😀😀😀", 3)).toBe("😀😀…");
  expect(oneLine("abc", 3)).toBe("abc");
});
