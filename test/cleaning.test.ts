import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
import { cleanStored, countUnclean } from "../lib/forget/cleaning.ts";
import { redact } from "../lib/redact/redact.ts";
import { recordWritten } from "../lib/store/state.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { indexHome, openHomeStore, turn } from "./support/index.ts";
import { seeded } from "./support/random.ts";
import { secretsOf } from "./support/secrets.ts";

setDefaultTimeout(60_000);

const KEY = secretsOf("github-token", seeded(1))[0]?.text ?? "";
const OWN = "VIOLET-7731";
const SECRETS = [KEY, OWN];
const planted = `${KEY} and ${OWN}`;
const SETTINGS = { ...defaultSettings(), redact: { extra: ["VIOLET-\\d+"] } };

/** A state folder as rules wrote it that knew none of these secrets. */
async function olderHome(): Promise<TemporaryHome> {
  const home = temporaryHome();
  const tools = [{ name: "Bash", input: { command: "deploy TOKENPLACE" } }];
  writeClaude(home, {
    rows: [turn("the gateway needs TOKENPLACE here", "and so does TOKENPLACE", { tools })],
  });
  const store = openHomeStore(home);
  await indexHome(home, store);
  store.db.exec(`
    UPDATE session_chunks SET content = replace(content, 'TOKENPLACE', '${planted}'),
      context_content = replace(context_content, 'TOKENPLACE', '${planted}'), tools = replace(tools, 'TOKENPLACE', '${planted}'),
      row_lines = '0:1 ' || (instr(replace(content, 'TOKENPLACE', '${planted}'), 'Assistant:') - 1) || ':2';
    UPDATE deeds SET target = replace(target, 'TOKENPLACE', '${planted}'), input = replace(input, 'TOKENPLACE', '${planted}');
    UPDATE sessions SET name = 'gateway ${OWN}';
    DELETE FROM facts WHERE name = 'redaction';`);
  store.close();
  const record = {
    kind: "observed",
    observations: [{ id: "a1", at: null, priority: "red", text: `needs ${planted}`, sources: [1] }],
    coversTo: 2,
    covers: "1-2",
    by: "rules",
  };
  write(join(home.paths.observations, "s.jsonl"), `${JSON.stringify(record)}\n{torn\n`);
  const meta = { schemaVersion: 1, sessionId: "s", name: `gateway ${OWN}`, summary: planted, tags: [OWN] };
  write(join(home.paths.meta, "s.meta.json"), `${JSON.stringify(meta, null, 2)}\n`);
  write(home.paths.log, `${JSON.stringify({ event: "injected", ok: true, text: planted })}\n`);
  const note = write(join(home.project, "memory", "note.md"), `User: ${planted}\n`);
  recordWritten(home.paths, { path: note, sessionId: "s", content: readFileSync(note) });
  write(join(home.project, "memory", "other.md"), `not ours: ${planted}\n`);
  return home;
}

function bytesUnder(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n");
}

function leaks(text: string): string[] {
  return SECRETS.filter((secret) => text.includes(secret));
}

test("what older rules stored is redacted in every file we keep, once, and is still found", async () => {
  using home = await olderHome();
  const options = { paths: home.paths, settings: SETTINGS };
  expect(leaks(bytesUnder(home.paths.home))).toEqual(SECRETS);
  expect(countUnclean(options)).toBeGreaterThan(0);
  await cleanStored(options);
  expect(countUnclean(options)).toBe(0);
  expect(leaks(bytesUnder(home.paths.home))).toEqual([]);
  const marked = redact(planted).replace(OWN, "[redacted:custom]");
  const store = openHomeStore(home);
  const chunk = store.db
    .prepare("SELECT content, context_content, tools, row_lines FROM session_chunks")
    .get();
  const content = `User: the gateway needs ${marked} here\nAssistant: and so does ${marked}`;
  expect(chunk?.content).toBe(content);
  expect(String(chunk?.context_content)).toEndWith(content);
  expect(chunk?.row_lines).toBe(`0:1 ${content.indexOf("Assistant:")}:2`);
  expect(store.db.prepare("SELECT target FROM deeds").get()).toEqual({ target: `deploy ${marked}` });
  const found = store.db.prepare("SELECT count(*) AS n FROM chunks_fts WHERE chunks_fts MATCH ?");
  expect([found.get("gateway")?.n, found.get("violet")?.n]).toEqual([1, 0]);
  store.close();
  const ledger = readFileSync(join(home.paths.observations, "s.jsonl"), "utf8");
  expect(JSON.parse(ledger.split("\n")[0] ?? "").observations[0].text).toBe(`needs ${marked}`);
  expect(ledger).toEndWith("\n{torn\n");
  expect(readFileSync(join(home.project, "memory", "note.md"), "utf8")).toBe(`User: ${marked}\n`);
  expect(readFileSync(join(home.project, "memory", "other.md"), "utf8")).toContain(KEY);
  // under the same rules nothing is looked at again
  write(join(home.paths.meta, "s.meta.json"), `{"name": "${OWN}"}\n`);
  await cleanStored(options);
  expect(readFileSync(join(home.paths.meta, "s.meta.json"), "utf8")).toContain(OWN);
  await cleanStored({ ...options, settings: { ...SETTINGS, redact: { extra: ["VIOLET-\\d+", "x{9}"] } } });
  expect(readFileSync(join(home.paths.meta, "s.meta.json"), "utf8")).not.toContain(OWN);
});

test("until then it is not shown, health counts it, and embed redacts it", async () => {
  using home = await olderHome();
  home.configure({ redact: SETTINGS.redact });
  const run = async (script: string, ...args: string[]) => {
    const { stdout, stderr } = await home.run(script, ...args);
    expect(leaks(stdout + stderr)).toEqual([]);
    return stdout + stderr;
  };
  expect(await run("search", "gateway", "--no-index")).toContain("[redacted:");
  expect(await run("search", "gateway", "--no-index", "--json")).toContain("[redacted:");
  expect(await run("health")).toContain("stored under older redaction rules, redacted when shown");
  await run("embed");
  expect(await run("health")).not.toContain("older redaction rules");
  expect(leaks(bytesUnder(home.paths.home).replaceAll(JSON.stringify(SETTINGS.redact), ""))).toEqual([]);
}, 30_000);
