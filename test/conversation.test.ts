import { expect, test } from "bun:test";
import type { Row } from "../lib/hosts/session.ts";
import { conversationText } from "../lib/naming/conversation.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";

function row(who: Row["who"], line: number, text: string): Row {
  if (who !== "tool") return { line, nth: 0, who, text };
  const call = { tool: "Edit", kind: "edit", target: text, paths: [text], input: "" } as const;
  return { line, nth: 0, who, ...call, outcome: "done", result: text };
}

test("one message larger than the limit is cut from its middle", () => {
  const { text } = conversationText([row("user", 1, `begin ${"é".repeat(20_000)} end`)], {
    maxBytes: 4000,
  });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4000);
  expect(text).toMatch(/^User: begin é+\n\[… \d+ characters left out …\]\né+ end$/);
});

test("no conversation is longer than the limit, and all its characters are whole", () => {
  const random = seeded(fuzzSeed("conversation"));
  for (let run = 0; run < 100 * SOAK; run++) {
    const speakers = ["user", "assistant", "summary", "tool"] as const;
    const rows = Array.from({ length: random.integer(0, 60) }, (_, i) =>
      row(random.pick(speakers), i + 1, random.pick(["a", "é", "😀", "数"]).repeat(random.integer(1, 400))),
    );
    const maxBytes = random.integer(600, 8000);
    const relevance = random.chance(0.5) ? () => random.next() : undefined;
    const { text } = conversationText(rows, { maxBytes, relevance, lines: true });
    // Marks between the messages come on top, one at most beside each.
    const marks = (text.match(/\[… \d+ messages? left out …\]/g) ?? []).join("").length * 2;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes + marks + 60);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\uFFFD");
  }
});
