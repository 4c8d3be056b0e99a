/**
 * The lived-in home from version to version: whatever opens it, in whatever order, and however often it is killed meanwhile,
 * no session is lost and nothing is paid for again. What each command prints there is in golden/lived-in.txt.
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, setSystemTime, test } from "bun:test";
import { join } from "node:path";
import { answerAsModel, serverPerFile } from "./support/fake-openai.ts";
import { checkOut, clockOf, command, layLivedIn, VERSION } from "./support/lived-in.ts";
import { ROOT, runScript } from "./support/run.ts";
import { emptyWorld, type World } from "./support/world.ts";

setDefaultTimeout(120_000);

const SKIPPED = `skipped: this clone's history does not hold ${VERSION}`;

/** Each session with words that only it holds. */
const HELD: Record<string, string> = {
  "a0000001-0000-4000-8000-000000000000": "installed async-mutex@0.5.0", // a copy: its transcript is gone
  "01a0b1c2-0000-7000-8000-0000000000a2": "DHL alone",
  "019bb000-0000-7000-8000-0000000000a4": "zebra quota exceeded",
  "b0000001-0000-4000-8000-000000000000": "ln -sfn /srv/shop.previous",
  "b0000002-0000-4000-8000-000000000000": "production waits for your word", // its fork
  "agent-b3": "every script that copies", // its subagent
  "b0000004-0000-4000-8000-000000000000": "Grey and a warm white", // the rest of it is forgotten
  ses_b6: "printer said ENOPRINT", // in opencode's database
  ses_b7: "The cart takes gift cards", // and no longer there
  "b8f0c2d4-0000-4000-8000-000000000000": "invoice numbers must not have gaps",
  ses_b9: "loses its focus on every key",
  "b000000a-0000-4000-8000-000000000000": "move it to Tuesday", // prompts alone
  "b000000b-0000-4000-8000-000000000000": "since the tray was filled", // of another machine
  "c0000001-0000-4000-8000-000000000000": "never put money into settings", // in the index alone
  "c0000002-0000-4000-8000-000000000000": "All names are cart now",
  "bob@laptop:d0000001-0000-4000-8000-000000000000": "never retry a refund",
  "bob@laptop:d0000002-0000-4000-8000-000000000000": "They answer at /hooks",
};
/** What nobody may be shown: forgotten by session and by words, excluded, a secret. */
const KEPT_OUT = /quetzal offers|NIGHTJAR-7|slept late|ghp_0123/;

const server = serverPerFile({ dimensions: 8, replies: [answerAsModel] });
let world: World;
beforeEach(() => {
  world = emptyWorld(server.baseUrl);
  layLivedIn(world);
});
afterEach(() => {
  setSystemTime();
  world.remove();
});

type Run = (name: string, ...args: string[]) => Promise<string>;

/** Returns what runs the scripts of a checkout. */
function runner(checkout: string): Run {
  return async (name, ...args) => {
    setSystemTime(world.now);
    const options = { env: world.env, cwd: world.project };
    return (await runScript(join(checkout, "scripts", `${name}.ts`), args, options)).stdout;
  };
}
const present: Run = (...asked) => runner(ROOT)(...asked);

/** Returns which of the sessions are read, listed and found whole; `KEPT_OUT` what should have stayed out. */
async function lookAt(run: Run): Promise<Record<string, string>> {
  const { sessions } = JSON.parse(
    await run("session-reader", "--list", "-n", "100", "--subagents", "--json"),
  );
  const listed = sessions.map(({ id }: { id: string }) => id).join(" ");
  const seen: Record<string, string> = {};
  for (const [id, words] of Object.entries(HELD)) {
    const read = await run("session-reader", id, "--tools");
    const found = await run("search", words, "--subagents", "--json");
    const isFound = JSON.parse(found).results.some((hit: { session_id: string }) =>
      id.endsWith(hit.session_id),
    );
    const [kept] = KEPT_OUT.exec(read + found) ?? [];
    seen[id] =
      kept ??
      [read.includes(words) && "read", listed.includes(id) && "listed", isFound && "found"]
        .filter(Boolean)
        .join();
  }
  return seen;
}

const ALL = Object.fromEntries(
  Object.keys(HELD).map((id) => [id, id.startsWith("bob") ? "read,found" : "read,listed,found"]),
);
/** What only its index holds the earlier version lists nowhere. */
const ALL_BEFORE = { ...ALL, "c0000001-0000-4000-8000-000000000000": "read,found" };
/** What was asked of the embedder and the model besides the questions of a search. */
const paidFor = () => [
  ...server.embeddedTexts().filter((text) => !Object.values(HELD).includes(text)),
  ...server.chats(),
];

test(`every session of it is listed, read and found, back in ${VERSION} and here again too; nothing is paid for again`, async () => {
  const checkout = checkOut(join(world.root, VERSION));
  if (checkout === undefined) console.error(SKIPPED);
  const before = checkout && runner(checkout);
  await present("embed", "--quiet"); // what it shows then is in golden/lived-in.txt
  for (const run of before ? [before, present] : [present]) {
    await run("embed", "--quiet");
    expect(await lookAt(run)).toEqual(run === before ? ALL_BEFORE : ALL);
  }
  expect(paidFor()).toEqual([]);
});

test("stores that are rewritten, killed at any moment and rewritten again, hold every session", async () => {
  const config = JSON.parse(await Bun.file(world.paths.config).text());
  world.configure({ ...config, redact: { extra: ["staging\\.example"] } });
  const rewriting = [...command(ROOT), join(ROOT, "scripts", "embed.ts"), "--quiet"];
  for (const ms of [60, 120, 180, 260, 400]) {
    const child = Bun.spawn(rewriting, {
      env: clockOf(world),
      cwd: world.project,
      stdout: "ignore",
      stderr: "ignore",
    });
    await Bun.sleep(ms);
    child.kill("SIGKILL");
    await child.exited;
  }
  await present("embed", "--quiet");
  expect(await lookAt(present)).toEqual(ALL);
  expect(await present("session-reader", "b0000001", "--tools")).toContain(
    "refused by [redacted:custom] port 22",
  );
});
