/** No typed word is without a row: what every host wrote of its users' words, counted by another way, stands in the index. */

import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { findHost } from "../lib/hosts/hosts.ts";
import { squeeze } from "./support/count.ts";
import { temporaryHome } from "./support/home.ts";
import { ROOT } from "./support/run.ts";

setDefaultTimeout(60_000);

type Json = Record<string, unknown>;
const record = (value: unknown): Json => (value && typeof value === "object" ? (value as Json) : {});
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(record) : []);
const texts = (content: unknown): string[] =>
  typeof content === "string"
    ? [content]
    : list(content).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
const between = (tag: string, from: unknown): string[] =>
  texts(from).flatMap((text) =>
    [...text.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, "g"))].map(
      ([, words = ""]) => words,
    ),
  );

/** The words of the user's that a row holds, as each host marks them. */
const TYPED: Record<string, (row: Json) => unknown[]> = {
  claude: ({ type, isMeta, isSidechain, isCompactSummary, display, message }) =>
    type === "user" && !isMeta && !isSidechain && !isCompactSummary
      ? texts(record(message).content)
      : [display],
  codex({ type, payload }) {
    const { type: event, message, item } = record(payload);
    const isTyped =
      event === "user_message" || (event === "item_completed" && record(item).type === "UserMessage");
    return type === "event_msg" && isTyped ? [message, ...texts(record(item).content)] : [];
  },
  copilot: ({ type, data }) =>
    type === "user.message" && (record(data).source ?? "user") === "user" ? [record(data).content] : [],
  qwen: ({ type, provenance, subtype, message }) =>
    type === "user" && (provenance ?? "real_user") === "real_user" && !subtype
      ? texts(record(message).parts)
      : [],
  gemini: ({ type, displayContent, content }) =>
    type === "user"
      ? texts(displayContent ?? content).map((text) =>
          text.replace(/<hook_context>[^<]*<\/hook_context>\s*/, ""),
        )
      : [],
  opencode: ({ type, text, synthetic, ignored }) =>
    type === "text" && !synthetic && !ignored ? [String(text).replace(/^"(.*)"$/, "$1")] : [],
  openclaw: ({ type, message }) =>
    type === "message" && record(message).role === "user" ? texts(record(message).content) : [],
  droid: ({ type, id, message }) =>
    type === "message" && record(message).role === "user" && !String(id).startsWith("context-")
      ? texts(record(message).content)
      : [],
  cline: ({ messages }) => list(messages).flatMap(({ content }) => between("user_input", content)),
  kimi: ({ type, input }) => (type === "turn.prompt" ? texts(input) : []),
  cursor: ({ message }) => between("user_query", record(message).content),
  antigravity: ({ content }) => between("USER_REQUEST", content),
};
TYPED.kilo = TYPED.opencode as (row: Json) => unknown[];

/** What the hosts wrote themselves into the words, and what they began with a tag for. */
const CLIENTS = /^\s*(?:<|\/\w|\[Request interrupted|PROBE-|--- Content from)/;

function* rowsIn(folder: string): Generator<Json> {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, name);
    if (name.endsWith(".messages.json")) yield JSON.parse(readFileSync(file, "utf8"));
    if (name.endsWith(".jsonl"))
      for (const line of readFileSync(file, "utf8").split("\n")) yield parsed(line);
    if (name.endsWith(".jsonl.zst"))
      for (const line of zstdDecompressSync(readFileSync(file)).toString().split("\n")) yield parsed(line);
    if (/\.(?:db|sqlite)$/.test(name)) yield* rowsOf(file);
  }
}

function* rowsOf(file: string): Generator<Json> {
  using db = new Database(file, { readonly: true });
  if (file.endsWith(".sqlite"))
    for (const { json, zstd } of db
      .query("SELECT event_json AS json, event_zstd AS zstd FROM transcript_events")
      .all() as { json?: string; zstd?: Uint8Array }[])
      yield parsed(json ?? zstdDecompressSync(zstd ?? new Uint8Array()).toString());
  else
    for (const { data } of db
      .query(
        "SELECT p.data FROM part p JOIN message m ON m.id = p.message_id WHERE m.data ->> 'role' = 'user'",
      )
      .all() as { data: string }[])
      yield parsed(data);
}

function parsed(line: string): Json {
  try {
    return record(JSON.parse(line));
  } catch {
    return {};
  }
}

/** Where recordings belong of which only a folder was kept. */
const PARTS: Record<string, string> = { qwen: "projects/-home-dev-proj", openclaw: "agents/main/agent" };

const RECORDED = join(ROOT, "..", "shared", "facts");
for (const folder of [join(import.meta.dir, "samples"), join(RECORDED, "hosts"), join(RECORDED, "hosts-2")]) {
  if (!existsSync(folder)) test.skip(`recordings: ${folder} is not there`, () => {});
  else
    test.each(readdirSync(folder).filter((agent) => agent in TYPED && findHost(agent)))(
      `${folder.split("/").at(-1)}: every word that a user of %s typed stands in the index`,
      async (agent) => {
        using home = temporaryHome();
        const root = home.paths.expand(findHost(agent)?.home ?? "");
        const isPart = existsSync(join(folder, agent, "chats")) || agent === "openclaw";
        cpSync(join(folder, agent), join(root, isPart ? (PARTS[agent] ?? "") : ""), { recursive: true });
        const typed = [...rowsIn(root)]
          .flatMap((row) => TYPED[agent]?.(row) ?? [])
          .filter(
            (text): text is string => typeof text === "string" && text.trim() !== "" && !CLIENTS.test(text),
          );
        await home.ok("embed", "--quiet");
        using db = new Database(home.paths.database, { readonly: true });
        const rows = db.query("SELECT text FROM rows WHERE who = 'user'").all() as { text: string }[];
        const held = squeeze(rows.map(({ text }) => text).join("\n"));
        expect(typed.filter((text) => !held.includes(squeeze(text)))).toEqual([]);
        expect(typed.length > 0).toBe(rows.length > 0);
      },
    );
}
