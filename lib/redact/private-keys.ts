/** Private key blocks (PEM, OpenSSH, PGP, OpenVPN, PuTTY): whole, with escaped line ends, quoted line by line, or cut off. */

const BEGIN = /-----BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----/g;
const END = "-----END";
const END_LINE = /-----END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----/y;
/** PuTTY states how many lines of key follow; a command shown on one line has them folded. */
const PUTTY =
  /(Private-Lines: \d{1,3}(?:\r?\n|\\r\\n|\\n| ))((?:[A-Za-z0-9+/=]{4,64}(?:\r?\n|\\r\\n|\\n| |…|$)){1,200})/g;
/** The longest body that a block with an end is believed to have: a 16 Ki bit RSA key is 13 KB. */
const BODY_MAX = 40_000;
/** A long piece of base64, which only a key's body contains. */
const MATERIAL = /[A-Za-z0-9+/=]{20}/;
/** Lines of base64 or of key headers, each after a line end (real or escaped) and what editors put before a line. */
const CUT_BODY =
  /(?:(?:\s|\\[nrt]|["'`+>|,]|\d{1,5}(?:[→:|]|\t)){0,40}(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\n\\]{0,200}|[A-Za-z0-9+/=]{16,}))*(?:(?:\n|\\n)[A-Za-z0-9+/=]{1,15}(?![A-Za-z0-9+/=]))?/y;

/** Replaces every private key block. A mere mention of the `BEGIN` line stays. */
export function replacePrivateKeys(whole: string, mark: string): string {
  const text = whole.includes("Private-Lines:")
    ? whole.replace(
        PUTTY,
        (_, lines: string, key: string) => lines + mark + (/(?:\n|\\n| |…)$/.exec(key)?.[0] ?? ""),
      )
    : whole;
  let result = "";
  let done = 0;
  let end = -2;
  BEGIN.lastIndex = 0;
  for (let begin = BEGIN.exec(text); begin; begin = BEGIN.exec(text)) {
    const body = BEGIN.lastIndex;
    // looked for once and kept, so that many beginnings without an end stay linear
    if (end !== -1 && end < body) end = text.indexOf(END, body);
    const until = blockEnd(text, body, end);
    if (until === undefined) continue;
    result += text.slice(done, begin.index) + mark;
    done = until;
    BEGIN.lastIndex = until;
  }
  return done === 0 ? text : result + text.slice(done);
}

function blockEnd(text: string, body: number, end: number): number | undefined {
  if (end !== -1 && end - body <= BODY_MAX) {
    END_LINE.lastIndex = end;
    const inner = text.slice(body, end);
    if (END_LINE.test(text) && !inner.includes("-----BEGIN") && MATERIAL.test(inner))
      return END_LINE.lastIndex;
  }
  CUT_BODY.lastIndex = body;
  CUT_BODY.exec(text);
  return MATERIAL.test(text.slice(body, CUT_BODY.lastIndex)) ? CUT_BODY.lastIndex : undefined;
}
