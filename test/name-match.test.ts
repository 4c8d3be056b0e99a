import { expect, test } from "bun:test";
import { likeName, type Named } from "../lib/sessions/references.ts";

function named(...names: string[]): Named<string>[] {
  return names.map((name) => ({ item: name, names: [name] }));
}

test.each([
  ["words in any order", "test login", ["fix login test", "deploy"], ["fix login test"]],
  ["all words, not some", "login deploy", ["fix login test", "deploy"], []],
  ["whole words before beginnings", "log", ["log rotation", "login test"], ["log rotation"]],
  ["beginnings where no word is whole", "dep", ["deploy script", "login"], ["deploy script"]],
  ["no middle of a word", "ploy", ["deploy"], []],
  ["words beside punctuation", "login", ["fix: login, again", "deploy"], ["fix: login, again"]],
  ["scripts without spaces anywhere", "登录", ["修复登录测试", "部署"], ["修复登录测试"]],
  ["a letter changed", "deplpy", ["deploy", "login"], ["deploy"]],
  ["two letters that changed places", "deplyo", ["deploy", "replay"], ["deploy"]],
  ["the fewest mistakes", "fix login tets", ["fix login text", "fix login test"], ["fix login test"]],
  ["no mistake in a number", "deploy 3", ["deploy 1", "deploy 2"], []],
  ["no mistake in three letters", "abd", ["abc"], []],
  ["no more mistakes than a slip makes", "deploy", ["replan"], []],
  ["a single letter means nothing", "d", ["deploy"], []],
])("likeName() takes %s", (_, reference, names, expected) => {
  expect(likeName(reference, named(...names))).toEqual(expected);
});
