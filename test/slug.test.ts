import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
import { openSpendLedger } from "../lib/model/spend.ts";
import { generateSlug, type SlugOptions, sanitizeSlug } from "../lib/naming/note.ts";
import { type Reply, serverPerFile } from "./support/fake-openai.ts";
import { homePerTest } from "./support/home.ts";
import { seeded } from "./support/random.ts";
import { secretsOf } from "./support/secrets.ts";

const CONTENT =
  "User: Can you help me debug this API issue?\nAssistant: Sure! Which error?\nUser: 404 on /api/users";

const server = serverPerFile();
const home = homePerTest();

function options(more: Partial<SlugOptions> = {}): SlugOptions {
  return {
    provider: "openai",
    apiKey: "test-key",
    baseUrl: server.baseUrl,
    spend: openSpendLedger(home.paths.home, defaultSettings()),
    log: home.paths.log,
    at: "2026-02-03T14:07:00.000Z",
    timezone: "UTC",
    ...more,
  };
}

/** The warnings written since `before`. */
function warnings(): { event: string; ok: boolean; level: string; reason: string }[] {
  return readFileSync(home.paths.log, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("sanitizeSlug() makes lower-case words joined by single hyphens", () => {
  expect(sanitizeSlug("Hello World!")).toBe("hello-world");
  expect(sanitizeSlug("API/Debug Issue")).toBe("api-debug-issue");
  expect(sanitizeSlug("Test   Multiple   Spaces")).toBe("test-multiple-spaces");
  expect(sanitizeSlug("--a__b--")).toBe("a-b");
  expect(sanitizeSlug("don't panic")).toBe("dont-panic");
  expect(sanitizeSlug("../../etc/passwd")).toBe("etc-passwd");
  expect(sanitizeSlug("v1.2.3 \u0000 \u202e x")).toBe("v1-2-3-x");
});

test("sanitizeSlug() keeps letters and marks of any script", () => {
  expect(sanitizeSlug("Übergang läuft: Größe")).toBe("übergang-läuft-größe");
  expect(sanitizeSlug("登录 测试")).toBe("登录-测试");
  expect(sanitizeSlug("सत्र स्मृति")).toBe("सत्र-स्मृति");
  expect(sanitizeSlug("Ｆｕｌｌ　ｗｉｄｔｈ ﬁx")).toBe("full-width-fix");
});

test("sanitizeSlug() cuts at a word within 50 characters and never ends on a hyphen", () => {
  expect(sanitizeSlug("one two three four five six seven eight nine ten eleven")).toBe(
    "one-two-three-four-five-six-seven-eight-nine-ten",
  );
  expect(sanitizeSlug("a".repeat(80))).toBe("a".repeat(50));
  expect(sanitizeSlug(`${"a".repeat(50)} b`)).toBe("a".repeat(50));
  expect(sanitizeSlug("𠀀".repeat(40))).toBe("𠀀".repeat(25));
  expect(sanitizeSlug("क्षि".repeat(20)).length).toBeLessThanOrEqual(50);
  expect(sanitizeSlug("🎉 !!! …")).toBe("");
});

const ANSWERS: [what: string, reply: Reply, slug: string][] = [
  ["plain words", "api-debugging", "api-debugging"],
  ["a fence", "```\napi-debugging\n```", "api-debugging"],
  ["a path", "../../../../etc/cron.d/x", "etc-cron-d-x"],
  ["prose of 50 KB", "api debugging ".repeat(4000), "api-debugging-api-debugging-api-debugging-api"],
  ["nothing", "", "1407"],
  ["only signs", "!!! 🎉", "1407"],
  ["null", { kind: "chat", content: null }, "1407"],
  ["500", { kind: "status", status: 500 }, "1407"],
  ["silence", { kind: "hang" }, "1407"],
];

test.each(ANSWERS)("generateSlug() makes a name of a model's answer: %s", async (_, reply, slug) => {
  server.script(reply);
  const isSilent = typeof reply === "object" && "kind" in reply && reply.kind === "hang";
  const timeoutMs = isSilent ? 300 : 10_000;
  expect(await generateSlug(CONTENT, options({ timeoutMs }))).toBe(slug);
});

test("generateSlug() without content asks nobody, answers the time and logs a warning", async () => {
  const before = server.requests.length;
  expect(await generateSlug(" \n", options({ timezone: "Asia/Tokyo" }))).toBe("2307");
  expect(server.requests.length).toBe(before);
  expect(warnings().at(-1)).toMatchObject({
    event: "slug",
    ok: false,
    level: "warning",
    reason: "the conversation is empty",
  });
});

test("generateSlug() sends the first 2,000 characters, redacted, for at most 20 tokens", async () => {
  const [secret] = secretsOf("github-token", seeded(1));
  server.script("ok-then");
  await generateSlug(`User: use ${secret?.text} ${"long ".repeat(2000)}END`, options({ model: "small-1" }));
  const body = server.chats().at(-1)?.body;
  expect(body).toMatchObject({ model: "small-1", max_tokens: 20, temperature: 0.3 });
  const prompt: string = body.messages[0].content;
  expect(prompt).toContain("User: use [redacted:github-token] long");
  expect(prompt).not.toContain("END");
  expect(prompt.length).toBeLessThan(2600);
  expect(server.chats().at(-1)?.text).not.toContain(secret?.hidden ?? "?");
});

test("generateSlug() counts its call, and past the day's cap asks nobody", async () => {
  server.script("paid-name");
  const settings = defaultSettings();
  const llm = { apiKeyEnv: "K", model: "m", dailyBudgetUsd: 0.0001, timeoutMs: 1000 };
  const spend = openSpendLedger(join(home.root, "spend"), {
    ...settings,
    llm: { ...llm, prices: { m: { input: 1000, output: 1000 } } },
  });
  const before = server.requests.length;
  expect(await generateSlug(CONTENT, options({ spend, model: "m" }))).toBe("1407");
  expect(server.requests.length).toBe(before);
});
