import { expect, test } from "bun:test";
import { editDistance } from "../lib/base/text.ts";
import { foldName, likeName, type Named, nearest } from "../lib/sessions/references.ts";

function named(...names: string[]): Named<string>[] {
  return names.map((name) => ({ item: name, names: [name] }));
}

test("foldName() makes case, hyphens, underscores, spaces and character width equal", () => {
  const forms = [
    "Fix Login-Test",
    "fix_login_test",
    "  FIX   login\ttest ",
    "ｆｉｘ login test",
    "fix--login__test",
  ];
  expect(forms.map(foldName)).toEqual(Array(forms.length).fill("fix login test"));
  expect(foldName("Gro\u0308ße")).toBe(foldName("GRÖßE"));
});

test("foldName() keeps names apart that differ in more", () => {
  const names = ["fix login", "fix login tests", "a fix login test", "deploy 2", "deploy 3", "e", "é"];
  expect(new Set(names.map(foldName)).size).toBe(names.length);
  expect(["É", "E\u0301"].map(foldName)).toEqual(["é", "é"]);
  expect(["", "-", " _ "].map(foldName)).toEqual(["", "", ""]);
});

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

test("likeName() counts something with several fitting names once", () => {
  const all = [{ item: 1, names: ["login test", "the login test"] }];
  expect(likeName("login", all)).toEqual([1]);
});

test("nearest() gives the most letters in common first, and always as many as there are", () => {
  const all = named("weekly report", "fix login test", "login page", "deploy");
  expect(nearest("the login tset", all, 3).slice(0, 2)).toEqual(["fix login test", "login page"]);
  expect(nearest("zzz", named("a", "b"), 3)).toEqual(["a", "b"]);
  expect(nearest("", named("a"), 3)).toEqual(["a"]);
});

test("editDistance() counts a swap of neighbours once, and is a distance otherwise", () => {
  expect([editDistance("ab", "ba"), editDistance("abc", "acb"), editDistance("kitten", "sitting")]).toEqual([
    1, 1, 3,
  ]);
  expect([editDistance("", "abc"), editDistance("abc", ""), editDistance("same", "same")]).toEqual([3, 3, 0]);
});
