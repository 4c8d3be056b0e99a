/**
 * Golden transcripts: what users type and exactly what is printed, a file for each subject, a section for each promise. A file
 * begins with its world (test/support/world.ts), `@fresh` with it anew; `2> ` begins a line of stderr, `[1]` is an exit code,
 * `~` is the home; `$ reply` gives a model its next answers, `$ sent` prints what it was sent. After a change to what is printed: `SESSION_MEMORY_TEST_UPDATE=1 bun test test/golden.test.ts`, and read
 * the difference.
 */

import { afterAll, afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerAsModel, serverPerFile } from "./support/fake-openai.ts";
import { replay } from "./support/golden.ts";
import { runScript } from "./support/run.ts";
import { emptyWorld, lay, type World, worldOf } from "./support/world.ts";

const FOLDER = join(import.meta.dir, "golden");
const server = serverPerFile({ dimensions: 8, replies: [answerAsModel] });
const isUpdate = Boolean(process.env.SESSION_MEMORY_TEST_UPDATE);

afterEach(() => setSystemTime());

for (const name of readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".txt"),
)) {
  const file = join(FOLDER, name);
  const [intro, ...sections] = readFileSync(file, "utf8").split(/^(?==== )/m);
  const begin = () => {
    const world = Object.assign(emptyWorld(server.baseUrl), { model: server });
    lay(world, worldOf(name.replace(".txt", "")));
    return world;
  };
  describe(name.replace(".txt", ""), () => {
    let world: World | undefined;
    for (const [at, section] of sections.entries()) {
      test(section.slice(4, section.indexOf("\n")), async () => {
        if (/^@fresh$/m.test(section)) world = world?.remove() as undefined;
        const there = world ?? begin();
        world = there;
        sections[at] = await replay(there, section, (...asked) => {
          setSystemTime(there.now);
          return runScript(...asked);
        });
        if (!isUpdate) expect(sections[at]).toBe(section);
      }, 60_000);
    }
    afterAll(() => {
      world?.remove();
      if (isUpdate) writeFileSync(file, [intro, ...sections].join(""));
    });
  });
}
