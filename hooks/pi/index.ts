/**
 * session-memory in pi, loaded through the `pi` key of package.json. Does nothing with `SESSION_MEMORY_DISABLE=1`.
 *
 * pi has its extensions' TypeScript transpiled, file by file: where the runtime itself strips types, it imports them many
 * times faster. Under a node_modules Node strips none: there it imports the build, if there is one.
 */

import type { PiApi } from "./api.ts";

/** Spelled so that no transpiler makes it its own import. */
const nativeImport = new Function("url", "return import(url)") as (
  url: string,
) => Promise<typeof import("./extension.ts")>;

export default async function sessionMemory(pi: PiApi): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const { register } = await load();
  await register(pi);
}

async function load(): Promise<typeof import("./extension.ts")> {
  for (const file of ["./extension.ts", "../../dist/hooks/pi/extension.js"]) {
    try {
      return await nativeImport(new URL(file, import.meta.url).href);
    } catch {
      // no types stripped here, or no build
    }
  }
  // pi's transpiler hands out half a module to a second import while it loads: what several parts load at once comes first.
  await import("../../lib/naming/session-meta.ts");
  await import("../../lib/observe/session-memory.ts");
  return await import("./extension.ts");
}
