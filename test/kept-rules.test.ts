/** Rules that an agent of each host keeps at its user's word (what else --add takes and --drop ends: golden/rules.txt). */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { type TemporaryHome, temporaryHome } from "./support/home.ts";
import { hostId, layHost } from "./support/hosts.ts";

setDefaultTimeout(30_000);

const RULE = "never use port 8080 in this project";
const SAID = `it is taken, so ${RULE}`;
const KEPT = `kept for this project: "${RULE}" · session-memory rules\n`;

/** Writes a session of a host in which the user said it; returns its id. */
function say(home: TemporaryHome, agent: string): string {
  const [cwd, id] = [home.project, hostId(agent, "caller")];
  layHost(home, agent, "zebra", { id, cwd, words: { "Raise the zebra limit to 20, please": SAID } });
  return id;
}

describe("rules --add keeps the user's own words", () => {
  for (const { agent, idVariable } of HOSTS)
    test(`in ${agent}, ${idVariable ? "whose variable names the session" : "found by the newest typed row"}`, async () => {
      using home = temporaryHome();
      const id = say(home, agent);
      if (idVariable) home.env[idVariable] = id;
      expect(await home.ok("rules", "--add", `  ${RULE.toUpperCase()} `)).toBe(KEPT);
      expect(await home.ok("rules", "--add", `"${RULE}"`)).toBe(
        KEPT.replace("kept for this project", "already kept"),
      );
      const { rules } = await home.json("rules");
      expect(rules).toMatchObject([
        { words: RULE, origin: "agent", line: expect.any(Number), session: { id }, dropped: false },
      ]);
      await home.ok("observe-compact", id, "--observe", "--quiet");
      expect((await home.json("rules")).rules).toEqual(rules);
    });
});
