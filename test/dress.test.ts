import { expect, test } from "bun:test";
import { dresser } from "../lib/base/terminal.ts";

const options = {
  paint: (meaning: string, text: string) => (text === "" ? "" : `<${meaning}>${text}</>`),
  now: new Date("2026-02-12T10:30:00Z"),
  timezone: "Europe/Berlin",
  words: ["deploy"],
};

test("dresser() paints results by meaning, with a blank line between them and times as people say them", () => {
  const dress = dresser(options);
  expect(dress("1. 8463c716:13-36 · LiveView tests · spotter · 2026-02-12 09:05 · strong")).toBe(
    "<faint>1. </><name>8463c716:13-36</> · LiveView tests · spotter · <time>today 09:05</> · <good>strong</>",
  );
  expect(dress("   L13 User: how do I deploy this?")).toBe(
    "   <faint>L13</> <user>User:</> how do I <match>deploy</> this?",
  );
  expect(dress("   L14 [Bash npm test] failed")).toBe(
    "   <faint>L14</> <tool>[Bash npm test]</> <bad>failed</>",
  );
  expect(dress("   also 1142-1199")).toBe("<faint>   also 1142-1199</>");
  expect(dress("2. 258c7280:9 · 2025-12-31 23:10 · weak")).toBe(
    "\n<faint>2. </><name>258c7280:9</> · <time>31 Dec 2025</> · <faint>weak</>",
  );
});

test("dresser() breaks results and rows between words at the terminal's width, and nothing else", () => {
  const dress = dresser({ ...options, columns: 29, paint: (_, text) => text });
  expect(dress("   L13 User: how do I deploy this?")).toBe("   L13 User: how do I deploy\n     this?");
  expect(dress("  edited deploy.sh; ran 12 commands")).toBe("  edited deploy.sh; ran 12\n  commands");
  expect(dress("1. 8463c716:13-36 · LiveView tests")).toBe("\n1. 8463c716:13-36 · LiveView\n   tests");
  const report = "warning: no hook has run in Claude Code yet";
  expect(dress(report)).toBe(report);
});

test("dresser() paints a log, a diff, and a report", () => {
  const dress = dresser(options);
  expect(dress("# name · claude · id · /shop")).toBe("<name># name · claude · id · /shop</>");
  expect(dress("L118 (rewound) [2026-02-12 10:30:05] Assistant: Deploying")).toBe(
    "<faint>L118</><bad> (rewound)</><time> [2026-02-12 10:30:05]</> <assistant>Assistant:</> <match>Deploying</>",
  );
  expect(dress("  + new\n  - old\n  same")).toBe("<good>  + new</>\n<bad>  - old</>\n  same");
  expect(dress("3 Feb            posting frequency  7c41f0b2  claude  ~/shop  23 KiB")).toBe(
    "<time>3 Feb</>            <name>posting frequency</>  <faint>7c41f0b2</>  claude  ~/shop  23 KiB",
  );
  expect(dress("DEGRADED")).toBe("<bad>DEGRADED</>");
  expect(dress("warning: no hook has run")).toBe("<bad>warning</>: no hook has run");
});
