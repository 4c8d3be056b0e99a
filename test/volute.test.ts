/** A session that came with a clone, in pi. What commands and other hooks know of it: golden/volute.txt. */

import { expect, test } from "bun:test";
import { registerPrompt } from "../hooks/pi/extension.ts";
import { piHeader } from "./support/pi.ts";
import { piHost } from "./support/pi-host.ts";
import type { Row } from "./support/rows.ts";
import { emptyWorld, lay, worldOf } from "./support/world.ts";

test("pi's extension does not find it by a reference in a prompt", async () => {
  using world = emptyWorld();
  lay(world, worldOf("volute"));
  const host = await piHost(world, { rows: [piHeader({ cwd: world.project })], config: {} });
  registerPrompt(host.state);
  const { message } = (await host.emit("before_agent_start", { prompt: "as @@discord says" })) as Row;
  expect(message).toMatchObject({ customType: "session-reference", display: true });
  expect(JSON.stringify(message)).toContain("means no known session");
});
