import { describe, expect, test } from "bun:test";
import type { Entry } from "../lib/hosts/session.ts";
import { type Chunk, type ChunkContext, chunkExchange, searchableRows } from "../lib/index/chunk.ts";
import { headerText } from "../lib/index/chunk-text.ts";
import { estimateTokens } from "../lib/language/tokens.ts";
import { toRows } from "../lib/transcripts/calls.ts";

/** Counted with cl100k_base. */
const TOKEN_COUNTS: [text: string, tokens: number][] = [
  [
    "我们昨天讨论了数据库的迁移方案，最后决定使用预写日志，因为读者不能阻塞写者。这个方案的缺点是磁盘空间会增加，但是可以接受。请你帮我检查一下测试是否都通过了，如果有失败的，请告诉我原因。",
    93,
  ],
  [
    "昨日はデータベースの移行について話し合い、最終的に先行書き込みログを使うことに決めました。テストが失敗した場合は、原因を教えてください。設定ファイルを確認してから再起動してください。",
    87,
  ],
  [
    "Вчера мы обсуждали миграцию базы данных и решили использовать журнал с упреждающей записью. Если тест не проходит, объясни причину, пожалуйста.",
    63,
  ],
  [
    "Gestern haben wir über die Datenbankmigration gesprochen und uns für das Vorausschreibprotokoll entschieden. Bitte überprüfe, ob die Prüfungen durchlaufen.",
    44,
  ],
  [
    "ناقشنا بالأمس ترحيل قاعدة البيانات وقررنا استخدام سجل الكتابة المسبقة لأن القراء يجب ألا يمنعوا الكتاب",
    70,
  ],
  ["เมื่อวานเราคุยกันเรื่องการย้ายฐานข้อมูลและตัดสินใจใช้บันทึกการเขียนล่วงหน้า", 62],
  ["😀🎉🚀👨‍👩‍👧‍👦🇩🇪✨🔥💡🧪🛠️ ok ✅ done ❌ ⚠️", 56],
  [
    "Let me look at the failing test first. The fixture writes two rows with the same uuid, so the second insert is dropped silently.",
    27,
  ],
  [
    "export function readTranscript(file: string, options: ReadOptions = {}): Generator<Entry> {\n  const head = options.head ?? readHead(file);\n  return walk(head, 0);\n}",
    40,
  ],
  ["3f9a2c71d04e8b56aa10ffed7c2b9e4415d0c3ab 550e8400-e29b-41d4-a716-446655440000", 49],
  ["aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0IGRhdGEsIGp1c3QgdG8gY291bnQgdG9rZW5z", 51],
  [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a template is what is counted
    "const{a,b}=await Promise.all([readFile(path),stat(path)]);if(!a||b.size===0)throw new RangeError(`empty:${path}`);",
    36,
  ],
];

const CONTEXT: ChunkContext = {
  firstIndex: 0,
  participants: { user: "User", assistant: "Assistant" },
  timezone: "UTC",
};

let line = 0;

function said(kind: "user" | "assistant", text: string, more: Partial<Entry> = {}): Entry {
  line++;
  return {
    line,
    nth: 0,
    offset: line * 100,
    end: line * 100 + 99,
    kind,
    text,
    at: "2026-02-05T10:30:00.000Z",
    ...more,
  };
}

function chunksOf(entries: Entry[], context: Partial<ChunkContext> = {}): Chunk[] {
  return chunkExchange(searchableRows(toRows(entries)), { ...CONTEXT, ...context });
}

describe("chunkExchange()", () => {
  test("cuts between messages, never inside one that fits", () => {
    const words = "The reader keeps its own snapshot of the log while the writer appends to it. "
      .repeat(8)
      .trim();
    const messages = Array.from({ length: 6 }, (_, i) => `${i} ${words}`);
    const chunks = chunksOf([
      said("user", messages[0] ?? ""),
      ...messages.slice(1).map((text) => said("assistant", text)),
    ]);
    expect(chunks.length).toBeGreaterThan(1);
    for (const [i, message] of messages.entries()) {
      const label = i === 0 ? "User" : "Assistant";
      expect(chunks.filter(({ content }) => content.includes(`${label}: ${message}`)).length).toBe(1);
    }
    expect(chunks.map(({ index }) => index)).toEqual(chunks.map((_, i) => i));
  });

  test("cuts a message that is too long at the end of a fenced block, and repeats role and the end of the piece before", () => {
    const prose = "It walks the tree from the leaf and stops at the first broken link. ".repeat(7);
    const code = `\n\`\`\`ts\n${"const reader = openReader(file);\n".repeat(10)}\`\`\`\n`;
    const chunks = chunksOf([said("user", "go on"), said("assistant", `${prose}${code}`.repeat(5))]);
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks.slice(1)) expect(chunk.content.startsWith("Assistant: ")).toBe(true);
    for (const chunk of chunks.slice(1)) expect(chunk.content.endsWith("```")).toBe(true);
    for (const [i, { content }] of chunks.slice(2).entries()) {
      const start = content.slice("Assistant: ".length, "Assistant: ".length + 30);
      expect(chunks[i + 1]?.content).toContain(start);
    }
  });

  test("never exceeds the limit, cuts no surrogate pair and loses no text, whatever the script", () => {
    const scripts: Record<string, string> = {
      prose: "We moved the parser into its own module because the hook must start fast. ",
      noSpaces: "aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0",
      chinese: "我们昨天讨论了数据库的迁移方案，最后决定使用预写日志。",
      japanese: "昨日はデータベースの移行について話し合いました。",
      emoji: "😀🎉🚀👨‍👩‍👧‍👦",
      russian: "Вчера мы обсуждали миграцию базы данных. ",
      punctuation: "!@#$%^&*()",
    };
    for (const [name, unit] of Object.entries(scripts)) {
      const text = Array.from({ length: Math.ceil(9000 / unit.length) }, (_, i) => unit + i).join("");
      const chunks = chunksOf([said("user", text)]);
      expect({ name, many: chunks.length > 4 }).toEqual({ name, many: true });
      for (const { content, tokens } of chunks) {
        expect(tokens).toBeLessThanOrEqual(500);
        expect(content.isWellFormed()).toBe(true);
      }
      const covered = new Uint8Array(text.length);
      let searched = 0;
      const points = [...text];
      for (const { content, rows } of chunks) {
        const piece = content.slice("User: ".length);
        const { from = 0, to = 0 } = rows[0]?.part ?? {};
        expect(points.slice(from, to).join("")).toBe(piece);
        const found = text.indexOf(piece, Math.max(0, searched - piece.length));
        expect({ name, found: found >= 0 }).toEqual({ name, found: true });
        covered.fill(1, found, found + piece.length);
        searched = found + piece.length;
      }
      const lost = [...covered].filter((seen, i) => seen === 0 && text[i]?.trim() !== "").length;
      expect({ name, lost }).toEqual({ name, lost: 0 });
    }
  });

  test("writes midnight, noon, summer time and a missing time into the header", () => {
    const header = (at: string | undefined, timezone: string) =>
      chunksOf([said("user", "hi", { at })], { timezone }).map(
        ({ header }) => headerText(header).split("\n")[0],
      )[0];
    expect(header("2026-01-01T00:00:00.000Z", "UTC")).toBe("[Session from January 1, 2026 at 12:00 AM UTC]");
    expect(header("2026-01-01T12:05:00.000Z", "UTC")).toBe("[Session from January 1, 2026 at 12:05 PM UTC]");
    expect(header("2026-03-29T00:59:59.000Z", "Europe/Berlin")).toBe(
      "[Session from March 29, 2026 at 1:59 AM Berlin time]",
    );
    expect(header("2026-03-29T01:00:00.000Z", "Europe/Berlin")).toBe(
      "[Session from March 29, 2026 at 3:00 AM Berlin time]",
    );
    expect(header(undefined, "UTC")).toBe("[Session from an unknown date]");
  });
});

describe("estimateTokens()", () => {
  test("is within 30 % of cl100k's count in any script, with and without spaces", () => {
    for (const [text, tokens] of TOKEN_COUNTS) {
      const share = estimateTokens(text) / tokens;
      expect({ text, share, isNear: share >= 0.7 && share <= 1.3 }).toEqual({ text, share, isNear: true });
    }
  });
});
