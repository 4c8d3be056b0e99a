/**
 * Finds secrets by their context: an option of a command, a statement, an element, a sentence.
 *
 * A prefilter for the words that every context needs decides whether they are tried, and only near such a word. Every
 * pattern is bounded, so that hostile repetitions stay linear.
 */

import { type Context, listCommands, listWords } from "./context-table.ts";
import { looksSecret } from "./entropy.ts";

/** Every context other than a command needs one of these. */
const WORDS =
  /assw|[Pp][Ww] ?[:=]|TOTP|totp|2FA|MFA|WIFI:|auth=\(|ASSW|phrase|PHRASE|ecret|ECRET|_TOKEN|_KEY|_PASS|oken>|[Kk]ey>|NTIFIED |ntified by|uirepass|abbitmqctl|masterau|nemonic|contrase|mot de p|парол|密|パス/;
/** A command's option. */
const DASH = / [-/][-A-Za-z]/;
const COMMANDS =
  /sshpass|login|redis-cli|mongo|cqlsh|mosqu|rabbit|client|ldap|openssl|keytool|signer|passwd|sqlcmd|ipmi|zip -|rar -p|keygen|freerdp|gpg --|nmcli|literal|curl |wget |bcp |7z |vault |sudo -S|configure set|net use/;
/** No context reaches further than this before or behind such a word. */
const REACH = 500;

let commands: readonly Context[] | undefined;
let words: readonly Context[] | undefined;
let hints: RegExp | undefined;

/** Returns whether a text may contain a context. A cheap prefilter. */
export function mayHaveContext(text: string): boolean {
  return WORDS.test(text) || (DASH.test(text) && COMMANDS.test(text));
}

/** Replaces the values in these contexts. */
export function replaceInContext(text: string, mark: (kind: string) => string): string {
  hints ??= new RegExp(`${WORDS.source}|${COMMANDS.source}`, "g");
  let result = "";
  let done = 0;
  let from = -1;
  let to = -1;
  const takeWindow = () => {
    if (from === -1) return;
    result += text.slice(done, from) + replaceAll(text.slice(from, to), mark);
    done = to;
  };
  for (const { index } of text.matchAll(hints)) {
    if (index < to - REACH / 2) continue;
    if (from === -1 || index - REACH > to) {
      takeWindow();
      from = index <= REACH ? 0 : breakBefore(text, index - REACH, Math.max(0, to));
    }
    to = breakAfter(text, Math.min(text.length, index + 2 * REACH));
  }
  takeWindow();
  return result + text.slice(done);
}

/** Moves back to the start of a line, else of a word. */
function breakBefore(text: string, at: number, min: number): number {
  for (let back = at; back > Math.max(min, at - REACH); back--) if (text[back - 1] === "\n") return back;
  for (let back = at; back > Math.max(min, at - REACH); back--) if (text[back - 1] === " ") return back;
  return min;
}

function breakAfter(text: string, at: number): number {
  for (let on = at; on < Math.min(text.length, at + REACH); on++) if (/\s/.test(text[on] ?? "")) return on;
  return Math.min(text.length, at + REACH);
}

function replaceAll(text: string, mark: (kind: string) => string): string {
  commands ??= listCommands();
  words ??= listWords();
  let result = text;
  for (const { kind, literals, pattern, value } of [...commands, ...words]) {
    if (!literals.some((literal) => result.includes(literal))) continue;
    result = result.replace(pattern, (whole: string, before: string, secret: string) =>
      isSecret(secret, value) ? `${before}${mark(kind)}` : whole,
    );
  }
  return result;
}

/** Algorithms and encodings are named in the same sentences. */
const ALGORITHM =
  /^(?:sha-?\d+|md5|base(?:32|58|64)|utf-?\d+|argon2\w*|p?bkdf2|b?crypt|scrypt|aes-?\d*\w*|oauth2?|x25519|ed25519|\d+(?:-?\w+)?)$/i;
const STAND_IN =
  /^(?:[<{[(*•…_-]|\$|%\w|\[redacted:|x{3,}|\.{3})|[*•]{3}|…|\.{3}|example|placeholder|changeme|redacted/i;
const STAND_IN_WORD =
  /^(?:your|my|the|new|old|some|any|this|that|password|passwd|passphrase|secret|token|pass|null|none|true|false|undefined|string|required|optional)(?:$|[\s_-]|word|here)/i;

function isSecret(value: string, wanted: Context["value"]): boolean {
  if (STAND_IN.test(value) || STAND_IN_WORD.test(value)) return false;
  if (wanted === "any") return true;
  if (wanted !== "mixed") {
    if (/^[A-Z][A-Z0-9]*_[A-Z0-9_]+$/.test(value)) return false; // another variable
    const exact = wanted === "exact" && !/\s/.test(value);
    return looksSecret(value, { strong: true, literal: true, exact });
  }
  if (ALGORITHM.test(value) || /[/\\]|\w\.\w|\(|::/.test(value)) return false;
  return /[0-9]/.test(value) && /[A-Za-z\u0080-\uffff]/.test(value) && /^\S{5,}$/.test(value);
}
