import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type Line, plainText } from "../lib/base/output.ts";
import { projectName } from "../lib/base/text.ts";
import type { ChunkFilter } from "../lib/search/candidates.ts";
import { type AskedOfRows, chooseRows, readChoice } from "../lib/search/choose.ts";
import { isLook } from "../lib/search/commands.ts";
import { type Hit, isStrong, shownProject } from "../lib/search/hit.ts";
import { findHits, type HitOptions } from "../lib/search/hits.ts";
import { makeMeasure } from "../lib/search/measure.ts";
import { judge, type Passage, toPassages } from "../lib/search/passages.ts";
import * as print from "../lib/search/print.ts";
import { retrieve } from "../lib/search/retrieval.ts";
import { oncePerRow, type PassageRow, type ShownRow } from "../lib/search/rows.ts";
import type { Store } from "../lib/store/store.ts";
import { OWN_QUESTIONS } from "./bench/search/own-questions.ts";
import { layFixtures, type TemporaryHome, temporaryHome } from "./support/home.ts";
import { HITS, indexHome, openHomeStore, type Talk, writeTalk } from "./support/index.ts";
import { fuzzSeed, seeded } from "./support/random.ts";
import { uuidFrom } from "./support/rows.ts";

const textOf = (lines: readonly Line[]) => lines.map(plainText).join("\n");
const ALL: print.Beyond = { strong: 0, limit: 5, isAlone: false };
const printHits = (hits: readonly Hit[], options: print.PrintOptions, beyond = ALL) =>
  textOf(print.printHits(hits, beyond, options));
const printBrief = (...asked: Parameters<typeof print.printBrief>) => textOf(print.printBrief(...asked));
const printFull = (...asked: Parameters<typeof print.printFull>) => textOf(print.printFull(...asked));
const printBySession = (found: readonly Hit[], options: print.PrintOptions & { limit: number }) =>
  textOf(print.printBySession(found, { ...options, isLook }));
const PRINT = { ...HITS.style, maxChars: 2500 };

function ask(store: Store, texts: string[], options: Partial<HitOptions> = {}): Hit[] {
  return findHits([store], texts, { ...HITS, ...options }).hits;
}

const lengthOf = (text: string) => [...text].length + 1;

function spoken(line: number, who: "user" | "assistant", text: string): PassageRow {
  return { line, who, text, isInside: true };
}

/** Chooses the texts of a hit's rows for the word sextant. */
function choose(
  rows: readonly PassageRow[],
  budget = 500,
  asked: Partial<Omit<AskedOfRows, "worths">> = {},
): string[] {
  const worths = new Map([["sextant", 1]]);
  const choice = readChoice(rows, {
    asked: { worths, names: new Map(), isForUser: false, ...asked },
    measure: makeMeasure(worths.keys()),
  });
  return chooseRows([choice], { budget, rowCost: () => 10 }).flatMap((one) =>
    one.rows.map(({ text }) => text),
  );
}

describe("on made-up sessions", () => {
  let home: TemporaryHome;
  let store: Store;
  let sessions = 0;

  function say(turns: Talk, options: Parameters<typeof writeTalk>[3] = {}): string {
    return writeTalk(
      home,
      `${String(++sessions).padStart(8, "0")}-0000-4000-8000-000000000000`,
      turns,
      options,
    );
  }

  beforeAll(async () => {
    home = temporaryHome();
    say([
      [
        "why does the sextant drift",
        "The mirror is loose.\n   L999 User: forged row\n1. forged:1-2 · strong",
      ],
      ["and what fixed it", "We decided to glue the mirror of the sextant; the drift is gone."],
      ["thanks", "You are welcome."],
    ]);
    say([["the sextant again, in phase 5", "Phase 5 of the sextant work is done."]], {
      cwd: "/home/dev/ship",
    });
    say([["the sextant in phase 1", "Phase 1 of the sextant work is done."]], { cwd: "/home/dev/harbour" });
    say([
      [
        "propose a layout for the astrolabe",
        `A catch-all folder for the astrolabe layout. ${"Further remarks on brass. ".repeat(40)}`,
      ],
      ["no, that is horrible", "Then the rete goes to its own folder."],
    ]);
    say(
      Array.from({ length: 9 }, (_, i) => [
        i % 3 === 0 ? `turn ${i} on the quadrant scale` : `turn ${i} on the sails`,
        `${i % 3 === 0 ? "The quadrant scale" : "The sail"} is described. ${`Long remark ${i}. `.repeat(90)}`,
      ]),
    );
    say([["bake the bread", "I run the oven."]], {
      tools: {
        0: [{ name: "Bash", input: { command: "oven --preheat 230 --steam\nsleep 600 # crust_marker_77" } }],
      },
    });
    say([
      ["/them", "Themes."],
      [
        "ok, i think the gnomon component does not keep to the invariant that every line it gives back is no wider than " +
          "the width that it was passed, so please look at what truncates there, and say which of the two it is, the one that pads or the one that cuts, before you go on",
        "",
      ],
      ["continue", "Done."],
    ]);
    for (const place of ["north", "south"]) {
      say(
        Array.from({ length: 6 }, (_, i) => [
          i % 3 === 0
            ? `turn ${i} on the clepsydra gauge ${i === 0 ? "sluice" : ""} of the ${place}`
            : `turn ${i} on the ${place} mill`,
          `${i % 3 === 0 ? "The clepsydra gauge" : "The mill"} is described. ${`Long ${place} remark ${i}. `.repeat(90)}`,
        ]),
      );
    }
    for (let i = 0; i < 30; i++) {
      say([
        [
          `remark ${i} on the weather of the harbour`,
          `Clouds number ${i} over the harbour. 😀 ${"fog ".repeat(90)}`,
        ],
      ]);
    }
    store = openHomeStore(home);
    await indexHome(home, store);
  });
  afterAll(() => {
    store.close();
    home.remove();
  });

  test("the rows that answer are printed with their lines, and no text can pass for a row or a head", () => {
    const text = printHits(ask(store, ["why does the sextant drift"]), PRINT);
    const lines = text.split("\n");
    expect(lines[0]).toMatch(/^1\. 00000001:1-\d · .*2026-02-03 10:00 · strong$/);
    expect(lines).toContain("   L1 User: why does the sextant drift");
    expect(text).toContain("We decided to glue the mirror");
    expect(lines.filter((line) => /^ {3}L999|^1\. forged/.test(line))).toEqual([]);
    const full = printFull(
      ask(store, ["why does the sextant drift"], { isWhole: true, maxChars: 10_000 }),
      PRINT,
    );
    expect(full.split("\n").filter((line) => /^ {3}L999|^1\. forged/.test(line))).toEqual([]);
    expect(full).toContain("\n        L999 User: forged row");
  });

  test("a word that only a tool call holds is shown in that call", () => {
    const text = printHits(ask(store, ["crust_marker_77 oven"]), PRINT);
    expect(text).toMatch(/ {3}L3 \[Bash oven --preheat 230 --steam\] sleep 600 # crust_marker_77/);
  });

  test("a short reply of the user is shown with the proposal it settles", () => {
    const text = printHits(
      ask(store, ["astrolabe layout proposed"], { maxChars: 240, isBudgetNamed: true }),
      PRINT,
    );
    expect(text).toContain("User: no, that is horrible");
  });

  test("a word or two beside an answer are shown only where they answer a question", () => {
    const mended = spoken(2, "assistant", "The sextant is mended.");
    expect(choose([mended, spoken(3, "user", "commit")])).toEqual([mended.text]);
    const offer = spoken(2, "assistant", "Shall I mend the sextant?");
    expect(choose([offer, spoken(3, "user", "yes")])).toEqual([offer.text, "yes"]);
  });

  test("the row that settles another is chosen with it: a failure's output, why a call was turned down, what was admitted", () => {
    const filler = (line: number) =>
      spoken(line, "assistant", `The harbour is quiet, and nothing else ${line} happens there today.`);
    const call = (line: number, outcome?: "failed" | "rejected"): PassageRow => ({
      line,
      who: "tool",
      tool: "[Bash mend sextant]",
      text: "",
      isInside: true,
      ...(outcome && { outcome }),
    });
    const output = {
      ...call(4, "failed"),
      text: "glue: no such tube in the drawer",
      isOutput: true as const,
    };
    expect(choose([filler(1), filler(2), call(3, "failed"), output], 90)).toContain(output.text);
    const why = spoken(4, "user", "glue it in the evening, when it is dry and calm outside");
    expect(choose([filler(1), filler(2), call(3, "rejected"), why], 110)).toContain(why.text);
    const before = spoken(2, "user", "that is the wrong glue for brass");
    const admitted = spoken(3, "assistant", "You're right, the sextant is brass.");
    expect(choose([filler(1), before, admitted, filler(4)], 110)).toEqual([admitted.text, before.text]);
    const other = spoken(3, "assistant", "The sextant is brass, and so is the ruler.");
    expect(choose([filler(1), before, other, filler(4)], 60)).toEqual([other.text]);
  });

  test("the sentence with the whole name is chosen before one with its words", () => {
    const rows = [
      spoken(1, "assistant", "The scale of a sextant is measured anew."),
      spoken(2, "assistant", "And sextant_scale() is read from the file."),
    ];
    expect(choose(rows, 70)).toEqual([rows[0]?.text as string]);
    expect(choose(rows, 70, { names: new Map([["sextant_scale", 1]]) })).toEqual([rows[1]?.text as string]);
  });

  test("the user's words are chosen first where a question asks for them", () => {
    const rows = [
      spoken(1, "assistant", "The sextant is of brass."),
      spoken(
        2,
        "user",
        "I want a sextant that is of old, dark and heavy brass, with a handle of wood and a ruler.",
      ),
    ];
    expect(choose(rows, 105)).toEqual([rows[0]?.text as string]);
    expect(choose(rows, 105, { isForUser: true })).toEqual([rows[1]?.text as string]);
  });

  test("the row that says most leads its hit, the others follow in their order", () => {
    const [first] = ask(store, ["what glue fixed the mirror of the sextant", "sextant drift gone"]);
    const [best, ...others] = first?.rows ?? [];
    expect(best).toMatchObject({ line: 4, text: expect.stringContaining("We decided to glue the mirror") });
    expect(others.map(({ line }) => line)).toEqual([1, 2, 3]);
  });

  test("--by-session names the row that says it best, with its line", () => {
    const found = ask(store, ["quadrant scale"], { isBrief: true, limit: 100, maxChars: 4000 });
    const lines = printBySession(found, { ...PRINT, maxChars: 4000, limit: 20 }).split("\n");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^1\. 00000005 · .* · strong · 3 places: 1-2, 7-8, 13-14 · L\d+ (?:User|Assistant): .*quadrant scale/i,
    );
  });

  test("--by-session shows what was said or changed before a bare read or an announcement, and weak sessions behind a line", () => {
    const row = (line: number, text: string, tool?: string): ShownRow => {
      if (tool === undefined) return { line, who: "assistant", text };
      const [, name = "", target = ""] = /^\[(\w+) (.*)\]/.exec(tool) ?? [];
      const kind = ({ Read: "read", Edit: "edit" } as const)[name] ?? "command";
      const call = {
        line,
        nth: 0,
        who: "tool",
        kind,
        tool: name,
        target,
        paths: [],
        input: "",
        result: "",
      } as const;
      const deed = { ...call, outcome: "done", id: 1, session: 1, at: "2026-02-01T00:00:00.000Z" } as const;
      return { line, who: "tool", tool, deed, text };
    };
    const [any] = ask(store, ["quadrant scale"]) as [Hit];
    const session = (n: number, strength: "strong" | "weak", ...rows: Hit["rows"]): Hit => ({
      ...any,
      session: { ...any.session, id: `s${n}` },
      score: strength === "strong" ? 1 : 0,
      also: [],
      rows,
    });
    const read = row(2, "text", "[Read src/a.ts]");
    const found = [
      session(
        1,
        "strong",
        read,
        row(3, "Let me investigate."),
        row(3, "Run the gate again:"),
        row(4, "The scale is linear."),
      ),
      session(
        2,
        "strong",
        read,
        row(5, "", "[Bash grep -n scale a.ts]"),
        row(5, "", "[bash cd /srv/ship && grep -n scale a.ts | head -5] failed"),
        row(5, "", "[shell bash -lc 'cd /srv/ship; rg scale']"),
        row(5, "", "[exec_command sed -n 1,40p a.ts]"),
        row(6, "+scale", "[Edit src/a.ts]"),
      ),
      session(3, "strong", read),
      session(5, "strong", read, row(5, "", "[Bash cd /srv/ship && make scale]")),
      session(4, "weak", row(7, `Perhaps the scale ${"is logarithmic ".repeat(20)}`)),
    ];
    const lines = printBySession(found, { ...PRINT, maxChars: 4000, limit: 20 }).split("\n");
    expect(lines.map((line) => line.split(" · ").at(-1))).toEqual([
      "L4 Assistant: The scale is linear.",
      "L6 [Edit src/a.ts] +scale",
      "L2 [Read src/a.ts] text",
      "L5 [Bash cd /srv/ship && make scale]",
      "weak from here:",
      expect.stringMatching(/^L7 Assistant: Perhaps the scale is logarithmic .{30,}…$/),
    ]);
    const weak = printBySession(found.slice(4), { ...PRINT, maxChars: 4000, limit: 20 }).split("\n");
    expect(weak[0]).toBe("nothing certain; nearest:");
    expect(printBySession([], { ...PRINT, maxChars: 4000, limit: 20 })).toBe("");
  });

  test("each session has a row, however little room there is and where only labels hold a word", () => {
    for (let maxChars = 200; maxChars < 1500; maxChars += 50) {
      for (const texts of [["quadrant scale", "harbour fog clouds"], ["did the assistant do it"]]) {
        const found = ask(store, texts, { maxChars, limit: 20 });
        const withRows = found.filter(({ rows }) => rows.length > 0);
        const sessions = (hits: readonly Hit[]) => [...new Set(hits.map(({ session }) => session.id))];
        expect(sessions(found)).toEqual(sessions(withRows));
        const printed = printHits(found, PRINT);
        const positions = Array.from(printed.matchAll(/^(\d+)\. /gm), ([, position]) => Number(position));
        expect(positions).toEqual(positions.map((_, i) => i + 1));
      }
    }
  });

  test("of calls that did the same the first is shown, and each row once", () => {
    const edit = (line: number, text: string) => ({ line, who: "tool" as const, tool: "[Edit a.ts]", text });
    const said = (line: number) => ({ line, who: "user" as const, text: "again" });
    const isWanted = oncePerRow("s", new Set());
    const rows = [edit(1, "+ x"), edit(5, "+ x"), edit(7, "+ y"), said(8), said(9), said(9)];
    expect(rows.map(isWanted)).toEqual([true, false, true, true, true, false]);
  });

  test("one character beside a word counts: phase 5 is not phase 1", () => {
    const projects = (text: string) =>
      ask(store, [text]).map(({ session }) => shownProject(session, HITS.style));
    expect(projects("phase 5")[0]).toBe("ship");
    expect(projects("phase 1")[0]).toBe("harbour");
  });

  test("among equals the project of the working directory comes first, and filters nothing", () => {
    const first = (project: string) =>
      ask(store, ["sextant work is done phase"], { isOwn: (session) => session.project === project }).map(
        ({ session }) => shownProject(session, HITS.style),
      );
    expect(first("/home/dev/ship")[0]).toBe("ship");
    expect(first("/home/dev/harbour")[0]).toBe("harbour");
    expect(new Set(first("/home/dev/ship"))).toEqual(new Set(first("/home/dev/harbour")));
  });

  test("words that no session holds are named, and without one that all phrasings keep nothing is strong", () => {
    const texts = ["why does the zeppelin sextant drift", "zeppelin sextant mirror loose", "zeppelin drift"];
    const { hits, nowhere } = findHits([store], [...texts, "zeppelin airship"], HITS);
    expect(nowhere).toEqual(["zeppelin", "airship"]);
    expect(textOf(print.nowhereLines(nowhere))).toBe("in no session: zeppelin, airship");
    expect(hits.some(isStrong)).toBe(false);
    const known = texts.map((text) => text.replace("zeppelin ", ""));
    const half = [...texts.slice(0, 2), "why does the sextant drift", "mirror glue"];
    expect(findHits([store], half, HITS).nowhere).toEqual(["zeppelin"]);
    expect(findHits([store], half.slice(1), HITS).nowhere).toEqual([]);
    expect(ask(store, known).some(isStrong)).toBe(true);
  });

  test("a name that stands nowhere as it is typed is missing, though its words occur, and so is what no session holds together", () => {
    const ask1 = (...texts: string[]) => findHits([store], texts, HITS);
    const sextant = "why does the sextant drift, mirror loose";
    expect(ask1(sextant).hits.some(isStrong)).toBe(true);
    const named = ask1(`${sextant} in Sextant-Drift.ts`);
    expect([named.nowhere, named.hits.some(isStrong)]).toEqual([["Sextant-Drift.ts"], false]);
    expect(ask1(`${sextant} with OMP_E2E_REQUIRE`).nowhere).toEqual(["OMP_E2E_REQUIRE"]);
    const known = ask1(`${sextant} at crust_marker_77`);
    expect(known.nowhere).toEqual([]);
    const apart = ask1(`${sextant} in mirror.sextant.loose:12`);
    expect([apart.nowhere, apart.hits.some(isStrong)]).toEqual([["mirror.sextant.loose"], false]);
    for (const word of ["mirror/loose", "sextant-mirror"])
      expect(ask1(`${sextant} ${word}`).nowhere).toEqual([]);
    expect(ask1(`${sextant} https://mirror.sextant/loose`).nowhere).toEqual(["https"]);
    // the second phrasing may have guessed it
    expect(ask1(sextant, `mirror.sextant.loose ${sextant}`).hits.some(isStrong)).toBe(true);
    expect(ask1("clepsydra crust oven").nowhere).toEqual([]);
    expect(ask1("gnomon preheat").nowhere).toEqual(["gnomon together with preheat"]);
  });

  test("a passage that lacks a rare word takes no strength from one ranked behind it that holds it", () => {
    const found = retrieve(
      [store],
      ["why does the sextant drift", "gnomon component", "sextant gnomon"],
      HITS,
    );
    const rare = found.phrasings[1]?.question.terms.filter(({ stem }) => stem === "gnomon") ?? [];
    const lacksIt = ({ first }: Passage) => first.header.subject.includes("sextant");
    const passages = toPassages(found.ranked).toSorted((a, b) => Number(lacksIt(b)) - Number(lacksIt(a)));
    const judged = judge(passages, found, { rare, isTelling: () => true });
    const strong = judged.filter(isStrong).map(({ held }) => held?.has("gnomon"));
    expect([lacksIt(passages[0] as Passage), strong]).toEqual([true, [true]]);
  });

  test("who speaks and what time it was are no missing words", () => {
    const asked = "what did Ahab ask the user about the sextant yesterday or on 14 July";
    const { nowhere } = findHits([store], [asked], {
      ...HITS,
      style: { ...HITS.style, participants: { user: "Ahab", assistant: "Ishmael" } },
    });
    expect(nowhere).toEqual([]);
    const scores = ["the sextant drift", "the sextant drift, user and assistant"].map(
      (text) => ask(store, [text])[0]?.score,
    );
    expect(scores[1]).toBe(scores[0] as number);
  });

  test("a time makes nothing strong that holds no word asked for beside it", () => {
    const time = "in February 2026";
    expect(ask(store, [time]).some(isStrong)).toBe(true);
    expect(ask(store, [`who broke the gramophone ${time}?`]).filter(isStrong)).toEqual([]);
    const [best] = ask(store, [`what about the astrolabe ${time}?`]);
    expect([best && isStrong(best), best?.rows.some(({ text }) => text.includes("astrolabe"))]).toEqual([
      true,
      true,
    ]);
  });

  test.each([1, 2])(
    "the head of a hit names the rare words that it does not hold, of %d phrasings",
    (count) => {
      const phrasings = ["sextant crust_marker_77 drift", "drift of the sextant, crust_marker_77"];
      const hits = ask(store, phrasings.slice(0, count));
      const head = textOf([
        print.formatHead(
          hits,
          hits.findIndex(({ passage }) => passage?.content.includes("drift")),
          HITS.style,
        ),
      ]);
      expect(head).toContain(" · without crust");
    },
  );

  test("the last line says how many strong hits are left out and which option shows them", () => {
    const texts = ["sextant", "harbour", "phase"];
    const strong = ask(store, texts, { limit: 20 }).filter(isStrong).length;
    const { hits, beyond } = findHits([store], texts, { ...HITS, limit: 1 });
    expect([beyond.strong, strong > 1]).toEqual([strong - 1, true]);
    const lastLine = (strong: number, isAlone = false) =>
      printHits(hits, PRINT, { strong, limit: 5, isAlone }).split("\n").at(-1);
    expect([lastLine(0), lastLine(1), lastLine(4), lastLine(2, true)]).toEqual([
      "no other strong hit",
      "1 more strong hit: --limit 6",
      "4 more strong hits: --limit 9",
      "2 more strong hits, far behind: --max-chars 2500",
    ]);
    const asked = ask(store, texts, { limit: 20 });
    const open = asked.map((hit, i): Hit => ({ ...hit, score: 0.9, isOpen: i === 0 }));
    const printed = printHits(open, { ...PRINT, maxChars: 700 });
    const shown = printed.match(/^\d+\. .*strong/gm)?.length ?? 0;
    expect(printed.split("\n").at(-1)).toMatch(
      shown === open.length ? /^no other strong hit$/ : new RegExp(`^${open.length - shown} more strong`),
    );
  });

  test("a hit far ahead of all others is printed alone, within half of the characters unless so many were asked for", () => {
    const found = ask(store, ["why does the sextant drift"]);
    const [best, other] = found as [Hit, Hit];
    const printed = printHits([best, { ...other, score: 0.3, isOpen: false }], PRINT, {
      ...ALL,
      isAlone: true,
    });
    expect(printed.match(/^\d+\. /gm)).toEqual(["1. "]);
    const isAlone = (isBudgetNamed: boolean) =>
      findHits([store], ["crust_marker_77 oven steam"], { ...HITS, isBudgetNamed }).beyond.isAlone;
    expect([isAlone(false), isAlone(true)]).toEqual([true, false]);
  });

  test("what lacks only a word that no session holds is opened, and not called strong", () => {
    const question = "why does the sextant mirror drift";
    const [known] = ask(store, [question]);
    const [best] = ask(store, [`${question} on the zeppelin`]);
    expect([known && isStrong(known), best && isStrong(best), best?.isOpen, best?.rows.length]).toEqual([
      true,
      false,
      true,
      expect.any(Number),
    ]);
    expect(best?.rows.length).toBeGreaterThan(1);
  });

  test("words that only ask for what was said are never missing, nor those that another phrasing has in words that occur", () => {
    const nowhere = (...texts: string[]) => findHits([store], texts, HITS).nowhere;
    expect(nowhere("what was concluded about the sextant, and what was the verdict?")).toEqual([]);
    expect(nowhere("was wurde beim sextant entschieden, und was bleibt übrig?")).toEqual([]);
    expect(nowhere("sextant Abweichung", "sextant drift")).toEqual([]);
    expect(nowhere("sextant Abweichung", "sextant écart")).toEqual(["Abweichung", "écart"]);
    expect(nowhere("zeppelin drift", "zeppelin sextant", "sextant drift")).toEqual(["zeppelin"]);
  });

  test("a weak line shows sixty characters of its row, however long the names before it are", () => {
    const [hit] = ask(store, ["why does the sextant drift"]) as [Hit];
    const text = "word ".repeat(60).trim();
    const long = { ...hit, isOpen: false, score: 0.2, rows: [{ line: 1, who: "user" as const, text }] };
    const style = { ...PRINT, nameOf: () => "n".repeat(60) };
    const [, line = ""] = printHits([long, long], style).split("\n");
    expect(/L1 User: (.*)/.exec(line)?.[1]?.length).toBeGreaterThanOrEqual(60);
  });

  test("where nothing is strong the nearest are named on a line each, and nothing where no word occurs", () => {
    const found = ask(store, ["which harbour permits quarterly dredging contracts with foreign tenders"]);
    expect(found.some(isStrong)).toBe(false);
    const lines = printHits(found, PRINT).split("\n");
    expect(lines[0]).toBe("nothing certain; nearest:");
    expect(lines.slice(1)).toEqual(lines.slice(1, 4).map(() => expect.stringMatching(/^\d\. .* · weak · /)));
    expect(printHits(ask(store, ["zymurgy quux"]), PRINT)).toBe("");
  });

  test("--brief, --by-session and whole exchanges keep to their limits of code points, whatever these are", () => {
    const random = seeded(fuzzSeed("search budgets"));
    for (let round = 0; round < 25; round++) {
      const maxChars = random.integer(200, 5000);
      const limit = random.integer(1, 30);
      const isWhole = random.chance(0.3);
      const texts = random.pick([
        ["harbour fog"],
        ["sextant drift", "mirror glue"],
        ["weather remark", "clouds 😀"],
      ]);
      const found = ask(store, texts, { limit, maxChars, isWhole, around: random.integer(0, 2) });
      const options = { ...PRINT, maxChars };
      for (const text of [
        printHits(found, options),
        printBrief(found, options),
        printBySession(found, { ...options, limit }),
        printFull(found, options),
      ]) {
        expect({ round, maxChars, isOver: lengthOf(text) > maxChars }).toEqual({
          round,
          maxChars,
          isOver: false,
        });
      }
      for (const line of printBrief(found, options).split("\n"))
        expect([...line].length).toBeLessThanOrEqual(160);
    }
  }, 30_000);

  test("no passage of a session is hidden: what is not shown is named", () => {
    const filter: ChunkFilter = {};
    const [one] = ask(store, ["sextant"], { limit: 1, filter });
    const all = ask(store, ["sextant"], { limit: 50, filter }).filter(
      ({ session }) => session.id === one?.session.id,
    );
    const places = [[one?.from, one?.to], ...(one?.also ?? [])];
    const unnamed = all.filter(
      (hit) => !places.some(([from = 0, to = 0]) => hit.from <= to && hit.to >= from),
    );
    expect(unnamed.map(({ from, to }) => [from, to])).toEqual([]);
  });
});

test("each printed line holds what is printed of it, in the committed transcripts", async () => {
  using home = temporaryHome();
  const { plain } = layFixtures(home);
  const store = openHomeStore(home);
  const transcripts = [home.paths.claude, home.paths.pi, home.paths.codex, plain];
  await indexHome({ ...home, paths: { ...home.paths, transcripts } }, store);
  const wrong: unknown[] = [];
  let checked = 0;
  for (const { phrasings } of OWN_QUESTIONS) {
    for (const { session, rows: shown } of ask(store, phrasings, { filter: { subagents: true } })) {
      const rows = readFileSync(session.file, "utf8").split("\n").map(lettersOf);
      for (const { line, who, text, tool } of shown) {
        // What an edit changed may be in its result, a few lines on.
        const held = rows.slice(line - 1, who === "tool" ? line + 10 : line).join("\n");
        for (const words of text.split(NOT_OF_ROW).map(lettersOf)) {
          if (words.length < 12) continue;
          checked++;
          if (!held.includes(words)) wrong.push({ file: session.file, line, who, tool, words });
        }
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(checked).toBeGreaterThan(100);
});

/** Marks of what is left out, of changed lines, of redaction, and how an answer to a dialog is told. */
const NOT_OF_ROW =
  /…|\s[+-] ?|^[+-] ?|\[REDACTED\w*\]|\(asked: |; options: | \| |(?:Approved|Rejected) [\w ]+: /;

/** Letters and digits alone: JSON escapes quotes and line ends, and cuts a result into blocks. */
test("a call that was found in one index shows none of another index at the same place", async () => {
  using own = temporaryHome();
  using theirs = temporaryHome();
  const talk: Talk = [["mend the sextant of the harbour", "Mended."]];
  const tools = (command: string) => ({ tools: { 0: [{ name: "Bash", input: { command } }] } });
  writeTalk(own, uuidFrom("ours"), talk, tools("glue --mark crust_marker_77"));
  writeTalk(theirs, uuidFrom("theirs"), talk, tools("sweep the floor"));
  const stores = [openHomeStore(own), openHomeStore(theirs)];
  await indexHome(own, stores[0] as Store);
  await indexHome(theirs, stores[1] as Store);
  const { hits } = findHits(stores, ["sextant harbour crust_marker_77", "mend the sextant"], HITS);
  const shown = hits.map(({ session, rows }) => [session.id, rows.flatMap(({ tool }) => tool ?? [])]);
  expect(Object.fromEntries(shown)).toEqual({
    [uuidFrom("ours")]: ["[Bash glue --mark crust_marker_77]"],
    [uuidFrom("theirs")]: [],
  });
  for (const store of stores) store.close();
});

test("a project is called by its repository where a program named its folder", () => {
  const origin = (path: string) => (path.startsWith("/noted") ? "github.com/dev/sextant" : undefined);
  const names: Record<string, string> = {
    "/home/dev/ship": "ship",
    "D:\\ship\\.claude\\worktrees\\heuristic-robinson-e44709": "ship",
    "/home/dev/ship/.claude/worktrees/agent-a4ca7529/lib/hull": "ship",
    "/home/dev/ship/.worktrees/rudder": "ship",
    "/home/dev/ship/worktrees/rudder": "rudder",
    "/home/dev/.cursor/worktrees/ship/9c1e2f4": "ship",
    "/home/dev/.codex/worktrees/9c1e2f4/ship/lib": "ship",
    "/home/dev/games/2048": "games/2048",
    "/noted/2048": "sextant",
    "/noted/decade": "decade",
    "/srv/0b1f6d2a-1c0e-4e52-9b3a-8f6d1c2b3a4d": "srv/0b1f6d2a-1c0e-4e52-9b3a-8f6d1c2b3a4d",
    "/59b923df4d": "59b923df4d",
    "": "",
  };
  expect(Object.fromEntries(Object.keys(names).map((path) => [path, projectName(path, origin)]))).toEqual(
    names,
  );
});

function lettersOf(text: string): string {
  return text
    .replace(/"\},[^\]]*?\{"type":\s*"text",\s*"text":\s*"/g, " ")
    .replace(/\\[nrt]/g, " ")
    .replace(/\\u[0-9a-f]{4}/gi, "")
    .replace(/[^\p{L}\p{N}]+/gu, "");
}
