import { expect, test } from "bun:test";
import { conversationText } from "../lib/naming/conversation.ts";
import type { Entry } from "../lib/transcripts/session.ts";
import { fuzzSeed, seeded } from "./support/random.ts";

function entry(kind: Entry["kind"], line: number, text: string): Entry {
  const base = { kind, line, text, offset: 0, end: 0 };
  if (kind !== "tool") return base;
  return { ...base, text: "", tool: { name: "Edit", target: text, action: "edit", paths: [text] } };
}

function talk(count: number, chars = 100): Entry[] {
  return Array.from({ length: count }, (_, i) =>
    entry(i % 2 === 0 ? "user" : "assistant", i + 1, `message ${i + 1} ${"x".repeat(chars)}`),
  );
}

test("a conversation within the limit is shown whole, without tool calls nobody asked for", () => {
  const entries = [
    entry("user", 1, "my key is lost"),
    entry("tool", 2, "src/auth.ts"),
    entry("result", 3, "ok"),
    entry("assistant", 4, "Noted."),
    entry("assistant", 5, "   "),
    entry("summary", 6, "They talked."),
  ];
  expect(conversationText(entries, { maxBytes: 5000 })).toEqual({
    text: "User: my key is lost\n\nAssistant: Noted.\n\nSummary of what came before: They talked.",
    omitted: 0,
  });
});

test("of a long one the first request, the compaction summary and the end stay, with marks between", () => {
  const entries = talk(100);
  entries.splice(50, 0, entry("summary", 51, "the compaction said this"));
  const { text, omitted } = conversationText(entries, { maxBytes: 2000, lines: true });
  const lines = text.split("\n\n").map((part) => part.replace(/x{9,}/, "x").slice(0, 60));
  expect(lines[0]).toBe("L1 User: message 1 x");
  expect(lines[1]).toMatch(/^\[… 49 messages left out …\]$/);
  expect(lines[2]).toBe("L51 Summary of what came before: the compaction said this");
  expect(lines[3]).toMatch(/^\[… \d+ messages left out …\]$/);
  expect(lines.at(-1)).toBe("L100 Assistant: message 100 x");
  expect(lines.length - 4 + 2 + omitted).toBe(100 + 1);
});

test("what a question is about is shown wherever it stands, tool calls and results included", () => {
  const entries = talk(200);
  entries.splice(80, 0, entry("tool", 81, "src/special.ts"), entry("result", 81, "special result"));
  const { text } = conversationText(entries, {
    maxBytes: 3000,
    lines: true,
    relevance: ({ text, tool }) => (`${text} ${tool?.target}`.includes("special") ? 1 : 0),
  });
  expect(text).toContain("L81 [Edit src/special.ts]\n\nL81 Result: special result");
});

test("one message larger than the limit is cut from its middle", () => {
  const { text } = conversationText([entry("user", 1, `begin ${"é".repeat(20_000)} end`)], {
    maxBytes: 4000,
  });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4000);
  expect(text).toMatch(/^User: begin é+\n\[… \d+ characters left out …\]\né+ end$/);
});

test("no conversation is longer than the limit, and all its characters are whole", () => {
  const random = seeded(fuzzSeed("conversation"));
  for (let run = 0; run < 200; run++) {
    const kinds = ["user", "assistant", "summary", "tool", "result"] as const;
    const entries = Array.from({ length: random.integer(0, 60) }, (_, i) =>
      entry(random.pick(kinds), i + 1, random.pick(["a", "é", "😀", "数"]).repeat(random.integer(1, 400))),
    );
    const maxBytes = random.integer(600, 8000);
    const relevance = random.chance(0.5) ? () => random.next() : undefined;
    const { text } = conversationText(entries, { maxBytes, relevance, lines: true });
    // Marks between the messages come on top, one at most beside each.
    const marks = (text.match(/\[… \d+ messages? left out …\]/g) ?? []).join("").length * 2;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes + marks + 60);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\uFFFD");
  }
});
