/** Lines that users type, run in a world, and what is printed then, as golden transcripts hold it. */

import { join } from "node:path";
import { recordOf } from "../../lib/base/json.ts";
import { answerAsModel, type RecordedRequest, type Reply } from "./fake-openai.ts";
import { run as runOnDatabase } from "./hosts.ts";
import { uuidFrom } from "./rows.ts";
import { type Finished, HOOKS, ROOT, type RunOptions, runCommand, runScript, shellWords } from "./run.ts";
import { lay, repeated, splitElements, type World } from "./world.ts";

export type Start = typeof runScript;

const BIN = join(ROOT, "bin");

/** Lays what a text describes, and runs its lines after `$ `; returns it with what they print by now. */
export async function replay(world: World, text: string, start: Start = runScript): Promise<string> {
  const parts: string[] = [];
  for (const part of splitElements(text).flatMap((each) => each.split(/^(?=\$ )/m))) {
    if (part.startsWith("@")) lay(world, part);
    if (!part.startsWith("$ ")) parts.push(part);
    else {
      const [command = ""] = part.split("\n", 1);
      parts.push(`${command}\n${shown(world, await run(world, command.slice(2), start))}\n`);
    }
  }
  return `${parts.join("").trimEnd()}\n\n`;
}

/** Runs a line as a shell would: scripts and hooks of ours by `start`, other commands in a process of their own. */
async function run(world: World, line: string, start: Start): Promise<Finished> {
  const whole = repeated(line)
    .replace(/(^|[\s"'=])~(?=[\s/])/g, `$1${world.home}`)
    .replaceAll("/-shop/", `/${encoded(world.project)}/`);
  const [, folder = world.project, typed = ""] = /^(?:cd (\S+) && )?(.*)$/s.exec(whole) ?? [];
  const [, own = "", how, rest = ""] =
    /^((?:[^"'|>]|2>&1|"[^"]*"|'[^']*')*?)(?: (\||>) (.*))?$/.exec(typed) ?? [];
  const words = shellWords(own);
  const first = words.findIndex((word) => !/^\w+=/.test(word));
  const input = words.indexOf("<<<");
  const [program, name = "", ...args] = words
    .slice(first, input === -1 ? undefined : input)
    .filter((word) => word !== "2>&1");
  const env = {
    ...world.env,
    PATH: `${BIN}:${world.env.PATH}`,
    SESSION_MEMORY_COMMAND: join(BIN, "session-memory"),
  };
  const isMerged = words.includes("2>&1");
  const options = {
    env: { ...env, ...(fieldsOf(words.slice(0, first)) as Record<string, string>) },
    cwd: folder,
  };
  const shell = (command: string, stdin = "") =>
    runCommand(["sh", "-c", command], { env, cwd: folder, stdin });
  if (program === "reply") return reply(world, [name, ...args]);
  if (program === "refuse") return refuse(world, [name, ...args]);
  if (program === "sql") return { stdout: runOnDatabase(name, args.join(" ")), stderr: "", exitCode: 0 };
  if (program !== "session-memory" && program !== "sent") return await shell(typed);
  const finished =
    program === "sent"
      ? sent(world)
      : HOOKS.includes(name)
        ? await runHook(world, name, fieldsOf(args), { options, start })
        : await start(name === "background" ? "hooks/background.ts" : name, args, {
            ...options,
            stdin: words[input + 1] ?? "",
          });
  if (how === undefined) return finished;
  const pipe = how === "|" ? rest : `cat > ${rest}`;
  const piped = await shell(pipe, finished.stdout + (isMerged ? finished.stderr : ""));
  return isMerged ? piped : { ...piped, stderr: finished.stderr + piped.stderr };
}

/** Has the model answer with these texts, a number being a status that it fails with, and then as a model would. */
function reply({ model }: World, answers: readonly string[]): Finished {
  const replies = answers.map(
    (text): Reply => (/^\d+$/.test(text) ? { kind: "status", status: Number(text) } : text),
  );
  model?.script(...replies, answerAsModel);
  return { stdout: "", stderr: "", exitCode: 0 };
}

/** Has the embedder answer with these statuses, or refuse each request with a text that holds a word; "" for neither. */
function refuse({ model }: World, [first = "", ...others]: readonly string[]): Finished {
  const status = (code: number) => ({ kind: "status", status: code }) as const;
  const byWord = ({ text }: RecordedRequest) =>
    text.includes(first) ? status(400) : ({ kind: "vectors" } as const);
  const replies = /\D/.test(first)
    ? Array<Reply>(99).fill(byWord)
    : [first, ...others].filter(Boolean).map(Number).map(status);
  model?.scriptEmbeddings(...replies);
  return { stdout: "", stderr: "", exitCode: 0 };
}

/** Prints what was sent to the model, or to be embedded, since the last time. */
function sent({ model }: World): Finished {
  const texts = model?.requests
    .splice(0)
    .map(({ body }) =>
      body.messages
        ? `chat ${body.model}\n${body.messages.at(-1).content}\n`
        : `${[body.input].flat().join("\n")}\n`,
    );
  return { stdout: texts?.join("\n") ?? "", stderr: "", exitCode: 0 };
}

/** Runs a hook of Claude Code on an input with these fields; returns what its host is told, as text. */
async function runHook(
  { home, project }: World,
  name: string,
  { command, ...fields }: Record<string, unknown>,
  { options, start }: { options: RunOptions; start: Start },
): Promise<Finished> {
  const event = name.replace(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
  const input = {
    ...{
      hook_event_name: event,
      session_id: uuidFrom("me"),
      transcript_path: join(home, "me.jsonl"),
      cwd: project,
    },
    ...(command !== undefined && { tool_name: "Bash", tool_input: { command } }),
    ...fields,
  };
  // without a runtime on PATH, this process's own included, no work begins in the background
  const env = { ...options.env, PATH: BIN };
  const { execPath } = process;
  process.execPath = "/nowhere/bun";
  const finished = await start("hooks/event.ts", [name], {
    ...options,
    env,
    stdin: JSON.stringify(input),
  }).finally(() => {
    process.execPath = execPath;
  });
  if (!finished.stdout.startsWith("{")) return finished;
  const { systemMessage, hookSpecificOutput } = JSON.parse(finished.stdout);
  const told = recordOf(hookSpecificOutput).additionalContext;
  const lines = [systemMessage && `(to the person) ${systemMessage}`, told].filter(Boolean);
  return { ...finished, stdout: lines.map((line) => `${line}\n`).join("") };
}

function fieldsOf(words: readonly string[]): Record<string, string | boolean | null> {
  const fields = words.map((word) => [word.split("=", 1)[0], word.slice(word.indexOf("=") + 1)]);
  const read = (value = "") => (value === "null" ? null : value === "true" || value.replaceAll("\\n", "\n"));
  return Object.fromEntries(fields.map(([name, value]) => [name, read(value)]));
}

/** A path as the name of a folder in which hosts keep its sessions; the project's is shown as `-shop`. */
function encoded(path: string): string {
  return path.replace(/[^a-zA-Z0-9]/g, "-");
}

/** Returns what a command printed, as it stands in a file. */
function shown({ home, project, server }: World, { stdout, stderr, exitCode }: Finished): string {
  const errors = stderr.replace(/^(?=.)/gm, "2> ").replace(/^\n/gm, "");
  const ended = exitCode === 0 ? "" : `[${exitCode}]\n`;
  const text = `${stdout}${stdout === "" || stdout.endsWith("\n") ? "" : "\n"}${errors}${ended}`;
  return text
    .replace(/\d+\.\d+ (?=m?s\b)/g, "N ")
    .replaceAll(home, "~")
    .replace(/\/\S+(?=\/bin\/session-memory\b)/g, "ROOT")
    .replaceAll(encoded(project), "-shop")
    .replaceAll(encoded(home), "-home")
    .replaceAll(new URL(server).host, "SERVER");
}
