/**
 * Who wrote each line, against the truth: every edit of the real transcripts of Claude Code applied to the whole file that the
 * host kept beside it, line by line.
 *
 *     bun test/bench/blame.ts               prints each line that is attributed wrongly
 */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parseRecord } from "../../lib/base/json.ts";
import { type BlameScope, blameText } from "../../lib/history/blame.ts";
import { ownRules } from "../../lib/transcripts/rules.ts";
import { atLeast, atMost, type BenchRow } from "./measure.ts";
import { hasTranscripts, TRANSCRIPTS, withIndex } from "./replay.ts";

/** A file as an edit left it. */
interface Version {
  at: string;
  path: string;
  /** `<session> <line of the call>`. */
  author: string;
  before: string | undefined;
  after: string;
}

type Json = Record<string, unknown>;
const OUTSIDE = "outside";
const KEY_MIN = 12;

function transcriptFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
}

function versionsIn(file: string): Version[] {
  const lineOf = new Map<string, number>();
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((text, i) => {
      const record: Json = parseRecord(text) ?? {};
      const content = (record.message as Json | undefined)?.content;
      const blocks = Array.isArray(content) ? (content as Json[]) : [];
      for (const block of blocks) if (block.type === "tool_use") lineOf.set(String(block.id), i + 1);
      const result = record.toolUseResult as Json | undefined;
      const called = lineOf.get(String(blocks.find(({ type }) => type === "tool_result")?.tool_use_id));
      const after = result && typeof result === "object" ? afterEdit(result) : undefined;
      if (!result || called === undefined || after === undefined) return [];
      const before = [result.originalFile, result.originalFileContents].find(
        (text) => typeof text === "string",
      );
      const author = `${basename(file, ".jsonl")} ${called}`;
      return [
        {
          at: String(record.timestamp),
          path: String(result.filePath),
          author,
          before: before as string | undefined,
          after,
        },
      ];
    });
}

function afterEdit(result: Json): string | undefined {
  const { type, content, originalFile, originalFileContents = originalFile } = result;
  if (typeof content === "string" && (type === "create" || type === "update")) return content;
  if (typeof originalFileContents !== "string") return undefined;
  const { oldString, newString, replaceAll, edits } = result;
  const steps = Array.isArray(edits)
    ? (edits as Json[])
    : [{ old_string: oldString, new_string: newString, replace_all: replaceAll }];
  let text = originalFileContents;
  for (const { old_string: old, new_string: now, replace_all: all } of steps) {
    if (typeof old !== "string" || typeof now !== "string" || !text.includes(old)) return undefined;
    if (old === "") text = now;
    else text = all ? text.replaceAll(old, () => now) : text.replace(old, () => now);
  }
  return text;
}

interface Written {
  key: string;
  author: string;
}

/**
 * Gives each line of a text the author of the line that it stands for, by their longest common subsequence; a line that was
 * moved keeps its author.
 */
function follow(lines: readonly Written[], text: string, author: string): Written[] {
  const keys = text.split("\n").map((line) => line.trim());
  let start = 0;
  while (start < keys.length && start < lines.length && keys[start] === lines[start]?.key) start++;
  let end = 0;
  const isSame = () => keys.at(-1 - end) === lines.at(-1 - end)?.key;
  while (end < Math.min(keys.length, lines.length) - start && isSame()) end++;
  const [old, now] = [lines.slice(start, lines.length - end), keys.slice(start, keys.length - end)];
  const length = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      (length[i] as Uint32Array)[j] =
        old[i]?.key === now[j]
          ? 1 + (length[i + 1]?.[j + 1] ?? 0)
          : Math.max(length[i + 1]?.[j] ?? 0, length[i]?.[j + 1] ?? 0);
  const middle: Written[] = [];
  for (let [i, j] = [0, 0]; j < now.length; ) {
    const [was, key = ""] = [old[i], now[j]];
    if (was?.key === key) {
      middle.push(was);
      i++;
      j++;
    } else if (was && (length[i + 1]?.[j] ?? 0) >= (length[i]?.[j + 1] ?? 0)) i++;
    else {
      middle.push({ key, author });
      j++;
    }
  }
  const gone = old.filter((line) => !middle.includes(line));
  const moved = middle.map((line) => {
    const at = line.author === author ? gone.findIndex(({ key }) => key === line.key) : -1;
    return at === -1 ? line : (gone.splice(at, 1)[0] as Written);
  });
  return [...lines.slice(0, start), ...moved, ...lines.slice(lines.length - end)];
}

/** Returns the last version of each file, its lines with who wrote them. */
function truth(): Map<string, Written[]> {
  const all = TRANSCRIPTS.flatMap(transcriptFiles).flatMap(versionsIn);
  // a path of Windows is no file here
  const versions = all.filter(({ path }) => path.startsWith("/"));
  versions.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const files = new Map<string, Written[]>();
  for (const { path, before, after, author } of versions) {
    const known = files.get(path) ?? [];
    const lines = before === undefined ? known : follow(known, before, OUTSIDE);
    files.set(path, follow(lines, after, author));
  }
  return files;
}

interface Count {
  right: number;
  wrong: string[];
  unsure: string[];
  /** Lines that a command wrote, which the host keeps no copy of. */
  shell: string[];
}

async function compare(): Promise<Count> {
  const count: Count = { right: 0, wrong: [], unsure: [], shell: [] };
  await withIndex((store, { project, paths }) => {
    const scope = { cwd: project, paths, subagents: true };
    const options: BlameScope = { store, scope, rules: ownRules() };
    for (const [path, lines] of truth()) {
      const keys = lines.map(({ key }) => key);
      const { verdicts } = blameText(keys, { path, name: path, from: 1, to: keys.length }, options);
      for (const {
        lines: [from, to],
        verdict,
        session_id = "",
        line,
      } of verdicts)
        for (let number = from; number <= to; number++) {
          const { key, author } = lines[number - 1] as Written;
          if (key.length < KEY_MIN || keys.indexOf(key) !== keys.lastIndexOf(key)) continue;
          const said =
            verdict === "written" ? `${session_id} ${line}` : verdict === "cannot tell" ? "" : OUTSIDE;
          const place = `${path}:${number} ${key.slice(0, 60)} | ${author} | ${said}`;
          if (said === author) count.right++;
          else if (said === "") count.unsure.push(place);
          else if (author === OUTSIDE) count.shell.push(place);
          else count.wrong.push(place);
        }
    }
  });
  return count;
}

export async function rows(): Promise<BenchRow[]> {
  if (!hasTranscripts) return [];
  const { right, wrong, unsure, shell } = await compare();
  const all = right + wrong.length + unsure.length;
  return [
    atLeast(`lines attributed rightly, of ${all}`, (100 * right) / all, 90),
    atMost("lines attributed wrongly", wrong.length, 0, {
      unit: "lines",
      detail: `${unsure.length} cannot tell, ${shell.length} by a command`,
    }),
  ];
}

if (import.meta.main) {
  const { right, wrong, unsure, shell } = await compare();
  console.log(
    `right ${right}, wrong ${wrong.length}, cannot tell ${unsure.length}, by a command ${shell.length}`,
  );
  for (const [name, places] of Object.entries({ wrong, unsure, shell }))
    console.log(`${name}\n${places.join("\n")}`);
}
