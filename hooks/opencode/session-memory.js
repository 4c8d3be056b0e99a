/**
 * session-memory in opencode: tells the session what the user laid down in earlier ones, what others did, what @@name means,
 * how an error was ended before, and after a compaction what was observed. Tried with opencode 1.18.33.
 *
 * Plain JavaScript without imports of ours: it runs inside opencode and starts our programs. A throw here would fail the
 * user's prompt, so every hook catches what goes wrong, and says nothing then.
 */

import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// opencode finds this file by a link in its plugin folder.
const STARTER = join(
  dirname(realpathSync(fileURLToPath(import.meta.url))),
  "..",
  "..",
  "bin",
  "session-memory",
);
/** The longest that a prompt, a command or a summary waits for us. */
const WAIT_MS = 3000;
/** Stands in the id of each part of ours. */
const OWN_PART = "sessionmemory";
/** Two parts made within one millisecond differ by this. */
let parts = 0;

/** Returns an id as opencode makes them, which sorts behind those that it made before: ours follows the user's words. */
function partId() {
  const time = ((BigInt(Date.now()) << 12n) + BigInt(parts++ & 0xfff)) & 0xffffffffffffn;
  return `prt_${time.toString(16).padStart(12, "0")}${OWN_PART}${parts.toString(36)}`;
}

/** Asks for the words of a moment; "" if nothing is to be said or anything goes wrong. */
function ask(moment) {
  return new Promise((resolve) => {
    let output = "";
    const child = spawn("/bin/sh", [STARTER, "moment"], {
      cwd: moment.cwd,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const end = () => {
      clearTimeout(timer);
      resolve(contextIn(output));
    };
    const timer = setTimeout(() => {
      child.kill();
      resolve("");
    }, WAIT_MS);
    child.on("error", end);
    child.stdin.on("error", () => {});
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.on("close", end);
    child.stdin.end(JSON.stringify({ host: "opencode", ...moment }));
  });
}

function contextIn(output) {
  try {
    return JSON.parse(output).context ?? "";
  } catch {
    return "";
  }
}

/**
 * What opencode calls, each with what is known of our sessions: those that began here, that had a prompt, whose parts of ours
 * no model was given yet, those of subagents and those that are being compacted; and with `ask`, which asks at a moment of a session.
 */
const HOOKS = {
  async event({ created, begun, waiting, subagents, compacting, ask }, { event: { type, properties } }) {
    const { info = {}, sessionID: id } = properties;
    if (type === "session.created") (info.parentID ? subagents : created).add(info.id);
    if (type === "session.compacted") compacting.delete(id);
    if (type !== "session.idle" || subagents.has(id)) return;
    // a session that was begun here has had a prompt, and an answer: where we heard of none, this version has no such hook
    const missed = waiting.has(id) ? "experimental.chat.messages.transform" : undefined;
    void ask("turn", id, { gone: created.has(id) && !begun.has(id) ? "chat.message" : missed });
  },

  async "chat.message"({ begun, waiting, subagents, ask }, { sessionID }, { message, parts: written }) {
    if (subagents.has(sessionID)) return;
    const text = written.map((part) => (part.type === "text" && !part.synthetic ? part.text : "")).join("\n");
    const isFirst = !begun.has(sessionID);
    begun.add(sessionID);
    const news = await ask("prompt", sessionID, { text });
    // a session that is named already is told of no more
    const start = isFirst ? await ask("start", sessionID, { isTold: news !== "" }) : "";
    const context = [news, start].filter(Boolean).join("\n\n");
    if (context === "") return;
    // ignored, since opencode has a title made of all that is not, and the session would be called after another one
    const part = { type: "text", text: context, synthetic: true, ignored: true };
    written.push({ id: partId(), sessionID, messageID: message.id, ...part });
    waiting.add(sessionID);
  },

  // Who answers is given our parts. Whoever makes the title has been started, and takes its messages from the same array when it
  // comes to run: before ours stand there.
  async "experimental.chat.messages.transform"({ waiting }, _, { messages }) {
    await new Promise((resolve) => setImmediate(resolve));
    for (const [index, message] of messages.entries()) {
      waiting.delete(message.info.sessionID);
      const given = message.parts.map((part) =>
        part.id.includes(OWN_PART) ? { ...part, ignored: false } : part,
      );
      messages[index] = { ...message, parts: given };
    }
  },

  // by this a command of ours knows whose session it is called in
  async "shell.env"(_, { sessionID }, { env }) {
    if (sessionID) env.SESSION_MEMORY_SESSION_ID = sessionID;
  },

  async "tool.execute.after"({ subagents, ask }, { tool, sessionID, args }, result) {
    if (tool !== "bash" || !result.metadata?.exit || subagents.has(sessionID)) return;
    const output = result.metadata.output ?? result.output;
    const context = await ask("failure", sessionID, { command: args?.command, output });
    if (context !== "") result.output = `${result.output}\n\n${context}`;
  },

  async "experimental.session.compacting"({ compacting, ask }, { sessionID }, { context }) {
    compacting.add(sessionID);
    const word = await ask("summary", sessionID);
    if (word !== "") context?.push(word);
  },

  // The summary is the next text that is completed: what is added to it is stored with it.
  async "experimental.text.complete"({ compacting, ask }, { sessionID }, result) {
    if (!compacting.delete(sessionID)) return;
    const context = await ask("compaction", sessionID);
    if (context !== "") result.text = `${result.text}\n\n${context}`;
  },
};

export const SessionMemory = async ({ directory: cwd }) => {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return {};
  const [created, begun, waiting, subagents, compacting] = Array.from({ length: 5 }, () => new Set());
  const own = {
    ...{ created, begun, waiting, subagents, compacting },
    ask: (moment, session, about) => ask({ moment, session, cwd, ...about }),
  };
  const safe =
    (hook) =>
    async (...args) => {
      try {
        await hook(own, ...args);
      } catch {
        // opencode goes on without us
      }
    };
  return Object.fromEntries(Object.entries(HOOKS).map(([name, hook]) => [name, safe(hook)]));
};
