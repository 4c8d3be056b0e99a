/** Random conversations of any format, every message with a text of its own. */

import { chain, claudeAssistant, claudeState, claudeSystem, claudeToolResult, claudeUser } from "./claude.ts";
import { codexAnswer, codexCall, codexCallOutput, codexMeta, codexPrompt } from "./codex.ts";
import { piAssistant, piHeader, piLinked, piToolResult, piUser } from "./pi.ts";
import { plainLine, plainMessage } from "./plain.ts";
import type { Random } from "./random.ts";
import { nextNumber, type Row, uuidFrom } from "./rows.ts";

export type Format = "claude" | "pi" | "codex" | "plain";

const WORDS = [
  "deploy",
  "Übergang",
  "läuft",
  "測試",
  "🎉",
  "👩‍👩‍👧",
  "naïve",
  'quoted "word"',
  "back\\slash",
  "{braces}",
  '}{"type":"user"',
  "tab\there",
  "line\nbreak",
  "\u2028",
  "é",
  "Ω",
  "/home/dev/shop/src/a.ts",
  "null",
];

/** A text no other call gives, ended by its number. */
function uniqueText(random: Random, words = random.integer(1, 12)): string {
  const parts = Array.from({ length: words }, () => random.pick(WORDS));
  return `${parts.join(" ")} #${nextNumber()}`;
}

/** The rows of a conversation with that many turns: prompt, answer, and sometimes a tool call with its result. */
export function conversation(format: Format, random: Random, turns: number): Row[] {
  const rows: Row[] = [];
  let time = Date.parse("2026-02-03T14:30:00.000Z");
  const at = () => {
    time += 1000;
    return new Date(time).toISOString();
  };
  if (format === "pi") rows.push(piHeader());
  if (format === "codex") rows.push(codexMeta());
  for (let turn = 0; turn < turns; turn++) rows.push(...turnRows(format, random, at));
  if (format === "claude") return chain(rows);
  return format === "pi" ? piLinked(rows) : rows;
}

function turnRows(format: Format, random: Random, at: () => string): Row[] {
  const prompt = uniqueText(random);
  const answer = uniqueText(random);
  const result = uniqueText(random);
  const command = `echo ${nextNumber()}`;
  const withTool = random.chance(0.5);
  const call = `call_${nextNumber()}`;
  switch (format) {
    case "claude": {
      const tools = withTool ? [{ name: "Bash", input: { command }, id: call }] : [];
      return [
        claudeState("queue-operation", { operation: "enqueue", content: prompt }),
        claudeUser({ text: prompt, at: at() }),
        progressRow(random, at()),
        ...claudeAssistant({ text: answer, thinking: result, tools, at: at() }),
        ...(withTool ? [claudeToolResult({ toolUseId: call, content: result, at: at() })] : []),
        claudeSystem({ subtype: "turn_duration", at: at() }),
      ];
    }
    case "pi": {
      const tools = withTool ? [{ name: "bash", arguments: { command }, id: call }] : [];
      return [
        piUser({ text: prompt, at: at() }),
        piAssistant({ text: answer, thinking: result, tools, at: at() }),
        ...(withTool ? [piToolResult({ callId: call, tool: "bash", text: result, at: at() })] : []),
      ];
    }
    case "codex": {
      const tool = [
        codexCall({ name: "exec_command", arguments: { cmd: command }, callId: call, at: at() }),
        codexCallOutput({ callId: call, output: result, at: at() }),
      ];
      return [
        ...codexPrompt({ text: prompt, at: at() }),
        ...(withTool ? tool : []),
        ...codexAnswer({ text: answer, at: at() }),
      ];
    }
    case "plain": {
      const line = random.chance(0.5) ? plainLine : plainMessage;
      return [line("user", prompt, at()), line("assistant", [{ type: "text", text: answer }], at())];
    }
  }
}

/** A row that carries a subagent's message inside it. */
function progressRow(random: Random, at: string): Row {
  const inner = {
    type: "user",
    message: { role: "user", content: `inside ${uniqueText(random)}` },
    uuid: uuidFrom(nextNumber()),
    timestamp: at,
  };
  const row = claudeSystem({ subtype: "", at });
  return { ...row, subtype: undefined, type: "progress", data: { type: "agent_progress", message: inner } };
}
