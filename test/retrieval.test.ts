/** Questions on the committed transcripts. What words find: golden/search-words.txt; what filters leave: golden/search-options.txt. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hitJson, isStrong } from "../lib/search/hit.ts";
import { findHits } from "../lib/search/hits.ts";
import type { Store } from "../lib/store/store.ts";
import { OWN_QUESTIONS } from "./bench/search/own-questions.ts";
import { layFixtures, type TemporaryHome, temporaryHome } from "./support/home.ts";
import { HITS, indexHome, openHomeStore } from "./support/index.ts";

describe("on the committed transcripts", () => {
  let home: TemporaryHome;
  let store: Store;
  beforeAll(async () => {
    home = temporaryHome();
    const { plain } = layFixtures(home);
    store = openHomeStore(home);
    const transcripts = [home.paths.claude, home.paths.pi, home.paths.codex, plain];
    await indexHome({ ...home, paths: { ...home.paths, transcripts } }, store);
  });
  afterAll(() => {
    store.close();
    home.remove();
  });

  for (const { phrasings, session = "", holds } of OWN_QUESTIONS) {
    test(`${phrasings[0]}: ${holds ? `"${holds}"` : "nothing"}`, () => {
      const found = findHits(store, phrasings, { ...HITS, filter: { subagents: true } }).hits;
      const strong = found.filter(isStrong).map((hit) => hitJson(hit, HITS.style));
      if (!holds) return expect(strong.map(({ content }) => content)).toEqual([]);
      const isRight = ({ session_id, also_in, content }: (typeof strong)[number]) =>
        [session_id, ...also_in].includes(session) && content.includes(holds);
      expect(strong.slice(0, 3).some(isRight) || strong).toBe(true);
    });
  }
});
