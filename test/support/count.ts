/**
 * A second, slow and plain opinion on which lines of a transcript hold conversation, written from the hosts' formats
 * and using nothing of lib/: what the reader shows is checked against it.
 */

import { readFileSync } from "node:fs";

type Json = Record<string, unknown>;
export type Host = "claude" | "pi" | "codex" | "plain";

/** What a line says, without its white space (formats join blocks differently). */
export interface Spoken {
  line: number;
  kind: "user" | "assistant";
  text: string;
}

/** Starts of user texts that no person wrote. */
const NOT_TYPED: Record<Host, RegExp> = {
  claude:
    /^\s*(?:<command-(?:name|message)>|<local-command-(?:stdout|stderr|caveat)>|<bash-(?:input|stdout|stderr)>|<task-notification>|\[Request interrupted by user|Caveat: The messages below|Base directory for this skill:)/,
  codex:
    /^\s*(?:<environment_context>|<user_instructions>|# AGENTS\.md instructions|<turn_aborted>|<subagent_notification>)/,
  pi: /^$/,
  plain: /^$/,
};

/** The lines with user or assistant text, in file order. */
export function spokenLines(file: string, host: Host): Spoken[] {
  const spoken: Spoken[] = [];
  // Codex marks typed prompts by an event that repeats them; then the event speaks, and the item it repeats does not.
  const all = [...records(file)];
  const byEvent = host === "codex" && all.some(({ record }) => isTypedEvent(record));
  for (const [at, { line, record }] of all.entries()) {
    if (byEvent && isTypedEvent(record))
      spoken.push({ line, kind: "user", text: squeeze(typedText(record)) });
    const later = () => all.slice(at + 1).map((each) => each.record);
    const waiting = record.type === "queue-operation" ? queued(record, later()) : "";
    const other = host === "claude" ? [answeredToTool(record), askedByCommand(record), waiting] : [];
    for (const text of other.map(squeeze)) if (text !== "") spoken.push({ line, kind: "user", text });
    const kind = speaker(record, host);
    if (!kind || (byEvent && kind === "user")) continue;
    const texts = textsOf(record, host).filter((text) => text.trim() !== "");
    const own = kind === "user" ? texts.filter((text) => !NOT_TYPED[host].test(text)) : texts;
    const said = own.map((text) =>
      text.replace(/<(system-reminder|ide_(?:opened_file|selection|diagnostics))>[\s\S]*?<\/\1>/g, ""),
    );
    const text = squeeze((kind === "user" ? said : own).join(""));
    if (text !== "") spoken.push({ line, kind, text });
  }
  return spoken;
}

/** What the user chose or wrote in a dialog of Claude Code's: answers with their questions, an approved plan's title. */
function answeredToTool(record: Json): string {
  const { questions, answers, plan } = (record.toolUseResult ?? {}) as Json;
  if (record.type !== "user") return "";
  if (typeof plan === "string") return `Approved the plan: ${/^#*\s*(\S.*)$/m.exec(plan)?.[1]}`;
  if (!Array.isArray(questions) || typeof answers !== "object") return "";
  return (questions as Json[])
    .map(({ question, options }) => {
      const labels = (options as Json[]).map(({ label }) => label).join("|");
      return `${(answers as Json)[String(question)]}(asked: ${question}; options: ${labels})`;
    })
    .join("");
}

/** What was given to a slash command of Claude Code's, unless it is one of the host's own that the transcripts hold. */
function askedByCommand(record: Json): string {
  const text = textsOf(record, "claude").join("");
  const [, path = ""] = /<command-name>\/?([\w:.-]+)<\/command-name>/.exec(text) ?? [];
  const [, args = ""] = /<command-args>(.+)<\/command-args>/s.exec(text) ?? [];
  const name = path.slice(path.lastIndexOf(":") + 1);
  if (record.type !== "user" || args === "" || name === "compact" || name === "model") return "";
  return `/${name} ${args}`;
}

/** What Claude Code had waiting and gave the agent later, if no row of the user's is the same. */
function queued(record: Json, later: readonly Json[]): string {
  const { type, operation, content } = record;
  if (type !== "queue-operation" || operation !== "enqueue" || typeof content !== "string") return "";
  if (/^\s*[<{/]/.test(content)) return "";
  const isRepeated = later.some((row) => row.type === "user" && textsOf(row, "claude").includes(content));
  return later.some((row) => row.operation === "remove") && !isRepeated ? content : "";
}

/** Lines that hold JSON of which nothing may ever be shown: state, progress, hooks, raw requests, meta rows. */
export function hiddenLines(file: string, host: Host): Set<number> {
  const hidden = new Set<number>();
  for (const { line, record } of records(file)) {
    const type = String(record.type);
    const isClaudeRow = type === "user" || type === "assistant" || type === "system";
    if (host === "claude" && (!isClaudeRow || record.isMeta === true)) hidden.add(line);
    if (host === "codex" && type !== "response_item" && type !== "compacted") hidden.add(line);
    if (host === "pi" && !["message", "compaction", "branch_summary"].includes(type)) hidden.add(line);
  }
  // Two records on one line: it is hidden only if both are.
  for (const { line } of spokenLines(file, host)) hidden.delete(line);
  return hidden;
}

function* records(file: string): Generator<{ line: number; record: Json }> {
  const lines = readFileSync(file, "utf8").split("\n");
  for (const [index, text] of lines.entries()) {
    for (const part of split(text)) yield { line: index + 1, record: part };
  }
}

/** One record, or those of a line on which two were fused. */
function split(text: string): Json[] {
  const whole = parse(text);
  if (whole) return [whole];
  for (let at = text.indexOf('}{"type":'); at !== -1; at = text.indexOf('}{"type":', at + 1)) {
    const first = parse(text.slice(0, at + 1));
    if (first) return [first, ...split(text.slice(at + 1))];
  }
  return [];
}

function parse(text: string): Json | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function speaker(record: Json, host: Host): "user" | "assistant" | undefined {
  const message = (record.message ?? {}) as Json;
  const payload = (record.payload ?? {}) as Json;
  let role: unknown;
  if (host === "claude") {
    if (record.type !== "user" && record.type !== "assistant") return undefined;
    if (record.isMeta === true || record.isCompactSummary === true) return undefined;
    if (record.isSidechain === true && message.content === "Warmup") return undefined;
    role = record.type;
  } else if (host === "pi") {
    role = record.type === "message" ? message.role : undefined;
  } else if (host === "codex") {
    role = record.type === "response_item" && payload.type === "message" ? payload.role : undefined;
  } else {
    role = record.type === "message" ? message.role : record.role;
  }
  return role === "user" || role === "assistant" ? role : undefined;
}

function textsOf(record: Json, host: Host): string[] {
  const holder = (host === "codex" ? record.payload : (record.message ?? record)) as Json;
  if (typeof holder.content === "string") return [holder.content];
  if (!Array.isArray(holder.content)) return [];
  return (holder.content as Json[])
    .filter(
      (block) => typeof block?.text === "string" && /^(?:input_|output_)?text$/.test(String(block.type)),
    )
    .map((block) => String(block.text));
}

function isTypedEvent(record: Json): boolean {
  const payload = (record.payload ?? {}) as Json;
  return record.type === "event_msg" && payload.type === "user_message" && typedText(record) !== "";
}

function typedText(record: Json): string {
  return String(((record.payload ?? {}) as Json).message ?? "");
}

/** A text without its white space. */
export function squeeze(text: string): string {
  return text.replace(/\s+/g, "");
}
