/**
 * session-memory in pi, loaded through the `pi` key of package.json. Does nothing with `SESSION_MEMORY_DISABLE=1`.
 *
 * On Node pi transpiles its extensions' TypeScript file by file, seconds of work the first time: where the runtime itself
 * strips types, it imports them natively. It strips none under a node_modules: there the build is imported, if there is one.
 */

import type { PiApi } from "../api.ts";

type Extension = typeof import("../extension.ts");

export default async function sessionMemory(pi: PiApi): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const { register } = await load();
  await register(pi);
}

async function load(): Promise<Extension> {
  // The build loads ten times faster than files whose types are stripped. Bun strips none: it takes what is of this commit.
  const files = ["../../../dist/hooks/pi/extension.js", "../extension.ts"];
  for (const file of process.versions.bun ? files.reverse() : files) {
    try {
      return await nativeImport(new URL(file, import.meta.url).href);
    } catch {
      // no build, or no types stripped here
    }
  }
  // pi's transpiler hands out half a module to a second import while it loads: what several parts load at once comes first.
  await import("../../../lib/naming/session-meta.ts");
  await import("../../../lib/observe/observe-session.ts");
  return await import("../extension.ts");
}

/** Imports as the runtime does. In code that pi evaluates, `import()` is pi's own, or has no loader to call. */
function nativeImport(url: string): Promise<Extension> {
  const { constants, Script } = process.getBuiltinModule("node:vm");
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return new Script("(url) => import(url)", { importModuleDynamically }).runInThisContext()(url);
}
