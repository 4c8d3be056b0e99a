/** What somebody else's text, file or program may cost: time in proportion, memory within bounds, and no waiting. */

import { describe, expect, test } from "bun:test";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { hostileTexts } from "./support/hostile.ts";
import { uuidFrom } from "./support/rows.ts";

const ID = uuidFrom("limits");

/** Writes a session in which a command prints each of these texts. */
function writePrinted(home: TemporaryHome, ...texts: string[]): string {
  const calls = texts.flatMap((content, i) => [
    ...claudeAssistant({ sessionId: ID, tools: [{ id: `t${i}`, name: "Bash", input: { command: "cat" } }] }),
    claudeToolResult({ sessionId: ID, toolUseId: `t${i}`, content: content.toWellFormed() }),
  ]);
  return writeClaude(home, {
    id: ID,
    rows: chain([claudeUser({ sessionId: ID, text: "print it" }), ...calls]),
  });
}

describe("an output twice as long takes at most twice the time and a bit:", () => {
  const repeated =
    ' |\t|\n|"|\'|`|[|(|{|<|\\|=|-|%|key=|password=|password: |"key":|://a:|eyJ|a=b; |{"a":|-----END '.split(
      "|",
    );
  const shapes = new Set(repeated.map((form) => JSON.stringify(form)));
  const texts = hostileTexts({ tokens: false }).filter(
    ({ name }) => shapes.has(name) || /^(?:random|base64|hexadecimal|digits)/.test(name),
  );

  test("the shapes are thirty and more", () => expect(texts.length).toBeGreaterThanOrEqual(30));

  test.each(texts)("$name", async ({ of }) => {
    using home = temporaryHome();
    const cost = async (length: number) => {
      writePrinted(home, of(length));
      const started = process.cpuUsage();
      await home.ok("session-reader", ID);
      const { user, system } = process.cpuUsage(started);
      return (user + system) / 1000;
    };
    // The least of several counts: others may be at work on the machine.
    let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    const isInProportion = () => many < 3 * Math.max(few, 40);
    for (let round = 0; round < 5 && !isInProportion(); round++) {
      many = Math.min(many, await cost(400_000));
      few = Math.min(few, await cost(200_000));
    }
    expect({ few, many, isInProportion: isInProportion() }).toMatchObject({ isInProportion: true });
  });
});
