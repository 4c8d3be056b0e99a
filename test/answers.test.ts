import { expect, test } from "bun:test";
import { z } from "zod";
import { type ChatMessage, jsonCompleter, type SendChat } from "../lib/model/answers.ts";
import { redactor } from "../lib/redact/redact.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";

const schema = z.object({ name: z.string().min(3), tags: z.array(z.string()) });
const good = { name: "fix login", tags: ["auth"] };
const json = JSON.stringify(good);

type Reply = Awaited<ReturnType<SendChat>>;

/** Asks a model that gives these replies, and empty ones after them. */
function scripted(...replies: Partial<Reply>[]) {
  const seen: ChatMessage[][] = [];
  const send: SendChat = async (messages) => {
    seen.push(structuredClone(messages));
    const reply = replies.shift() ?? {};
    return { text: "", cut: false, model: "m", tokens: { input: 10, output: 5 }, usd: 0.5, ...reply };
  };
  const complete = jsonCompleter(send, redactor([]));
  return { seen, ask: () => complete({ feature: "meta", system: "S", prompt: "P", schema }) };
}

/** Returns what a model's answer, given however often it is asked, is taken for: a value, or what is wrong with it. */
async function taken(text: string): Promise<unknown> {
  const { ask } = scripted({ text }, { text }, { text });
  return await ask().then(
    ({ value }) => value,
    ({ message }: Error) => message.replace("Cannot use the model's answer for meta: ", ""),
  );
}

const readable: [string, string][] = [
  ["the object alone", json],
  ["pretty-printed", JSON.stringify(good, null, 2)],
  ["fenced", `\`\`\`json\n${json}\n\`\`\``],
  ["fenced in prose", `Sure! Here it is:\n\n\`\`\`json\n${json}\n\`\`\`\nAnything else?`],
  ["fenced without a language", `\`\`\`\n${json}\n\`\`\``],
  ["a fence that never closes", `\`\`\`json\n${json}`],
  ["prose around it", `Here is the metadata {as asked}: ${json} Hope that helps.`],
  ["a brace in a string", `x ${JSON.stringify({ ...good, tags: ['a "}" b'] })} y`],
  ["an empty object before it", `{} ${json}`],
  ["a small example before it", `For example {"name":"ab"} but really ${json}`],
  ["in a list", `[${json}]`],
  ["50 KB of prose before it", `${"Let me think about that. ".repeat(2100)}${json}`],
  ["extra keys", JSON.stringify({ ...good, reasoning: "because" })],
];

test.each(readable)("an answer is found: %s", async (_, text) => {
  expect(await taken(text)).toMatchObject({ name: "fix login" });
});

const unreadable: [string, string, string][] = [
  ["empty", " \n", "it is empty"],
  ["prose", "I cannot help with that.", "there is no JSON object in it"],
  ["cut in the middle", '{"name": "fix login", "ta', "there is no JSON object in it"],
  ["a wrong type", '{"name": 7, "tags": []}', "name: Invalid input: expected string, received number"],
  ["a missing key", '{"name": "fix login"}', "tags: Invalid input: expected array, received undefined"],
  ["a list of words", '["fix", "login"]', "there is no JSON object in it"],
];

test.each(unreadable)("an answer is refused with the reason: %s", async (_, text, wrong) => {
  expect(await taken(text)).toBe(wrong);
});

test("50 KB of opening braces or quotes are refused without being read a thousand times", async () => {
  for (const text of ["{".repeat(50_000), '{"'.repeat(25_000), '{"a":'.repeat(10_000), "[".repeat(50_000)])
    expect(await taken(text)).toBe("there is no JSON object in it");
});

test("no mangled answer makes the reader throw, and none invents a value", async () => {
  const random = seeded(fuzzSeed("answers"));
  for (let i = 0; i < 1000 * SOAK; i++) {
    const text = [...random.pick(readable)[1]];
    for (let cut = random.integer(0, 4); cut > 0; cut--)
      text.splice(random.integer(0, text.length), random.integer(0, 5));
    const read = await taken(text.join(""));
    if (typeof read !== "string") expect(schema.safeParse(read).success).toBe(true);
    else expect(read).not.toBe("");
  }
});

test("a malformed answer is asked for again with what was wrong, and all attempts are counted", async () => {
  const { seen, ask } = scripted({ text: '{"name": "ok name"}' }, { text: "no" }, { text: json });
  expect(await ask()).toEqual({
    value: good,
    model: "m",
    usage: { input: 30, output: 15 },
    tokens: 45,
    usd: 1.5,
  });
  expect(seen.map((messages) => messages.length)).toEqual([2, 4, 6]);
  expect(seen[2]).toEqual([
    { role: "system", content: "S" },
    { role: "user", content: "P" },
    { role: "assistant", content: '{"name": "ok name"}' },
    {
      role: "user",
      content:
        "That answer cannot be used: tags: Invalid input: expected array, received undefined. Answer again with the one JSON object only.",
    },
    { role: "assistant", content: "no" },
    {
      role: "user",
      content:
        "That answer cannot be used: there is no JSON object in it. Answer again with the one JSON object only.",
    },
  ]);
});
