/**
 * session-memory in pi, loaded through the `pi` key of package.json. Does nothing with `SESSION_MEMORY_DISABLE=1`.
 *
 * pi has its extensions' TypeScript transpiled, about ninety files of ours: where the runtime itself strips types, it
 * imports them many times faster.
 */

import type { PiApi } from "./api.ts";

export default async function sessionMemory(pi: PiApi): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const { register } = await load();
  await register(pi);
}

async function load(): Promise<typeof import("./extension.ts")> {
  try {
    // Spelled so that no transpiler makes it its own import; Node strips no types under node_modules.
    const nativeImport = new Function("url", "return import(url)") as (url: string) => Promise<never>;
    return await nativeImport(new URL("./extension.ts", import.meta.url).href);
  } catch {
    return await import("./extension.ts");
  }
}
