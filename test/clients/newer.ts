/**
 * Says which clients have a newer version than the one that their tests last passed with, by the registry that npm is configured
 * with; nothing of a client that it cannot ask for. Run behind the tests of `npm run test:clients`.
 */

import { CLIENTS, type Client, nameOf } from "./install.ts";

/** Without a network npm tries for minutes. */
const ASK_MS = 15_000;

/** Returns the version that npm installs of a package; undefined where it cannot say. */
async function latestOf(name: string): Promise<string | undefined> {
  try {
    const asked = Bun.spawn(["npm", "view", name, "version"], {
      stdout: "pipe",
      stderr: "ignore",
      timeout: ASK_MS,
    });
    const version = (await new Response(asked.stdout).text()).trim();
    return (await asked.exited) === 0 && /^\d+\.\d+\.\d+$/.test(version) ? version : undefined;
  } catch {
    return undefined; // there is no npm
  }
}

function isNewer(version: string, than: string): boolean {
  const [parts, others] = [version, than].map((each) => each.split(".").map(Number));
  const differing = parts?.findIndex((part, i) => part !== others?.[i]) ?? -1;
  return differing !== -1 && (parts?.[differing] ?? 0) > (others?.[differing] ?? 0);
}

async function newerLine(client: Client): Promise<string[]> {
  const [, name = "", tested = ""] = /^(.+)@(.+)$/.exec(client.packages[0] ?? "") ?? [];
  const latest = await latestOf(name);
  return latest !== undefined && isNewer(latest, tested)
    ? [`newer than what was tested: ${nameOf(client)}: ${name} ${tested} → ${latest}`]
    : [];
}

const current = Object.values(CLIENTS as Record<string, Client>).filter(({ isOld }) => !isOld);
for (const line of (await Promise.all(current.map(newerLine))).flat()) console.log(line);
