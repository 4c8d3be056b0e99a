import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { standingSentences } from "../lib/language/standing.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { FIXTURES_FOLDER } from "./support/fixtures.ts";
import { temporaryHome, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

/** Laid down in so many words, as an instruction to the agent. */
const RULES = [
  "Next time you made changes to the code, let me commit.",
  "From now on, always run the linter before you commit.",
  "Never force-push to main.",
  "stop rewriting whole files, make small edits",
  "Please always write commit messages in English.",
  "Don't add co-author lines from now on.",
  "In future ask me before you install a package.",
  "Always use table-driven tests.",
  "Going forward, no em dashes in comments you post.",
  "You should never edit generated files.",
  "Never commit without asking me.",
  "From now on, deploy only when I say so.",
  "Here, never commit without asking me.",
  "From now on, here, use pnpm.",
  "Hier bitte immer zuerst die Tests laufen lassen.",
  "Next time the tests fail, show me the output first.",
  "Next time please run the tests before you say it is done",
  "Use pnpm from now on, npm breaks the lockfile.",
  "Every time you open a pull request, link the issue.",
  "Whenever you add a dependency, tell me why.",
  "Von nun an keine Kommentare mehr in den Tests.",
  "Ab jetzt bitte keine Emojis in Commit-Nachrichten.",
  "Immer zuerst die Tests laufen lassen.",
  "Désormais, utilise pnpm et pas npm.",
  "Toujours lancer les tests avant de committer.",
  "De ahora en adelante usa pnpm.",
  "Nunca hagas commit sin preguntar.",
  "A partir de agora use pnpm nos scripts.",
  "Всегда запускай тесты перед коммитом.",
  "以后请不要自动提交代码。",
  "今後はコミットする前に必ずテストを実行してください。",
  ...["Hi Claude, please never use semicolons.", "hello claude, always run lint", "Hi there, never push"],
  ...[
    "Good morning, never push to main",
    "Thanks Claude, from now on use bun.",
    "Hallo Claude, nie auf main pushen!",
  ],
  ...["今後はbunを使って", "次回は先に聞いて", "いつもテストを先に書いて", "必ずテストを実行して"],
  ...["从现在开始用 bun", "不要再用npm", "Denk daran, Tests zu schreiben"],
  ...[
    "Always leave a comment.",
    "Never log tokens.",
    "Always pin versions.",
    "Always be brief.",
    "Always do TDD",
  ],
  ...[
    "Please never be verbose.",
    "Never add dependencies",
    "Never push.",
    "From now on, when I say go, run tests",
  ],
];

/** The same words, and no rule for a later session. */
const LOOK_ALIKES = {
  asked: [
    "So from now on every time I commit the tool will link our chat to the commit?",
    "Should we always run the linter?",
    "can you always use pnpm from now on?",
    "From now on, do we push to main?",
  ],
  "of the program": [
    "invalid themes must NEVER explode",
    "it never works",
    "the url should always go to maps.example.org",
    "From now on the server always restarts by itself.",
    "Always return a 404 when the session is missing.",
    "Always show the banner on the start page.",
    "Always keep the header visible.",
    "Never delete the user's files.",
    ...[
      "Always show seconds",
      "Never open popups",
      "Always be null",
      "Always keep two backups",
      "Never break the loop",
    ],
    "From now on, when I click save, show a toast",
    "Never push notifications to muted users.",
    "Whenever you press save, show a toast.",
    "Each time you merge a branch, CI rebuilds everything.",
    "the linter always runs before you commit",
    "Siempre falla",
    "Всегда падает",
    "总是失败",
    ...["必ず失敗する", "いつもエラーになって", "今後はサーバーが遅くなって", "以后用户可以登录"],
    ...[
      "Hi Claude, the build never works",
      "Good morning, it always fails",
      "Denk daran, dass der Server langsam ist.",
    ],
    "Toujours la même erreur",
    "Immer noch kaputt",
    "Ab jetzt startet der Server automatisch.",
  ],
  quoted: [
    'Their guide says: "Always run the linter before you commit."',
    "> Always run the linter before you commit.\nwhat do you think of that?",
    "Use `always run the linter` as the title.",
    "He said always run the tests.",
    'Use the title "Tests, from now on" on the start page.',
  ],
  pasted: [
    "Their guide says:\nAlways run the linter before you commit.",
    "# Guidelines\n- Always run tests\n- Never push\nreview this",
    "1. Always run the tests\n2. Never push to main\n3. Ask me first\n4. go",
    `Implement the following plan. ${"It has many steps. ".repeat(70)}\nNever commit without asking me.`,
    "```\nNever commit without asking me.\n```\nis that in our hook?",
  ],
  "of this task": [
    "Don't commit this time.",
    "Never use this function in the parser.",
    "Never do that again.",
    "Always run it twice here.",
    "Here, always show the banner.",
    "Add the upload endpoint. Always validate input.",
    ...["不要再使用这个函数", "Denk daran, den Server neu zu starten."],
    "Here the linter never runs before a commit.",
    "don't commit",
  ],
  "of somebody": ["I always run the linter before I commit.", "Next time I'll do it myself.", "Never mind."],
};

describe("standingSentences()", () => {
  test("takes what is laid down in so many words, as it was written", () => {
    expect(RULES.filter((rule) => standingSentences(rule)[0] !== rule)).toEqual([]);
    expect(
      standingSentences("The login works now, thanks. From now on ask me before you commit. Now the tests."),
    ).toEqual(["From now on ask me before you commit."]);
  });

  const broken: [string, string[]][] = [
    ["Always run\nlint", ["Always run lint"]],
    ["Never push to\nmain, please. Fix it", ["Never push to main, please."]],
    [
      "From now on, please write all the commit messages of this project in\nplain words",
      ["From now on, please write all the commit messages of this project in plain words"],
    ],
    ["fix this\nfrom now on always\nrun lint", ["from now on always run lint"]],
    ["Always use\nthe proxy", []],
    ["never push\nthe build is red", ["never push"]],
    ["Never push\nFix the bug", ["Never push"]],
    ["and never push\nok thanks", ["and never push"]],
    ["never commit\nalways run lint", ["never commit", "always run lint"]],
  ];
  test.each(broken)("hears a rule whole, and no other line with it: %j", (message, rules) => {
    expect(standingSentences(message)).toEqual(rules);
  });

  for (const [kind, texts] of Object.entries(LOOK_ALIKES)) {
    test(`takes none that is ${kind}`, () => {
      expect(texts.flatMap((text) => standingSentences(text))).toEqual([]);
    });
  }
});

test("of natural sentences nine in ten that lay something down are kept, and of their look-alikes none", async () => {
  using home = temporaryHome();
  const { laidDown, lookAlikes } = await Bun.file(join(FIXTURES_FOLDER, "laid-down.json")).json();
  const keptOf = async (name: string, texts: readonly string[]) => {
    const context = { sessionId: uuidFrom(name), cwd: join(home.root, name) };
    const rows = texts.flatMap((text) => [
      claudeUser({ ...context, text }),
      claudeAssistant({ ...context, text: "Done." }),
    ]);
    writeClaude(home, { id: context.sessionId, cwd: context.cwd, rows });
    await home.ok("observe-compact", context.sessionId, "--observe", "--quiet");
    const { rules } = await home.json("rules", "--project", context.cwd);
    return rules.map(({ words }: { words: string }) => words);
  };
  expect(await keptOf("look-alikes", lookAlikes)).toEqual([]);
  const kept = new Set(await keptOf("laid-down", laidDown));
  const deaf = laidDown.filter(
    (text: string) => !kept.has(text) && ![...kept].some((words) => text.includes(`${words}`)),
  );
  expect(deaf.length).toBeLessThanOrEqual(laidDown.length / 10);
});
