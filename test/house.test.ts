/** How large the house may be: a commit that makes a room heavier raises its figure, and says why. */

import { expect, test } from "bun:test";
import { listGrown } from "./bench/house.ts";

test("no room is heavier than its figure in bench/house.json", () => {
  expect(listGrown()).toEqual([]);
});
