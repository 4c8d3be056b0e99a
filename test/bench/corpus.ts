/**
 * A corpus of made-up coding sessions, the same for the same seed: Claude Code transcripts with prompts, answers, tool
 * calls and their results, in words that follow Zipf's law as real ones do.
 */

import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Random, seeded } from "../support/random.ts";

const SESSIONS = 3000;
/** User and assistant rows in all. */
const MESSAGES = 78_000;
/** Bytes of a file on average, reached by the results of tool calls. */
const SESSION_BYTES = 16_000;

const WORDS = readFileSync(join(import.meta.dir, "words.txt"), "utf8")
  .trim()
  .split(/\s+/);
const TOOLS = ["Bash", "Read", "Edit", "Grep", "Write"];
const ENDINGS = ["ts", "py", "go", "rs", "md", "sql", "json"];
const FIRST_DAY = Date.UTC(2023, 8, 1);
const HOUR_MS = 3_600_000;

/** Writes the corpus as Claude Code keeps its projects: `<folder>/projects/<project>/<id>.jsonl`, a session an hour. */
export function writeCorpus(
  folder: string,
  { sessions = SESSIONS, rows = MESSAGES / SESSIONS, bytes = SESSION_BYTES } = {},
): string[] {
  const random = seeded(1);
  return Array.from({ length: sessions }, (_, number) => {
    const project = join(folder, "projects", `-home-dev-project-${number % 12}`);
    mkdirSync(project, { recursive: true });
    const file = join(project, `${sessionId(number)}.jsonl`);
    writeFileSync(file, sessionText(random, { number, rows, bytes }));
    const changed = (FIRST_DAY + (number + 1) * HOUR_MS) / 1000;
    utimesSync(file, changed, changed);
    return file;
  });
}

/** Words of a sentence length, with an identifier, a path or a number now and then. */
export function sentence(random: Random, words: number): string {
  const parts: string[] = [];
  for (let i = 0; i < words; i++) parts.push(word(random));
  const text = parts.join(" ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** A session's rows as text, `rows` of them user or assistant messages. */
export function sessionText(
  random: Random,
  { number, rows, bytes }: { number: number; rows: number; bytes: number },
): string {
  const id = sessionId(number);
  let time = FIRST_DAY + number * HOUR_MS;
  let parent: string | null = null;
  const lines: string[] = [];
  let callId: string | undefined;
  const resultBytes = Math.max(40, (bytes / rows - 560) * 3.2);
  for (let i = 0; i < rows; i++) {
    time += random.integer(2, 90) * 1000;
    const uuid = rowId(number, i);
    const common = {
      parentUuid: parent,
      isSidechain: false,
      userType: "external",
      cwd: `/home/dev/project-${number % 12}`,
      sessionId: id,
      version: "2.1.329",
      gitBranch: "main",
      uuid,
      timestamp: new Date(time).toISOString(),
    };
    if (callId !== undefined) {
      const result = filler(random, resultBytes);
      const content = [{ tool_use_id: callId, type: "tool_result", content: result }];
      lines.push(JSON.stringify({ ...common, type: "user", message: { role: "user", content } }));
      callId = undefined;
    } else if (i % 6 === 0) {
      const text = paragraph(random, random.integer(1, 3));
      lines.push(JSON.stringify({ ...common, type: "user", message: { role: "user", content: text } }));
    } else {
      const block = random.chance(0.4)
        ? toolUse(random, uuid)
        : { type: "text", text: paragraph(random, random.integer(1, 6)) };
      if (block.type === "tool_use") callId = uuid;
      const message = {
        id: `msg_${uuid}`,
        type: "message",
        role: "assistant",
        model: "claude-opus-5-5",
        content: [block],
      };
      lines.push(JSON.stringify({ ...common, type: "assistant", message }));
    }
    parent = uuid;
  }
  return `${lines.join("\n")}\n`;
}

function sessionId(number: number): string {
  return `${hex(number, 8)}-5e55-4000-8000-${hex(number * 7919, 12)}`;
}

function rowId(session: number, row: number): string {
  return `${hex(session, 8)}-${hex(row, 4)}-4000-9000-${hex(session * 104_729 + row, 12)}`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0").slice(-digits);
}

function paragraph(random: Random, sentences: number): string {
  return Array.from({ length: sentences }, () => sentence(random, random.integer(6, 18))).join(" ");
}

function toolUse(random: Random, id: string): { type: "tool_use"; id: string; name: string; input: object } {
  const name = random.pick(TOOLS);
  const input =
    name === "Bash"
      ? { command: `bun test ${path(random)} --timeout ${random.integer(10, 900)}` }
      : name === "Grep"
        ? { pattern: identifier(random), path: path(random) }
        : { file_path: `/home/dev/${path(random)}` };
  return { type: "tool_use", id, name, input };
}

function filler(random: Random, bytes: number): string {
  const lines: string[] = [];
  for (let length = 0; length < bytes; ) {
    const line = `${random.integer(1, 900)}: ${sentence(random, 9)}`;
    lines.push(line);
    length += line.length + 2;
  }
  return lines.join("\n");
}

function word(random: Random): string {
  const kind = random.next();
  if (kind < 0.03) return identifier(random);
  if (kind < 0.045) return `\`${path(random)}\``;
  if (kind < 0.06) return String(random.integer(1, 9999));
  return common(random);
}

/** The rank falls off so that the most frequent word makes about a twentieth of a text. */
function common(random: Random): string {
  const rank = Math.floor(WORDS.length ** random.next()) - 1;
  return WORDS[Math.min(rank + random.integer(0, rank >> 2), WORDS.length - 1)] ?? "the";
}

function identifier(random: Random): string {
  const [first, second] = [random.pick(WORDS), random.pick(WORDS)];
  return random.chance(0.5)
    ? `${first}${second.charAt(0).toUpperCase()}${second.slice(1)}`
    : `${first}_${second}`;
}

function path(random: Random): string {
  return `src/${random.pick(WORDS)}/${random.pick(WORDS)}-${random.pick(WORDS)}.${random.pick(ENDINGS)}`;
}
