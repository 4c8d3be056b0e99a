/** Copies hold no secret that another message announces. What is printed of announced secrets: golden/secret-memory.txt. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { archivePlace } from "../lib/sessions/places.ts";
import { temporaryHome } from "./support/home.ts";
import { hostId, layHost, sayInOpencode } from "./support/hosts.ts";

test("copies of a host's database hold no secret that another message announces", async () => {
  using home = temporaryHome();
  const id = hostId("opencode");
  const bare = "try Wombat77Xy at the harbour gate";
  layHost(home, "opencode", "zebra", { words: { "Raise the zebra limit to 20, please": bare } });
  const copied = async () => {
    await home.ok("session-reader", "--list");
    return gunzipSync(readFileSync(`${archivePlace(home.paths, { agent: "opencode", id })}.gz`)).toString();
  };
  expect(await copied()).toContain(bare);
  sayInOpencode(home, id, 10, "DB_PASSWORD=Wombat77Xy");
  expect(await copied()).not.toContain("Wombat77Xy");
  sayInOpencode(home, id, 11, `again: ${bare}`);
  expect(await copied()).toContain("again: try [redacted:password] at the harbour gate");
});
