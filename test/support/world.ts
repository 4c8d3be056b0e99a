/**
 * A world written down as text: sessions, files and settings, laid in a home whose project is `~/shop`.
 *
 *     @now 2026-02-10 12:00                                  the clock; it stands still
 *     @config {"timezone": "UTC"}
 *     @file ~/shop/a.ts 2026-02-03 10:00                     its lines follow
 *     @claude 5eed0001 2026-02-03 10:00 in ~/ship            a session; "of <id>": a subagent, in pi a session that goes on, "fork of <id>": its rows first
 *     User: said at 10:00                                    or `User {"origin": null}: …` with fields of its row, or without
 *       a further line
 *     [Bash make] failed                                     a minute later, or a second where the session began "90s ago"
 *       its output
 *     10:30 [Edit ~/shop/a.ts]                               -old and +new lines follow
 *     {"type": "custom-title", "customTitle": "a row"}       a row as it stands
 *     @host qwen zebra 1234 2026-02-03 10:00 {"zebra": "gnu"}   a host's fixtures, or a part as another session in other words
 *
 * The same id again goes on with that session. `{fog ×90}` repeats a text, in which `##` is the number of its repetition.
 */

import { mkdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { claudeAssistant, claudeState, claudeSystem, claudeToolResult, claudeUser } from "./claude.ts";
import { codexAnswer, codexCall, codexCallOutput, codexMeta, codexPatch, codexPrompt } from "./codex.ts";
import type { FakeOpenAI } from "./fake-openai.ts";
import {
  layFixtures,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
  writeCodex,
  writePi,
} from "./home.ts";
import { layHost, type Part } from "./hosts.ts";
import { layLivedIn, NOWHERE } from "./lived-in.ts";
import { piAssistant, piHeader, piLinked, piToolResult, piUser } from "./pi.ts";
import { plainLine } from "./plain.ts";
import { type Row, secondsAgo, uuidFrom } from "./rows.ts";

export interface World extends TemporaryHome {
  /** What its clock shows. */
  now: Date;
  /** The address of its models, `SERVER` in a text. */
  server: string;
  /** What answers there, where anything does. */
  model?: FakeOpenAI;
}

export interface Session {
  agent: string;
  id: string;
  cwd: string;
  /** Of its first row. */
  at: string;
  steps: Step[];
  parentId?: string;
  file?: string;
}

/** What is said (`User`), called (`[Bash make]`) or stands there as a row (`{…}`). */
interface Step {
  at: string;
  /** `User`, `Assistant`, the name of a tool, or `row`. */
  who: string;
  /** The words, what the tool is called with, or the row's JSON. */
  text: string;
  /** The lines below a call. */
  body: string;
  failed: boolean;
  /** Fields of the row besides the usual ones. */
  extra: Row;
}

/** A home without sessions, whose project lies in it; nobody answers at its server's usual address. */
export function emptyWorld(server = NOWHERE): World {
  const home = temporaryHome();
  home.project = join(home.home, "shop");
  write(join(home.project, ".git", "HEAD"), "ref: refs/heads/main\n");
  return Object.assign(home, { now: new Date("2026-02-10T12:00:00Z"), server });
}

/** Returns the world of a golden transcript. */
export function worldOf(subject: string): string {
  const text = readFileSync(join(import.meta.dir, "..", "golden", `${subject}.txt`), "utf8");
  return text.slice(text.search(/^@/m), text.search(/^=== /m));
}

/** Splits a text before each element of a world that begins in it. */
export function splitElements(text: string): string[] {
  return text.split(new RegExp(`^(?=@(?:${KINDS.join("|")})\\b)`, "m"));
}

/** Lays what a text describes, in a world or in any home; returns the file of the last session. */
export function lay(home: TemporaryHome & Partial<World>, text: string): string {
  const world: World = Object.assign(home, { now: home.now ?? new Date(), server: home.server ?? NOWHERE });
  const whole = repeated(text)
    .replace(/(^|[\s"'[(=])~\//gm, `$1${world.home}/`)
    .replaceAll("SERVER", world.server);
  let file = "";
  for (const element of splitElements(whole)) {
    const [head = "", ...lines] = element.trimEnd().split("\n");
    const [, kind, rest = ""] = /^@([\w-]+) ?(.*)$/.exec(head) ?? [];
    if (kind === "fresh") continue;
    if (kind === "lived-in") layLivedIn(world);
    else if (kind === "fixtures") layFixtures(world);
    else if (kind === "now") world.now = new Date(`${rest.replace(" ", "T")}Z`);
    else if (kind === "config") world.configure(JSON.parse([rest, ...lines].join("\n")));
    else if (kind === "file") layFile(rest, lines);
    else if (kind === "host") layHostAs(world, [rest, ...lines].join("\n"));
    else if (kind !== undefined) file = laySession(world, kind, rest, lines);
    else if (element.trim() !== "") throw new SyntaxError(`Cannot lay ${JSON.stringify(head)}`);
  }
  return file;
}

/** Writes out what is repeated, from the inside; `##` is the number of the repetition. */
export function repeated(text: string): string {
  const whole = text.replace(/\{([^{}]+) ×(\d+)\}/g, (_, part: string, count) =>
    Array.from({ length: Number(count) }, (_, i) => part.replaceAll("##", `${i}`.padStart(2, "0"))).join(""),
  );
  return whole === text ? text : repeated(whole);
}

function layFile(head: string, lines: readonly string[]): void {
  const [, path = "", at] = /^(\S+)(?: (\d.*))?$/.exec(head) ?? [];
  write(path, lines.map((line) => `${line}\n`).join(""));
  if (at !== undefined) touch(path, `${at.replace(" ", "T")}Z`);
}

/** Lays all that there is of a host, or a part of it, as another session in other words. */
function layHostAs(world: World, text: string): void {
  const [, agent = "", part, id, at, words = "{}"] =
    /^(\w+)(?: (\w+))?(?: (\S+) (\d[\d-]+ [\d:]+))?\s*(\{.*\})?$/s.exec(text) ?? [];
  const laid = { id, at: at && `${at.replace(" ", "T")}:00.000Z`, words: JSON.parse(words) };
  for (const each of part ? [part] : ["recorded", "zebra", "ostrich"])
    layHost(world, agent, each as Part, laid);
}

const SESSION =
  /^(\S+)(?: (\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?)| (\d+)s ago)?(?: in (\S+))?(?: (fork )?of (\S+))?$/;

function laySession(world: World, agent: string, head: string, lines: readonly string[]): string {
  const [, name = "", day, time, ago, cwd, isFork, of] = SESSION.exec(head) ?? [];
  const [id, other] = [name, of].map((each) => each && fullId(each));
  const since = ago === undefined ? undefined : secondsAgo(Number(ago));
  const at = day === undefined ? since : `${day}T${time}${time?.length === 5 ? ":00" : ""}.000Z`;
  const parent = isFork ? world.sessions.get(other ?? "") : undefined;
  const session: Session = world.sessions.get(id ?? "") ?? {
    ...{ agent, id: id ?? "", cwd: cwd ?? world.project, at: at ?? "", steps: [...(parent?.steps ?? [])] },
    ...(of !== undefined && !isFork && { parentId: other }),
  };
  const step = since === undefined ? 60_000 : 1000;
  session.steps.push(...readSteps(lines, at ?? session.steps.at(-1)?.at ?? session.at, step));
  world.sessions.set(session.id, session);
  const file = WRITERS[agent]?.(world, session, parent);
  if (file === undefined) throw new SyntaxError(`Cannot lay a session of ${agent}`);
  session.file = file;
  touch(file, session.steps.at(-1)?.at ?? session.at);
  return file;
}

function fullId(name: string): string {
  return /^[0-9a-f]{8}$/.test(name) ? `${name}-0000-4000-8000-000000000000` : name;
}

function readSteps(lines: readonly string[], from: string, stepMs: number): Step[] {
  const steps: Step[] = [];
  let next = Date.parse(from);
  for (const line of lines.filter(Boolean)) {
    const last = steps.at(-1);
    if (line.startsWith("  ") && last) {
      const isSaid = last.who === "User" || last.who === "Assistant";
      if (isSaid) last.text += `\n${line.slice(2)}`;
      else last.body += `${last.body === "" ? "" : "\n"}${line.slice(2)}`;
      continue;
    }
    const [, clock, rest = ""] = /^(?:(\d\d:\d\d(?::\d\d)?) )?(.*)$/.exec(line) ?? [];
    if (clock !== undefined) next = Date.parse(`${from.slice(0, 10)}T${clock.padEnd(8, ":00")}Z`);
    steps.push({ at: new Date(next).toISOString(), ...readStep(rest) });
    next += stepMs;
  }
  return steps;
}

function readStep(line: string): Omit<Step, "at"> {
  if (line.startsWith("{")) return { who: "row", text: line, body: "", failed: false, extra: {} };
  const [, speaker, extra = "{}", words] = /^(User|Assistant)(?: (\{.*?\}))?: ?(.*)$/.exec(line) ?? [];
  if (speaker) return { who: speaker, text: words ?? "", body: "", failed: false, extra: JSON.parse(extra) };
  const [, tool, text = "", failed] = /^\[(\w+) ?(.*)\]( failed)?$/.exec(line) ?? [];
  if (!tool) throw new SyntaxError(`Cannot read ${JSON.stringify(line)}`);
  return { who: tool, text, body: "", failed: failed !== undefined, extra: {} };
}

/** The changed lines below an edit. */
function change(body: string): { from: string; to: string } {
  const lines = body.split("\n");
  const without = (sign: string) =>
    lines
      .filter((line) => !line.startsWith(sign))
      .map((line) => line.replace(/^[+-]/, ""))
      .join("\n");
  return { from: without("+"), to: without("-") };
}

type Write = (home: World, session: Session, forkOf?: Session) => string;

const WRITERS: Record<string, Write> = {
  claude(home, session, forkOf) {
    const { id, cwd, parentId } = session;
    let parent: string | null = null;
    const rows = session.steps.flatMap((step, i) => {
      const owner = forkOf && i < forkOf.steps.length ? forkOf.id : id;
      const made = claudeRows(step, { sessionId: id, cwd, at: step.at }, `${owner} ${i}`, parent);
      parent = String(made.findLast((row) => row.uuid)?.uuid ?? parent);
      return made;
    });
    return writeClaude(home, { id, cwd, rows, ...(parentId !== undefined && { parentId }) });
  },
  codex(home, { id, cwd, at, steps }) {
    const rows = steps.flatMap((step, i) => {
      const callId = `call_${i}`;
      if (step.who === "row") return [JSON.parse(step.text) as Row];
      if (step.who === "User") return codexPrompt(step);
      if (step.who === "Assistant") return codexAnswer(step);
      if (step.who === "Edit") {
        const patch = `*** Begin Patch\n*** Update File: ${step.text}\n@@\n${step.body}\n*** End Patch`;
        return [
          codexPatch({ at: step.at, patch, callId }),
          codexCallOutput({ at: step.at, callId, output: "Success.", custom: true }),
        ];
      }
      const output = `Process exited with code ${step.failed ? 1 : 0}\nOutput:\n${step.body}`;
      return [
        codexCall({ at: step.at, name: "exec_command", arguments: { cmd: step.text }, callId }),
        codexCallOutput({ at: step.at, callId, output }),
      ];
    });
    return writeCodex(home, { id, at, rows: [codexMeta({ id, cwd, at }), ...rows] });
  },
  pi(home, { id, cwd, at, steps, parentId = "" }) {
    const parentSession = home.sessions.get(parentId)?.file;
    const rows = steps.flatMap((step, i): Row[] => {
      const callId = `call_${i}`;
      const entry = { at: step.at, id: uuidFrom(`${id} ${i}`).slice(0, 8) };
      if (step.who === "row") return [{ ...entry, timestamp: step.at, ...JSON.parse(step.text) }];
      if (step.who === "User") return [piUser({ ...entry, text: step.text })];
      if (step.who === "Assistant") return [piAssistant({ ...entry, text: step.text })];
      const { from, to } = change(step.body);
      const input = {
        Bash: { command: step.text },
        Edit: { path: step.text, edits: [{ oldText: from, newText: to }] },
      }[step.who] ?? { path: step.text };
      const tool = step.who.toLowerCase();
      return [
        piAssistant({ ...entry, tools: [{ name: tool, arguments: input, id: callId }] }),
        piToolResult({ at: step.at, callId, tool, text: step.body, isError: step.failed }),
      ];
    });
    return writePi(home, {
      id,
      cwd,
      at,
      rows: piLinked([piHeader({ id, cwd, at, ...(parentSession && { parentSession }) }), ...rows]),
    });
  },
  plain(home, { id, steps }) {
    const rows = steps.map(({ who, text, at }) => plainLine(who === "User" ? "user" : "assistant", text, at));
    return write(join(home.home, "plain", `${id}.jsonl`), rows);
  },
};

const KINDS = ["fresh", "lived-in", "fixtures", "now", "config", "file", "host", ...Object.keys(WRITERS)];

function claudeRows(
  { who, text, body, failed, extra }: Step,
  context: { sessionId: string; cwd: string; at: string },
  seed: string,
  parentUuid: string | null,
): Row[] {
  const uuid = uuidFrom(seed);
  const row = { ...context, uuid, parentUuid };
  if (who === "User") return [claudeUser({ ...row, text, extra: present(extra) })];
  if (who === "Assistant") return claudeAssistant({ ...row, text }).map((made) => ({ ...made, ...extra }));
  if (who === "row") {
    const { type, ...fields } = JSON.parse(text) as Row;
    if (!fields.message && !fields.subtype) return [claudeState(String(type), fields, context.sessionId)];
    return [{ ...claudeSystem({ ...row, subtype: "" }), type, ...fields }];
  }
  const id = `toolu_${uuid}`;
  const { from, to } = change(body);
  const input =
    {
      Bash: () => ({ command: text }),
      Edit: () => ({ file_path: text, old_string: from, new_string: to }),
      Write: () => ({ file_path: text, content: body }),
      Read: () => ({ file_path: text }),
    }[who] ?? (() => JSON.parse(text || "{}"));
  const isChange = (who === "Edit" || who === "Write") && !failed;
  return [
    ...claudeAssistant({ ...row, tools: [{ id, name: who, input: input() }] }),
    claudeToolResult({
      ...{ ...context, uuid: uuidFrom(`${seed} result`), parentUuid: uuid, toolUseId: id },
      ...{ content: isChange ? "done" : body, isError: failed },
    }),
  ];
}

/** Returns fields with those left out that are null. */
function present(fields: Row): Row {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? undefined]));
}

function touch(file: string, at: string): void {
  mkdirSync(join(file, ".."), { recursive: true });
  utimesSync(file, new Date(at), new Date(at));
}
