/** Looks of a value by itself: the first shape of a table that fits, and measures of randomness. */

/** Words of sentences about passwords and about the place of a value. */
const ABOUT = String.raw`pass|pwd|secret|token|credential|kennw|wachtw|contrase|senha|\b(?:must|should|cannot|please|required|invalid|incorrect|enter|your|least|characters?|see|ask|same|field|value|hint|string|option|missing|empty)\b`;
/** Words of any sentence. */
export const SENTENCE = String.raw`${ABOUT}|\b(?:is|are|be|not|the|at|as|in|of|to|for|from|with|and|or|but|if|when|so|by|on|that|this|which|because|was|has|have|will|can|used|stored|never|user|input|text|insert|put|change|now|before|after|must|should|via|into|then|also|no)\b`;

/** A look, its flags (`b`: of values without quotes alone), and its shape; `@` is computed. */
const TABLE = String.raw`
stand i ^\w+=\w+=|^\?\w|^--[a-z]|^(?:\$[A-Za-z_{(]|\$\d\b|%[A-Za-z_(]|[<{[(]|[-*•.…_#?]+$|x+$)|example|placeholder|changeme|redacted|[_-]here$|^abcdef\w{0,10}$|[*•xX]{4}|\.{3}|…|\$\{|\{\{|^%\w+%$|^@\w+@$|^[*&][a-z_]+$|^(?:ctrl|alt|shift|cmd|meta|option|super|command)\+
elsewhere - ^~\/|^(?:\.{1,2})?\/[^\s]*[/.]|^[A-Za-z]:[\\/]|^[\w.-]+(?:\/[\w.-]+)+\.[A-Za-z]{1,5}$|^[\w.-]+\.(?:json|ya?ml|toml|pem|key|crt|p12|txt|env)$|:\/\/|^(?:vault|ref|arn|ENC|required|sha\d+)[:+|[]
keys - ^[a-z]\w*(?:\.[a-z]\w*){2,}$
chain b ^[*&!@:]?[A-Za-z_$][\w$]*(?:(?:\.|::|->|[?!]\.)[A-Za-z_$][\w$]*)+[!?]?$|^[&@:!]{1,2}[A-Za-z_]+$
number - ^[\d.,_:-]+$
uuid i ^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$
hash i ^(?:0x|sha\d{1,3}[:-])?[0-9a-f]{24,}$
about i ^(?=\S+\s).*(?:${ABOUT})
sentence i ^(?=\S+\s).*(?:${SENTENCE})
long - ^(?:\S+\s+){8}
titled - ^(?=\S*\s)(?!.*\d).*[A-Z.,]
phrase - \s
algorithm i 0-9a|a-z|^(?:sha-?\d+|md5|base(?:32|58|64)|utf-?\d+|argon2\w*|p?bkdf2\w*|b?crypt|scrypt|scram-\S+|aes-?\d*\w*|oauth2?|x?ed?25519|v?\d+(?:[.-]?[a-z]{1,5})?)$
random @
asks i ^(?:your|my|the|some|any|no|new|old|test|dummy|fake|sample|demo|mock|change|insert|enter|put|null|undefined|true|false|none|required|optional|string|number|boolean|unknown|object|postgres|rabbitmq|mongodb|minioadmin|localhost|development|production)(?:$|[\s_-]|me)
path - ^(?=.*[A-Za-z])[\w.:@-]*(?:/[\w.:@-]*)+$
mixed u (?=.*\p{L})(?:.*[\d]|.*[^\p{L}\p{N}_.:/|\s-])
scrambled @
field i pass|pwd|secret|token|user|login|input|field|feld|text|hash|crypt|valid|correct|require|missing|empty|option|hidden|string|value|^(?:true|false|null|none|number|bytes|boolean|unset|redacted|postgres|include|inherit|basic)$
adjective - [-_](?:[a-z]+(?:ed|ing|ive|able|ible)|only|free|less|set|date|time|side|safe|based|specific)$
compound u ^(?=.*\p{Ll})(?=.{6,60}$)(?!\w+\.(?:com|net|org|io|dev)$)(?=.*\p{L}[-_.]\p{L}|.*\p{Ll}\p{Lu})\p{L}+(?:[_.-]\p{L}+){0,3}$
caps - ^[A-Z_]+$
word u ^\p{L}{6,40}$
`;
const LOOKS = TABLE.trim()
  .split("\n")
  .map((row): [string, string, RegExp | undefined] => {
    const [look = "", flags = "", ...shape] = row.split(" ");
    return [look, flags, flags === "@" ? undefined : new RegExp(shape.join(" "), flags.replace(/[-b]/, ""))];
  });
const COMPUTED: Record<string, (text: string) => boolean> = { random: looksRandom, scrambled: isScrambled };

/** Returns how a value looks. In quotes two names are no chain. */
export function lookAt(value: string, isQuoted = false): string {
  for (const [look, flags, shape] of LOOKS) {
    if (
      flags === "b" &&
      (isQuoted ? !/\w\.\w+\.\w|::|->/.test(value) : looksRandom(value.replaceAll(".", "")))
    )
      continue;
    if (shape ? shape.test(value) : COMPUTED[look]?.(value)) return look;
  }
  return "other";
}

/** Returns whether all parts of a text could be words, and no more than two are numbers: `getServerSideProps`. */
export function isName(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|\d+|[^-_./]/g) ?? [];
  const words = parts.filter((part) => /^(?=.{1,20}$)[A-Z]?[a-z]*[aeiouy][a-z]*$/.test(part));
  const numbers = parts.filter((part) => /^\d/.test(part));
  if (numbers.length > 2 || words.length === 0 || words.length + numbers.length < parts.length) return false;
  return words.join("").length >= 4.5 * words.length && !/[-_./]{2}|[-_./]$/.test(text);
}

/** Returns whether most letters are in pieces that could be words: `TestColor256Fallback`. */
export function isMostlyWords(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  const words = parts.filter((part) => /^(?=.*[aeiouy])[A-Z]?[a-z]{2,}$/.test(part));
  const letters = parts.join("").length;
  return letters >= 3 * parts.length && words.join("").length >= 0.6 * letters;
}

/** Returns whether a text is long and mixes letters, digits and signs as no name does. */
export function looksRandom(text: string): boolean {
  if (text.length < RANDOM_MIN || isHexOrUuid(text) || isWords(text)) return false;
  const changes = countChanges(text);
  const ratio = changes / text.length;
  if (new Set(text.slice(0, 200)).size < 9) return false;
  if (/[0-9]/.test(text)) return changes >= 5 && ratio >= 0.25;
  return ratio >= 0.42 && !(/^[a-z]+(?:[A-Z][a-z]+)+$/.test(text) && isMostlyWords(text));
}

/** Pairs of letters that hardly any word has, not even where two words meet. */
const RARE =
  "(?=(?:b[fkqxz]|c[gjvx]|d[xz]|f[jqvxz]|g[qjvxz]|h[jxz]|j[bcdfghjklmnpqrtvwxyz]|k[jqxz]|m[jqxz]|p[jqvxz]|q[a-tv-z]|s[xz]|t[jqx]|v[bcdfghjklmnpqtwxz]|w[jqvxz]|x[bdgjkrvz]|y[jq]|z[bcdfgjkmnpqrstvwx]))";
const RARE_PAIRS = new RegExp(RARE, "gi");

/** Returns whether letters alone are random: case changes more often than in words, or no vowel occurs for long. */
function isScrambled(text: string): boolean {
  if (!/^[A-Za-z]{10,}$/.test(text)) return false;
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) {
    return /[bcdfghjklmnpqrstvwxz]{6}/i.test(text) || (text.match(RARE_PAIRS)?.length ?? 0) >= 2;
  }
  if (/[A-Z]{3}|[A-Z]$|[bcdfghjklmnpqrstvwxz]{5}/.test(text)) return true;
  return text.length / (text.match(/[A-Z]?[a-z]+|[A-Z]+/g)?.length ?? 1) < 4;
}

/** `my-secret-name-2`, `getServerSideProps`, `v1.2.3`: words and small numbers joined in the usual ways. */
export function isWords(text: string): boolean {
  const parts = text.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+/g) ?? [];
  const words = parts.filter((part) => /[A-Za-z]/.test(part));
  const numbers = parts.length - words.length;
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const joined = /[-_./:|]/.test(text) || numbers === 0;
  return joined && !/[^\w./:@|-]/.test(text) && numbers <= 2 && letters / Math.max(1, words.length) >= 3.5;
}

/** Returns how often small letters, capitals, digits and signs take turns. */
const countChanges = (text: string): number =>
  (text.match(/[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+/g)?.length ?? 1) - 1;

/** Shorter values are as often words in an unusual spelling. */
const RANDOM_MIN = 16;
const HEX_OR_UUID = /^(?:0x|sha\d{1,3}[:-])?[0-9a-f]+$|^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
export const isHexOrUuid = (text: string): boolean => HEX_OR_UUID.test(text);
/** Returns the text that a run of base64 hides, if it hides one. */
export function decode(run: string): string | undefined {
  if (run.length < 16 || run.length > 16_384 || !/[A-Z]/.test(run) || !/[a-z]/.test(run)) return undefined;
  try {
    if (!/^[\t\n\r -~]+$/.test(atob(run.slice(0, 16).replaceAll("-", "+").replaceAll("_", "/"))))
      return undefined;
    const text = atob(run.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/"));
    return /^[\t\n\r -~]+$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
