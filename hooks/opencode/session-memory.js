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
/** Two parts made within one millisecond differ by this. */
let parts = 0;

/** Returns an id as opencode makes them, which sorts behind those that it made before: ours follows the user's words. */
function partId() {
  const time = ((BigInt(Date.now()) << 12n) + BigInt(parts++ & 0xfff)) & 0xffffffffffffn;
  return `prt_${time.toString(16).padStart(12, "0")}sessionmemory${parts.toString(36)}`;
}

/** Asks for what is to be said at a moment; "" where there is nothing, and where anything goes wrong. */
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

/** Returns the hook with every failure caught. */
function safe(hook) {
  return async (...args) => {
    try {
      await hook(...args);
    } catch {
      // opencode goes on without us
    }
  };
}

export const SessionMemory = async ({ directory }) => {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return {};
  const cwd = directory;
  /** Sessions that began here, that had a prompt, those of subagents, and those that are being compacted. */
  const [created, begun, subagents, compacting] = [new Set(), new Set(), new Set(), new Set()];
  const at = (moment, session, about = {}) => ask({ moment, session, cwd, ...about });
  return {
    event: safe(async ({ event: { type, properties } }) => {
      if (type === "session.created" && properties.info?.parentID) subagents.add(properties.info.id);
      if (type === "session.created" && !properties.info?.parentID) created.add(properties.info?.id);
      if (type === "session.compacted") compacting.delete(properties.sessionID);
      if (type !== "session.idle" || subagents.has(properties.sessionID)) return;
      const id = properties.sessionID;
      // a session that was begun here has had a prompt: where we heard of none, this version has no such hook
      const gone = created.has(id) && !begun.has(id) ? "chat.message" : undefined;
      void at("turn", id, { gone });
    }),
    "chat.message": safe(async ({ sessionID }, { message, parts: written }) => {
      if (subagents.has(sessionID)) return;
      const text = written
        .map((part) => (part.type === "text" && !part.synthetic ? part.text : ""))
        .join("\n");
      const isFirst = !begun.has(sessionID);
      begun.add(sessionID);
      const news = await at("prompt", sessionID, { text });
      // a session that is named already is told of no more
      const start = isFirst ? await at("start", sessionID, { isTold: news !== "" }) : "";
      const context = [news, start].filter(Boolean).join("\n\n");
      if (context === "") return;
      written.push({
        id: partId(),
        sessionID,
        messageID: message.id,
        type: "text",
        text: context,
        synthetic: true,
      });
    }),
    // by this a command of ours knows whose session it is called in
    "shell.env": safe(async ({ sessionID }, { env }) => {
      if (sessionID) env.SESSION_MEMORY_SESSION_ID = sessionID;
    }),
    "tool.execute.after": safe(async ({ tool, sessionID, args }, result) => {
      const exit = result.metadata?.exit;
      if (tool !== "bash" || !exit || subagents.has(sessionID)) return;
      const output = result.metadata.output ?? result.output;
      const context = await at("failure", sessionID, { command: args?.command, output });
      if (context !== "") result.output = `${result.output}\n\n${context}`;
    }),
    "experimental.session.compacting": safe(async ({ sessionID }, { context }) => {
      compacting.add(sessionID);
      const word = await at("summary", sessionID);
      if (word !== "") context?.push(word);
    }),
    // The summary is the next text that is completed: what is added to it is stored with it.
    "experimental.text.complete": safe(async ({ sessionID }, result) => {
      if (!compacting.delete(sessionID)) return;
      const context = await at("compaction", sessionID);
      if (context !== "") result.text = `${result.text}\n\n${context}`;
    }),
  };
};
