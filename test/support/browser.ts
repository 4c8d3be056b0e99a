/** Pages in a headless Chromium, where one is installed: how wide they are. */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  existsSync,
);

export function hasChromium(): boolean {
  return CHROMIUM !== undefined;
}

interface Browser {
  /** Shows a page at a width in CSS pixels and returns by how many its content is wider. */
  overflowAt(url: string, width: number): Promise<number>;
  close(): Promise<void>;
}

interface Answer {
  id?: number;
  method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the protocol's own shapes
  result?: any;
}

/** Starts a browser without network services; it is told what to do by its DevTools protocol. */
export async function startBrowser(): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), "session-memory-browser-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const child = Bun.spawn(
    [CHROMIUM ?? "", ...flags, ...quiet, `--user-data-dir=${profile}`, "--remote-debugging-port=0"],
    { stderr: "pipe", stdout: "ignore", env: { PATH: process.env.PATH, HOME: profile } },
  );
  const port = await listeningPort(child.stderr);
  const pages = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    type: string;
    webSocketDebuggerUrl: string;
  }[];
  const socket = new WebSocket(pages.find(({ type }) => type === "page")?.webSocketDebuggerUrl ?? "");
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
  const waiting = new Map<number | string, (answer: Answer) => void>();
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    const key = answer.id ?? answer.method ?? "";
    waiting.get(key)?.(answer);
    waiting.delete(key);
  });
  const next = (key: number | string) => new Promise<Answer>((resolve) => waiting.set(key, resolve));
  let id = 0;
  const send = (method: string, params: object = {}) => {
    socket.send(JSON.stringify({ id: ++id, method, params }));
    return next(id);
  };
  await send("Page.enable");
  return {
    async overflowAt(url, width) {
      const size = { width, height: 900, deviceScaleFactor: 1, mobile: false };
      await send("Emulation.setDeviceMetricsOverride", size);
      const loaded = next("Page.loadEventFired");
      await send("Page.navigate", { url });
      await loaded;
      const expression = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
      return (await send("Runtime.evaluate", { expression })).result.result.value;
    },
    async close() {
      socket.close();
      child.kill();
      await child.exited;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

async function listeningPort(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const part of stderr) {
    text += Buffer.from(part).toString("utf8");
    const port = /ws:\/\/127\.0\.0\.1:(\d+)\//.exec(text)?.[1];
    if (port) return port;
  }
  throw new Error(`Chromium did not start:\n${text}`);
}
