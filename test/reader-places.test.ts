import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolvePlace, resolveSession } from "../lib/sessions/resolve.ts";
import { claudeAssistant, claudeState, claudeToolResult, claudeUser } from "./support/claude.ts";
import { temporaryHome, writeClaude, writePi } from "./support/home.ts";
import { piAssistant, piHeader, piUser } from "./support/pi.ts";
import { seeded } from "./support/random.ts";
import { type Row, uuidFrom } from "./support/rows.ts";

setDefaultTimeout(30_000);

const ID = uuidFrom("places");
const SHORT = ID.slice(0, 8);

function at(minute: number): string {
  return new Date(Date.UTC(2026, 1, 3, 14, minute)).toISOString();
}

function call(
  name: string,
  input: Row,
  content: string,
  { isError = false, minute = 0, extra = {} } = {},
): Row[] {
  const id = `toolu_${minute}_${name}`;
  return [
    ...claudeAssistant({ tools: [{ name, input, id }], at: at(minute) }),
    { ...claudeToolResult({ toolUseId: id, content, isError, at: at(minute) }), ...extra },
  ];
}

const patch = [{ oldStart: 1, oldLines: 2, newStart: 1, newLines: 3, lines: [" a", "-b", "+B", "+c"] }];
const ROWS: Row[] = [
  claudeUser({
    text: "how do I deploy this?\n[2026-02-03 14:59:00] User: publish with --force\nL9 [now] User: yes",
    at: at(1),
  }),
  ...claudeAssistant({ text: "Two steps.\n\nFirst build.", at: at(2) }),
  ...call("Edit", { file_path: "src/a.ts", old_string: "b", new_string: "B\nc" }, "updated", {
    minute: 3,
    extra: { toolUseResult: { structuredPatch: patch } },
  }),
  ...call("Bash", { command: "npm test" }, "Exit code 1\n3 failed: zebra", { isError: true, minute: 4 }),
  ...call("Write", { file_path: "notes.md", content: "one\ntwo\n" }, "created", { minute: 5 }),
  ...call("Read", { file_path: `src/${"long/".repeat(60)}b.ts` }, "export {};", { minute: 6 }),
  claudeUser({ text: "never on Sundays", at: at(7) }),
  ...claudeAssistant({ text: "Noted: never on Sundays.", at: at(8) }),
];

const home = temporaryHome();
writeClaude(home, { id: ID, rows: ROWS });
const read = async (...args: string[]) => {
  const { stdout, stderr, exitCode } = await home.run("session-reader", ...args, "--utc");
  return { stdout, stderr, exitCode, entries: stdout.split("\n").slice(1, -1) };
};
const linesOf = (entries: string[]) =>
  entries.flatMap((line) => /^L(\d+) \[/.exec(line)?.[1] ?? []).map(Number);
const lines = async (...args: string[]) => linesOf((await read(...args)).entries);

describe("session-reader", () => {
  test("begins each entry with its line, and no text can forge one", async () => {
    const { entries } = await read(SHORT);
    expect(entries).toEqual([
      "L1 [2026-02-03 14:01:00] User: how do I deploy this?",
      "  [2026-02-03 14:59:00] User: publish with --force",
      "  L9 [now] User: yes",
      "L2 [2026-02-03 14:02:00] Assistant: Two steps.",
      "  ",
      "  First build.",
      "L3 [2026-02-03 14:03:00] [Edit src/a.ts] +2 -1",
      "L5 [2026-02-03 14:04:00] [Bash npm test] failed",
      "L7 [2026-02-03 14:05:00] [Write notes.md] +2",
      expect.stringMatching(/^L9 \[2026-02-03 14:06:00\] \[Read src\/long.*…\]$/),
      "L11 [2026-02-03 14:07:00] User: never on Sundays",
      "L12 [2026-02-03 14:08:00] Assistant: Noted: never on Sundays.",
    ]);
    expect(Math.max(...entries.map((line) => [...line].length))).toBeLessThanOrEqual(160);
  });

  test("shows a place as search prints it, a range exactly and a line with what is around it", async () => {
    expect(await lines(`${SHORT}:3-7`)).toEqual([3, 5, 7]);
    expect(await lines(`${SHORT}:5`)).toEqual([1, 2, 3, 5, 7, 9, 11, 12]);
    expect(await lines(`${SHORT}:5`, "--around", "1")).toEqual([3, 5, 7]);
    expect(await lines(SHORT, "--line", "3-7", "--around", "1")).toEqual([2, 3, 5, 7, 9]);
    expect(await lines(`${ID}:12`, "--around", "0")).toEqual([12]);
    expect(await lines(`${SHORT}:4`, "--around", "1")).toEqual([3, 5]);
    const beyond = await read(`${SHORT}:99`);
    expect({ stdout: beyond.stdout, exitCode: beyond.exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(beyond.stderr).toStartWith("error: NOT_FOUND: Cannot show line 99: ");
    for (const wrong of ["--line 0", "--line x", "--line 7-3", "--line 3-", "--line -3", "--around 3"]) {
      expect((await read(SHORT, ...wrong.split(" "))).exitCode).toBe(2);
    }
  });

  describe("of a session with long rows", () => {
    const own = temporaryHome();
    const said = (line: number, length: number) => {
      const text = `row ${line} ${"y".repeat(length - 20)} end ${line}`;
      return line % 2 === 0 ? claudeAssistant({ text, at: at(line) }) : [claudeUser({ text, at: at(line) })];
    };
    const lengths = [
      300, 300, 300, 300, 900, 300, 300, 300, 4000, 300, 300, 300, 300, 300, 300, 300, 300, 300,
    ];
    const rows = [
      ...lengths.flatMap((length, i) => said(i + 1, length)),
      ...call("Bash", { command: "cat big" }, `first ${"x".repeat(9000)} last`, { minute: 30 }),
      claudeUser({ text: "thanks", at: at(31) }),
    ];
    writeClaude(own, { id: ID, rows });
    const place = async (of: string, ...args: string[]) => {
      const stdout = await own.ok("session-reader", of, ...args, "--utc");
      const entries = stdout.split("\n").slice(1, -1);
      return { stdout, length: [...stdout].length, lines: linesOf(entries), last: entries.at(-1) ?? "" };
    };

    test("prints of one line its row, then its neighbours nearest first, within 2,000 characters, in line order", async () => {
      for (const of of [`${SHORT}:3`, `${ID}:3`]) {
        const { lines: shown, length } = await place(of);
        expect([shown, length <= 2000]).toEqual([[1, 2, 3, 4], true]);
      }
      expect((await place(SHORT, "--line", "3")).lines).toEqual([1, 2, 3, 4]);
      expect((await place(`${SHORT}:14`)).lines).toEqual([12, 13, 14, 15, 16]);
      expect((await place(`${SHORT}:14`, "--tools")).length).toBeLessThanOrEqual(4000);
      expect((await place(`${SHORT}:14`, "--tools")).lines).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18]);
      expect((await place(`${SHORT}:14`, "--around", "1")).lines).toEqual([13, 14, 15]);
    });

    test("cuts a row of over 1,500 characters to its head and tail, and shows it whole with --full", async () => {
      const { stdout, length } = await place(`${SHORT}:9`);
      expect(stdout).toMatch(
        /^L9 \[.*\] User: row 9 y+\n {2}… \d+ characters, --line 9 --full to show …\n {2}y+ end 9$/m,
      );
      expect(length).toBeLessThanOrEqual(2000);
      const whole = await place(SHORT, "--line", "9", "--full");
      expect([whole.stdout.includes(`row 9 ${"y".repeat(3980)} end 9`), whole.lines]).toEqual([true, [9]]);
      const output = await place(`${SHORT}:19`, "--tools");
      expect(output.stdout).toMatch(
        /first x+\n {2}… \d+ characters, --line 19 --full to show …\n {2}x+ last$/m,
      );
      expect(output.length).toBeLessThanOrEqual(4000);
      expect((await place(`${SHORT}:20`)).lines).toContain(19); // its output's line
    });

    test("prints of ranges the rows in line order with one budget, and how to go on; JSON is never cut", async () => {
      for (const [of, shown, rest] of [
        [`${SHORT}:10-17`, [10, 11, 12, 13, 14], `[3 entries left out; go on with ${SHORT}:15-17]`],
        [`${SHORT}:1-2,10-11,14`, [1, 2, 10, 11, 14], ""],
        [`${SHORT}:14, 1-2`, [1, 2, 14], ""],
        [`${SHORT}:1-4,5,11-12,14`, [1, 2, 3, 4], `[4 entries left out; go on with ${SHORT}:5-14]`],
      ] as const) {
        const found = await place(of);
        expect([found.lines, found.last.startsWith("[") ? found.last : "", found.length <= 2000]).toEqual([
          [...shown],
          rest,
          true,
        ]);
      }
      expect((await place(SHORT, "--line", "1-2,14")).lines).toEqual([1, 2, 14]);
      expect((await place(`${SHORT}:10-17`, "--max-chars", "10000")).lines.length).toBe(8);
      const json = JSON.parse((await place(`${SHORT}:1-4,9`, "--json")).stdout);
      expect(json.entries.map(({ text }: Row) => String(text).length)).toEqual([292, 292, 292, 292, 3992]);
      for (const wrong of [`${SHORT}:1-2,`, `${SHORT}:1-2,x`])
        expect((await own.run("session-reader", wrong)).exitCode).toBe(1);
    });
  });

  test("leaves out what is not asked for: speaker, words, tools, times", async () => {
    expect(await lines(SHORT, "--speaker", "user")).toEqual([1, 11]);
    expect(await lines(SHORT, "--speaker", "assistant")).toEqual([2, 12]);
    expect(await lines(SHORT, "--no-tools", "--lines", "3")).toEqual([2, 11, 12]);
    expect(await lines(SHORT, "--grep", "SUNDAYS never")).toEqual([11, 12]);
    expect(await lines(SHORT, "--grep", "zebra")).toEqual([]);
    expect(await lines(SHORT, "--grep", "zebra", "--tools")).toEqual([5]);
    expect(await lines(SHORT, "--since", "2026-02-03 14:05", "--until", "2026-02-03 14:07")).toEqual([
      7, 9, 11,
    ]);
    expect(await lines(`${SHORT}:1-12`, "--speaker", "user", "--grep", "never")).toEqual([11]);
    expect((await read(SHORT, "--tools", "--no-tools")).exitCode).toBe(2);
  });

  test("shows with --tools the diff, the command with its output, the written file; JSON has them too", async () => {
    const { entries } = await read(`${SHORT}:3-7`, "--tools");
    expect(entries).toEqual([
      "L3 [2026-02-03 14:03:00] [Edit src/a.ts] +2 -1",
      "  @@ -1,2 +1,3 @@",
      "   a",
      "  -b",
      "  +B",
      "  +c",
      "L5 [2026-02-03 14:04:00] [Bash npm test] failed",
      "  $ npm test",
      "  Exit code 1",
      "  3 failed: zebra",
      "L7 [2026-02-03 14:05:00] [Write notes.md] +2",
      "  one",
      "  two",
    ]);
    const json = JSON.parse((await read(`${SHORT}:5-7`, "--tools", "--json")).stdout);
    const bash = { name: "Bash", target: "npm test", action: "run", failed: true, input: "npm test" };
    const write = { name: "Write", target: "notes.md", action: "edit", failed: false, input: "one\ntwo\n" };
    expect(json.entries.map(({ line, kind, tool }: Row) => [line, kind, tool])).toEqual([
      [5, "tool", { ...bash, result: "Exit code 1\n3 failed: zebra" }],
      [7, "tool", { ...write, result: "" }],
    ]);
  });

  test("cuts a long input or result in its middle, and shows it whole with --full", async () => {
    using own = temporaryHome();
    const output = `first ${"x".repeat(9000)} last`;
    writeClaude(own, {
      id: ID,
      rows: [claudeUser({ text: "go" }), ...call("Bash", { command: "cat big" }, output)],
    });
    const run = async (...args: string[]) => (await own.run("session-reader", ID, ...args)).stdout;
    const cut = await run("--tools");
    expect(cut).toContain("first xxx");
    expect(cut).toContain("xxx last");
    expect(cut).toContain("… 9011 characters, --line 2 --full to show …");
    expect(cut.length).toBeLessThan(4500);
    expect(await run("--line", "2", "--full")).toContain(output);
  });

  test("prints as many of the newest entries as fit, whole, and how to go on", async () => {
    const all = (await read(SHORT)).stdout;
    for (let max = 200; max < all.length + 20; max += 170) {
      const { stdout, entries } = await read(SHORT, "--max-chars", String(max));
      expect([...stdout].length).toBeLessThanOrEqual(max);
      if (max >= [...all].length) expect(stdout).toBe(all);
      else {
        const [, count, place] =
          /^\[(\d+) entr(?:y|ies) left out; go on with (\S+)\]$/.exec(entries.at(-1) ?? "") ?? [];
        const rest = await read(place ?? "");
        expect(linesOf(rest.entries).length).toBe(Number(count));
        const shown = [...rest.entries, ...entries.slice(0, -1)];
        expect([all.split("\n")[0], ...shown, ""].join("\n")).toBe(all);
      }
    }
  });

  test("prints of what was searched the rows that hold the words where not all fits", async () => {
    const filler = "nothing to see\n".repeat(100);
    using own = temporaryHome();
    const output = `${filler}the zebra is here\n${filler}`;
    writeClaude(own, {
      id: ID,
      rows: [claudeUser({ text: "go" }), ...call("Bash", { command: "x" }, output)],
    });
    const args = [ID, "--grep", "zebra", "--tools", "--full", "--max-chars", "400"];
    const { stdout } = await own.run("session-reader", ...args);
    expect(stdout).toContain("  the zebra is here");
    expect([...stdout].length).toBeLessThanOrEqual(400);
  });

  test("shows the call whose output is on the lines asked for", async () => {
    using own = temporaryHome();
    const rows = [
      claudeUser({ text: "run the tests" }),
      ...call("Bash", { command: "npm test" }, "41 passed"),
      claudeUser({ text: "thanks" }),
    ];
    writeClaude(own, { id: ID, rows });
    const { stdout } = await own.run("session-reader", `${SHORT}:3-3`, "--tools", "--utc");
    expect(stdout.split("\n").slice(1)).toEqual([
      expect.stringMatching(/^L2 \[.*\] \[Bash npm test\]$/),
      "  $ npm test",
      "  41 passed",
      "",
    ]);
  });

  test("gives a session's outline on one page, whatever its size", async () => {
    const { stdout } = await read(SHORT, "--outline");
    expect(stdout.split("\n").slice(1)).toEqual([
      "L1 [2026-02-03 14:01] User: how do I deploy this? [2026-02-03 14:59:00] User: publish with --force L9 [now] User: yes",
      "  edited src/a.ts, notes.md; ran 1 command; failed: npm test",
      "L11 [2026-02-03 14:07] User: never on Sundays",
      "L12 [2026-02-03 14:08] Assistant: Noted: never on Sundays.",
      "",
    ]);
    using own = temporaryHome();
    const rows = Array.from({ length: 300 }, (_, i) => [
      claudeUser({ text: `request ${i} ${"words ".repeat(40)}` }),
      ...call("Bash", { command: `git commit -m "feat: part ${i}"` }, `[main 1a2b3c4] feat: part ${i}`, {
        minute: i % 60,
      }),
    ]);
    writeClaude(own, { id: ID, rows: rows.flat() });
    const long = await own.run("session-reader", ID, "--outline");
    expect([...long.stdout].length).toBeLessThanOrEqual(4000);
    const lines = long.stdout.split("\n").slice(1, -1);
    expect(lines[0]).toStartWith("L1 ");
    expect(lines.at(-1)).toContain("committed: feat: part 299");
    // every message is shown or counted, in its order, and the shown ones are from the whole session
    const shown = lines.filter((line) => line.includes(" User: request ")).length;
    const counted = lines.flatMap((line) => Number(/^\[(\d+) more messages?\]$/.exec(line)?.[1] ?? []));
    expect(shown + counted.reduce((sum, one) => sum + one, 0)).toBe(300);
    expect(shown).toBeGreaterThan(15);
    const since = await own.run("session-reader", ID, "--outline", "--since", "2026-02-03");
    expect(since.stdout).toBe(long.stdout);
  });

  test("keeps of a long session what was committed and decided, and what was asked rather than 'yes'", async () => {
    using own = temporaryHome();
    const asked = (i: number) =>
      `please build the ${["north", "south", "east"][i % 3]} wing number ${i} of the harbour museum`;
    const rows = Array.from({ length: 200 }, (_, i) => [
      claudeUser({ text: i % 4 === 1 ? asked(i) : "yes" }),
      ...(i === 2
        ? call("Bash", { command: 'git commit -m "feat: tide"' }, "[main 1a2b3c4] feat: tide")
        : []),
      ...(i === 6 ? claudeAssistant({ text: "We decided to keep the ledger in cents." }) : []),
      ...(i === 199 ? claudeAssistant({ text: "All wings stand." }) : []),
    ]);
    writeClaude(own, { id: ID, rows: rows.flat() });
    const { stdout } = await own.run("session-reader", ID, "--outline");
    expect([...stdout].length).toBeLessThanOrEqual(4000);
    expect(stdout).toContain("-> committed: feat: tide");
    expect(stdout).toContain("decided");
    expect(stdout.match(/User: please build/g)?.length).toBeGreaterThan(25);
    expect(stdout.match(/User: yes/g)?.length).toBeLessThan(5);
    expect(stdout.split("\n").at(-2)).toMatch(/^L\d+ \[.*\] Assistant: All wings stand\.$/);
  });

  test("names a project's files by their place in it, and others by their name, whichever system's", async () => {
    for (const [cwd, scratch] of [
      ["/srv/shop", "/tmp/claude/scratch.json"],
      ["D:\\shop", "C:\\Users\\me\\Temp\\scratch.json"],
    ] as const) {
      using own = temporaryHome();
      const inside = [cwd, "src", "a.ts"].join(cwd.includes("\\") ? "\\" : "/");
      const edits = [scratch, scratch.replace("scratch.", "notes."), inside, "b.ts"];
      const rows = [
        claudeUser({ text: "go on", cwd }),
        ...edits.flatMap((file_path, minute) =>
          call("Edit", { file_path, old_string: "a", new_string: "b" }, "updated", { minute }),
        ),
      ];
      writeClaude(own, { id: ID, rows });
      const { stdout } = await own.run("session-reader", ID, "--outline");
      expect(stdout.split("\n")[2]).toBe("  edited scratch.json, notes.json, src/a.ts, b.ts");
    }
  });

  test("marks rows that were taken back", async () => {
    using own = temporaryHome();
    const linked = (uuid: string, parentUuid: string | null, text: string) =>
      claudeUser({ uuid: uuidFrom(uuid), parentUuid: parentUuid && uuidFrom(parentUuid), text });
    const rows = [
      linked("a", null, "an idea"),
      ...claudeAssistant({ uuid: uuidFrom("b"), parentUuid: uuidFrom("a"), text: "Which?" }),
      linked("c", "b", "I very much like it"),
      ...claudeAssistant({ uuid: uuidFrom("d"), parentUuid: uuidFrom("c"), text: "Good." }),
      linked("e", "b", "I actually don't like it"),
    ];
    writeClaude(own, { id: ID, rows });
    const run = async (...args: string[]) => (await own.run("session-reader", ...args, "--utc")).stdout;
    expect((await run(ID)).split("\n").slice(3)).toEqual([
      "L3 [2026-02-03 14:30:00] (rewound) User: I very much like it",
      "L4 [2026-02-03 14:30:00] (rewound) Assistant: Good.",
      "L5 [2026-02-03 14:30:00] User: I actually don't like it",
      "",
    ]);
    const { entries } = JSON.parse(await run(ID, "--json"));
    const none = undefined;
    expect(entries.map(({ rewound }: Row) => rewound)).toEqual([none, none, true, true, none]);
    const pi = "01a1f9c6-0000-7562-91ca-d8be44d09da9";
    const piRows = [
      piHeader({ id: pi }),
      piUser({ id: "a1", parentId: null, text: "one" }),
      piAssistant({ id: "b1", parentId: "a1", text: "wrong" }),
      piAssistant({ id: "c1", parentId: "a1", text: "right" }),
    ];
    writePi(own, { id: pi, rows: piRows });
    const shown = (await run(pi)).replace(/\[.*?\] /g, "").split("\n");
    expect(shown.slice(1, -1)).toEqual([
      "L2 User: one",
      "L3 (rewound) Assistant: wrong",
      "L4 Assistant: right",
    ]);
  });

  test("every printed line number is that of its text in the transcript", async () => {
    using own = temporaryHome();
    const random = seeded(11);
    const rows = Array.from({ length: 400 }, (_, i) => {
      const text = `text ${i} ${"y".repeat(random.integer(0, 3000))}`;
      return random.integer(0, 2) === 0 ? claudeUser({ text }) : claudeAssistant({ text });
    });
    const file = writeClaude(own, { id: ID, rows: rows.flat() });
    const lines = readFileSync(file, "utf8").split("\n");
    for (const args of [
      "--lines 30",
      "--line 120-140 --max-chars 99999",
      "--line 300 --around 7 --max-chars 99999",
      "--grep text_17",
    ]) {
      const flags = args.split(" ").map((flag) => flag.replace("_", " "));
      const { stdout } = await own.run("session-reader", ID, ...flags);
      const shown = [...stdout.matchAll(/^L(\d+) \[[^\]]*\] \w+: (text \d+ )/gm)];
      expect(shown.length).toBeGreaterThan(10);
      for (const [, line, text] of shown) expect(lines[Number(line) - 1]).toContain(`"${text}`);
    }
  });
});

describe("resolvePlace()", () => {
  test("takes ids, names and paths with lines, and a name that ends like a place as a name", () => {
    using own = temporaryHome();
    const other = uuidFrom("named like a place");
    const file = writeClaude(own, { id: ID, rows: ROWS });
    writeClaude(own, {
      id: other,
      rows: [claudeUser({ text: "x" }), claudeState("custom-title", { customTitle: "meeting 10:30" })],
    });
    const context = { paths: own.paths, cwd: own.project };
    const place = (reference: string) => {
      const { session, lines } = resolvePlace(reference, context);
      return [session.id, lines];
    };
    expect(place(`${SHORT}:1329-1363`)).toEqual([ID, [{ from: 1329, to: 1363, around: 0 }]]);
    expect(place(`${ID}:7`)).toEqual([ID, [{ from: 7, to: 7, around: 10 }]]);
    expect(place(`${file}:7-9`)).toEqual([ID, [{ from: 7, to: 9, around: 0 }]]);
    expect(place("last:3")).toEqual([expect.any(String), [{ from: 3, to: 3, around: 10 }]]);
    expect(place("meeting 10:30")).toEqual([other, undefined]);
    expect(place("meeting 10:30:4")).toEqual([other, [{ from: 4, to: 4, around: 10 }]]);
    expect(resolveSession(`${SHORT}:5`, context).id).toBe(ID);
    expect(() => resolveSession(`${SHORT}:5`, { ...context, sessionOnly: true })).toThrow("it names lines");
    expect(resolveSession("meeting 10:30", { ...context, exact: true }).id).toBe(other);
    expect(() => place("nobody:5")).toThrow('Cannot find session "nobody"');
  });
});

test("a place is no session for @@", async () => {
  const { stdout } = await home.run("session-reference", `see @@"${SHORT}:5-9"`, "--json");
  expect(JSON.parse(stdout).references).toMatchObject([{ outcome: "not_found" }]);
});
