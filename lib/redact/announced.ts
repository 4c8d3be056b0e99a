/**
 * Reads names that announce a secret, and finds the values that they announce: assigned, given as an option, in an element,
 * as a sibling (`name`, `value`), or said. A name alone proves nothing (`password: string`, `token = getToken()`), so the
 * value has to look like a secret, too.
 *
 * Other secrets are known by the one place where each stands: an option of a command, a statement, a sentence, a
 * cookie.
 */

import {
  ABOUT_FIELD,
  asksForValue,
  contentStart,
  isFieldName,
  isHex,
  isJoined,
  isStandIn,
  isUuid,
  isWords,
  LOOK,
  lineStart,
  longestPart,
  lookAt,
  RANDOM_MIN,
  type ReportSecret,
  SENTENCE,
} from "./looks.ts";

/** Reads the rows of a table: a word, and the source of a pattern. */
function readTable(table: string, parts: Record<string, string>): [string, string][] {
  return table
    .trim()
    .split("\n")
    .map((row) => {
      const at = row.indexOf(" ");
      return [row.slice(0, at), row.slice(at + 1).replace(/@[a-z]/g, (part) => parts[part] ?? part)];
    });
}

function compileTable(table: string, parts: Record<string, string>, flags: string): [string, RegExp][] {
  return readTable(table, parts).map(([word, source]) => [word, new RegExp(source, flags)]);
}

const PARTS: Record<string, string> = {
  "@c": "[\"'`\\])*_]{0,5}[?!]?(?: (?:\\[[^\\]\\n]{0,40}\\]|\\([\\w .-]{1,30}\\)))?",
  "@q": "(?:[\"'`“„「]|«[ \\xa0]?)",
  "@s": "[bfruLN@$]{0,2}[\"'`“„«「]",
  "@a": "(?::=|=>|->|→|：|[:=]={0,2})",
  // a call or a list around the value: `Buffer.from(`, `[]byte(`, `Field(default=`, `[`
  "@w": "(?:(?:new )?[\\w.:[\\]<>]{1,40}!?\\(\\s{0,2}(?:\\w{1,12} ?[=:] ?)?|[{[(]\\s{0,12})?",
  // `: &str =`, `{ get; set; } =`, `<const> =`, `[] =`
  "@t": "(?:\\s{0,4}:\\s{0,4}[^\\n=\"'`:;,]{1,50}|\\s?\\{[^{}\\n=]{1,40}\\}|\\s?<\\w{1,20}>|\\[\\w{0,6}\\])\\s{0,4}=\\s{0,4}",
  "@b": "(?:(?:bearer|basic|token|apikey|digest|negotiate)[ \\t]{1,4})?",
  "@p": "(?: (?:for|of|to|on|at|in|from|für|zum?|zur|von|d[aeiou]s?|del(?:la)?|pour|para|per|voor|van|för|till?|på|do|ke?) [^\\s:;,=!?\"'()|<>]{1,40}(?: [^\\s:;,=!?\"'()|<>]{1,40}){0,3}?)",
  "@v": "(?: (?:has|is|was|are|been|now|be|should|will|set|changed|reset|rotated|updated|generated|still|called|ist|lautet|est|es|è|é|är|er|jest|je|este|это|c'est|هي|هو|είναι|है)(?: to)?)",
  // letters with a digit, and a sign within: no word of any language, and no path, address or expression
  "@k": "(?=[^\\s\"'`]{0,40}\\d)(?=[^\\s\"'`]{0,40}[A-Za-z\\u00c0-\\uffff]{2})[^\\s\"'`,;<>()\\[\\]{}|/:=\\\\@.]{1,40}[!$%^&*?](?=[\\dA-Za-z\\u00c0-\\uffff])[^\\s\"'`,;<>()\\[\\]{}|/:=\\\\@]{1,40}(?=[\\s.,;!?\"'`」»]|$)",
  "@n": "[\\s+>|-]{1,40}(?:\\d{1,6}[→:|\\t-][\\s+>|-]{0,40})?",
};
/** The ways from a name to its value: it can be nothing else, it may be code, it is said in a sentence, or it only follows. */
const WAYS = compileTable(
  String.raw`
certain @c@t@w@s
argument ["']?\]?["']\s{0,4}(?:,|\)\s{0,4}\.(?:type|fill|send_?[kK]eys|val|setValue)\()\s{0,24}@s@b
certain ["'\])]{0,3}\s{0,4}(?:\|\||\?\?|\bor\b)\s{0,8}@s
certain [?:]{0,2} ?["'][)\s;{}]{1,40}(?:\w{1,30}\.)?(?:exp_)?send\w{0,6}[ (](?:-- )?["']
certain :[-=]|=["']?\$\((?:echo|printf) (?:-\w{1,3} |["']%s["'] )?["']?
certain ["']?(?:,\s{0,40}|@n|\s?\{[^{}]{0,200}?)(?:["']?\w{1,20}["']? ?[:=] ?["'][^"'\n]{0,60}["'],?\s{0,20})?["']?\w{0,20}(?:value|default)["']?\s{0,4}[:=]\s{0,4}["']?
element (?:["']?(?:\s[^<>\n]{0,100})?>\s{0,8}|<\/\w{1,20}>\s{0,20}<\w{1,20}>)(?=[^]{0,500}?<\/)
certain @c\s{0,24}@a\s{0,24}@w@s@b
written @c\s{0,24}@a(?:\*{1,3}|__)?\s{0,24}@b
said \(\s{0,4}@s
said @c(?:@p?@v{1,4}(?:@p?:)?| to|@p:)\s{1,2}@q{0,2}
foreign (?: [^\s:;,=!?"'()|<>]{1,40}){0,4}?(?: (?:to|e|on|là|[—–-])|@v:?|\s?[:：])\s{1,2}@q{0,2}
said \s{0,2}(?:是|为|は|가|는|은)\s{0,2}@q?
beside \s{0,2}@q
strong (?:[ \t][^\s:;,=]{1,16}){0,2}?[ \t]@q?(?=@k)
near (?:\s{0,8}\|\s{0,8}|[ \t]{1,4}[—–][ \t]{1,4}|["']?[ \t]{1,8}(?:-[A-Z]\w{1,20}[ \t]{1,4}){0,2})["']?
`,
  PARTS,
  "iy",
);
/** A value is judged by its first part and then consumed, so that many names in one long run stay linear. */
const BARE = /(?:[^\s"'`,;<>()[\]{}|&，。、」»]|&(?![\w.-]{1,40}=|&)){1,128}/y;
const REST = new RegExp(BARE.source.replace("{1,128}", "*"), "y");
const CLOSING: Record<string, string> = { "“": "”", "„": "“", "«": "»", "「": "」" };
/** In lists of pairs a value in braces may hold anything, a closing brace twice; a bare name in them is a variable. */
const BRACED = /^\{((?=[^}]*[^\w.}])(?!\w+[!:])[^{}\s$]{3,100}(?:\}\}[^{}\s]{0,100})*)\}(?=[;"']|\s|$)/;
/** The content of an element up to the next tag. */
const ELEMENT = /^[^\s<>][^<>\n]{2,198}(?=<)/;
/** Quoted values are not longer. */
const QUOTED_MAX = 4096;

interface Value {
  text: string;
  start: number;
  end: number;
  /** The name of the way in which it follows its name. */
  way: string;
  isQuoted: boolean;
}

/** The text that a way needs before the name: a call or a list, a tag. */
const BEFORE_NAME: Record<string, RegExp> = {
  argument: /\([^()]*["'`][^"'`()]{0,30}$|\[["'`](?:Authorization)?$|\["[^[\]]*"-*$/,
  element: /<[^<>\n]*$|<key>$/,
};

/** Reports the value that a name announces, and returns where it ends. */
function findNamed(text: string, name: Name, found: ReportSecret): number {
  const before = text.slice(Math.max(0, name.start - 120), name.start);
  // a model's signature under its thinking opens nothing, one in an address does
  if (/sig(?:nature)?$/i.test(name.text) && !/[?&;]$/.test(before)) return name.end;
  const [, earlier = "", rest = ""] = VALUE_BEFORE.exec(before) ?? [];
  const at = name.start - earlier.length - rest.length;
  const given = { text: earlier, start: at, end: at + earlier.length, way: "certain", isQuoted: true };
  if (earlier !== "" && isSecret(given, { name, before, text })) found(given.start, given.end, name.kind);
  const isForeign = IN_OTHER_LANGUAGE.test(name.text);
  for (const [way, pattern] of WAYS) {
    if (!isForeign && (way === "foreign" || way === "beside")) continue;
    pattern.lastIndex = name.end;
    if (BEFORE_NAME[way]?.test(before) === false || !pattern.test(text)) continue;
    const value = readValue(text, pattern.lastIndex, way);
    if (!value || !isSecret(value, { name, before, text })) continue;
    REST.lastIndex = value.end;
    const end = !value.isQuoted && value.text.length === 128 && REST.test(text) ? REST.lastIndex : value.end;
    found(value.start, end, name.kind);
    return end;
  }
  return name.end;
}

function readValue(text: string, start: number, way: string): Value | undefined {
  const quoted = (from: number, end: number) => ({
    text: text.slice(from, end),
    start: from,
    end,
    way,
    isQuoted: true,
  });
  const before = text.slice(Math.max(0, start - 62), start);
  const quote = before.at(-1) ?? "";
  const after = text.slice(start, start + 200);
  const braced = quote === "=" ? BRACED.exec(after)?.[1]?.length : undefined;
  if (braced !== undefined) return quoted(start + 1, start + 1 + braced);
  const content = way === "element" ? ELEMENT.exec(after)?.[0].length : undefined;
  if (content !== undefined) return quoted(start, start + content);
  if (/["'`“„«「]/.test(quote)) {
    const end = text.indexOf(CLOSING[quote] ?? quote, start);
    if (end !== -1 && end - start <= QUOTED_MAX && !text.slice(start, end).includes("\n"))
      return quoted(start, end);
  }
  const whole = /(["'])[A-Z0-9_]{1,60}=$/.exec(before)?.[1];
  const close = whole === undefined ? -1 : after.search(`${whole}|[\\s$\\\\]`);
  if (close > 0 && after[close] === whole) return quoted(start, start + close);
  BARE.lastIndex = start;
  const bare = BARE.exec(text)?.[0];
  return bare === undefined ? undefined : { ...quoted(start, start + bare.length), isQuoted: false };
}

/** Environment variables and npm's `_authToken`: no code follows `=`, but the value itself. */
const VARIABLE = /^(?:[A-Z0-9_]+|_[a-z]\w*)$/;
/** Matches what names a user or sets a variable just before a password. */
const BEFORE =
  /\b(?:user(?:name)?|login|email|host|port|database)["']?(?:\s?[:=]\s?\S*|\s+\S{1,100}[,;])\s+$|\blogin\s+\S{1,100}\s+$|\b(?:ENV|setx|setenv) +$/i;

const IN_OTHER_LANGUAGE =
  /[^\0-\x7f]|(?:wort|passe|senha|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|passord|parola|lozinka|geslo|jelszo)$/i;
/** Letters that go on behind a value without a blank. */
const UNSPACED = /[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]/;
/** Such letters at the beginning of a value that goes on as no word does. */
const BEGINS_UNSPACED =
  /^[\u3000-\u9fff\uac00-\ud7af]{1,6}(?=[!-~]{0,20}[!#$%^&*@~+?])(?=[!-~]{0,20}\d)(?=[!-~]{5})/;
/** A value given before its name: `value: x`, then `name: PASSWORD`. */
const VALUE_BEFORE = new RegExp(
  `\\bvalue["']?\\s?[:=]\\s?["']?([^\\s"'\`]{4,80}?)(["']?,?(?:${PARTS["@n"]})?["']?(?:name|key)["']?\\s?[:=]\\s?["']?)$`,
  "i",
);
/** An open call, an object of code, a declaration: a bare value there is a variable. */
const IN_CODE =
  /(?:[\w)\]>]\s?\(|(?:[=(,:]|=>|return)\s*\{)(?:[^(){}"'`]|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)*$|\b(?:const|let|var|val|final|auto|def)\s[^=\n]*$/;

function isSecret(
  value: Value,
  { name, before, text }: { name: Name; before: string; text: string },
): boolean {
  const { way, isQuoted } = value;
  if (name.level === TOKEN && value.text.length < RANDOM_MIN) return false;
  const between = text.slice(name.end, value.start);
  const hasScheme = /(?:bearer|basic|token|apikey|digest|negotiate)[ \t]+$/i.test(between);
  if (text.startsWith(":?", name.end)) return false; // what is said where a variable is missing
  if (/\barn:[^\s"']*$/.test(before)) return false; // names a secret
  const isAlone = /^(?:certain|argument|element)$/.test(way);
  if (!isQuoted && UNSPACED.test(name.text)) {
    const begun = BEGINS_UNSPACED.exec(value.text)?.[0].length ?? 0;
    const rest = value.text.slice(begun).search(UNSPACED);
    value.end = value.start + (rest < 0 ? value.text.length : begun + rest);
  }
  const isLast = /^["'`*\]}|\s]{0,8}?(?:\n|$)/.test(text.slice(value.end, value.end + 9));
  const isVariable =
    VARIABLE.test(name.text) &&
    (between.startsWith("=") ||
      isAlone ||
      (isLast && /^["']?:\s/.test(between) && /[A-Z]_|WORD|PHRASE/.test(name.text)) ||
      /\b(?:ENV|setx|setenv) +$/.test(before));
  const isInCode = () => IN_CODE.test(before);
  const after = text.slice(value.end, value.end + 44);
  if (isQuoted && /^["'] ?: ?["'{[\d]/.test(after)) return false; // the next name
  const isPair =
    /^=["']?$/.test(between) &&
    (/;\s?$/.test(before) ||
      /^;\s?[\w ]{1,40}=/.test(after) ||
      (/^(?:$|[\s&|"']|,\w[\w.]{0,40}=)/.test(after) && !isInCode()) ||
      (/\w=[^\s=]{1,100}[,&]$/.test(before) && !isInCode()));
  const isOption = name.text.startsWith("-");
  const isParameter = /^[:=]/.test(between) && /[?&]$|\$\{$/.test(before);
  const isBehind = BEFORE.test(before);
  const isLine = isLast && isFirst(text, name);
  const isCertain =
    [isAlone, isVariable, hasScheme, isParameter, isPair, isOption, name.kind === "cookie"].some(Boolean) ||
    DIRECTIVE.test(name.text) ||
    (isLine && (/\*\*|__/.test(between) || (/^\s?=\s?$/.test(between) && SECTION.test(before)))) ||
    (isBehind && (way === "near" || (isLast && !isInCode())));
  if (!isCertain && !isQuoted) value.end -= value.text.length - value.text.replace(/[.,:;!?*]+$/, "").length;
  const v = value.text.slice(0, value.end - value.start);
  const isData = isVariable || isOption || isPair;
  if (/\s/.test(v)) return isQuoted && isPhrase(v, { name, isData, way });
  if (!isQuoted && /[([]/.test(text.charAt(value.end))) return false;
  // a line that sets a variable holds no chain of names: dots are its own
  const isSetting = isVariable && isLine && between === "=" && /\d/.test(v);
  const look = lookAt(isSetting ? v.replaceAll(".", "-") : v, isQuoted || isData || (isLine && isBehind));
  if (name.level === TOKEN) {
    const part = lookAt(longestPart(v));
    if ((hasScheme || (isLine && isHex(v))) && look === LOOK.MIXED && v.length >= 16 && !isWords(v))
      return true;
    if (part === LOOK.RANDOM || (isCertain && part === LOOK.SCRAMBLED && v.length >= 16)) return true;
    // a hash has no 0x before its 64 digits
    if (look !== LOOK.HASH || /^0x[0-9a-f]{64}$/i.test(v)) return look === LOOK.HASH;
    if (hasScheme || name.kind === "token") return isCertain;
    return !isUuid(v) && (isVariable || isParameter || name.kind === "cookie");
  }
  if (look === LOOK.RANDOM) return true;
  const isCompound = look === LOOK.WORD && COMPOUND.test(v);
  const isSecretWord = look === LOOK.WORD && name.level === SECRET;
  if (isVariable && look !== LOOK.NONE && v.length >= 8)
    return (
      !(v.includes("/") && isWords(v)) && !(isSecretWord && (/[-_.]/.test(v) || !/[A-Z]/.test(name.text)))
    );
  const isGiven = isCertain || way === "written";
  if (name.level === SECRET) {
    if (look === LOOK.HASH || !isGiven || v.length < 8 || isFieldName(v))
      return look === LOOK.HASH && isGiven;
    if (look === LOOK.MIXED)
      return isCertain || (isLine && (v.length >= 16 || /secret$/i.test(name.text)))
        ? !isWords(v)
        : /[^\w.:/|-]/.test(v);
    if (look === LOOK.WORD)
      return (
        isQuoted &&
        isCertain &&
        way !== "argument" &&
        /secret$/i.test(name.text) &&
        v.length >= 10 &&
        !/[-.]/.test(v)
      );
    return look === LOOK.SCRAMBLED && isCertain;
  }
  const isCode =
    way === "written" &&
    /^[A-Za-z_]\w*[,)};]/.test(v + text.charAt(value.end)) &&
    (IN_CODE.test(before.replace(/["'`]$/, "")) ||
      (between !== "=" &&
        /^.\s*?(?:\n|$)/.test(text.slice(value.end, value.end + 9)) &&
        isFirst(text, name)));
  if (isCode && !isVariable && !isOption) return false;
  const isPass = /^pass$/i.test(name.text);
  const isName =
    look === LOOK.WORD &&
    (OF_SECRET.test(v) || (way === "argument" && v.includes("_")) || (isPass && between.startsWith(")")));
  if (isName) return false;
  const isWord = isBehind ? isQuoted : isVariable || (isOption && between === "=");
  if (isCertain) return look >= LOOK.WORD || (isWord && isGivenWord(v));
  const isColumn = way === "near" && isLine && /["'|\t]|\s{2}/.test(between);
  if (look === LOOK.WORD && way === "beside") return isCompound;
  if (look === LOOK.WORD) {
    if (isPass || /^\s*["'`]/.test(between))
      return !isPass && /^ /.test(between) && !name.text.startsWith("$");
    if (between.startsWith("(")) return /\.p/i.test(name.text);
    const isChanged = !/^ to\b/.test(between) || /(?:set|chang|updat)\w*\s[^.\n]{0,30}$/i.test(before);
    if (way === "said" || way === "foreign") return isQuoted || (isCompound && isChanged);
    if (isLast && /^: ?$/.test(between) && isCompound && LABEL.test(before)) return true;
    if (isLine && /^: ?$/.test(between) && isPlainWord(v) && /^[a-z]/.test(name.text)) return true;
    return isLine && way === "near"
      ? isCompound
      : isJoined(v) && isLast && (isLine || between.startsWith(":"));
  }
  if (look < LOOK.MIXED || v.length < 5) return false;
  if (isGiven || isColumn) return true;
  if (/[/\\]|\w\.\w|::/.test(v)) return false;
  if (between.includes("|")) return isFirst(text, name);
  return way === "said" || (!isPass && (isQuoted || (/\d/.test(v) && !isWords(v))));
}

/** Returns whether a value is one small word that does not describe a field. */
const isPlainWord = (text: string): boolean =>
  /^[a-z]{8,}$/.test(text) && !/(?:ed|en|ble|ory|ive|ing|ent)$/.test(text);

/** Several words are a passphrase where data can mean nothing else, or where they make no sentence. */
function isPhrase(v: string, { name, isData, way }: { name: Name; isData: boolean; way: string }): boolean {
  const count = v.split(/\s+/).length;
  const isPlain = /\d/.test(v) || !/[A-Z.,]/.test(v);
  if (v.length > 200 || name.level < SECRET || isStandIn(v) || ABOUT_FIELD.test(v) || !/\p{L}{3}/u.test(v))
    return false;
  if (asksForValue(v) && count < 3) return false;
  if (isData) return name.level === PASSWORD || !SENTENCE.test(v);
  if (name.level < PASSWORD || way === "near" || count > 8 || !isPlain) return false;
  return way === "element" || !SENTENCE.test(v);
}

/** Returns whether a name is the first on its line, or in the first cell of a row. */
function isFirst(text: string, name: Name): boolean {
  const content = contentStart(text, lineStart(text, name.start));
  return /^[\s*_`|-]*$/.test(text.slice(content, name.start));
}

/** Levels of a name by the value it needs: `token` and `key` need a random one, `secret` a mixed one, `password` nearly any. */
export const [TOKEN, SECRET, PASSWORD] = [1, 2, 3];

/** Endings of such names; a letter behind one makes it another word (`keyboard`, `passed`). */
const ENDINGS: [level: number, endings: string][] = [
  [
    PASSWORD,
    "p?assword|pass(?:wd|wort|phrase|code|e)?|pwd|pw|psk|mdp|authtok|kennwort|senh?a|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|passord|parola|lozinka|geslo|jelszo|pepper|rootpw|securestring",
  ],
  [SECRET, "secrets?(?:_?id)?|credentials?|creds|mnemonic|geheimnis|segredo|secreto"],
  [
    TOKEN,
    "token|key|auth(?:orization|n)?|bearer|basic|sig(?:nature)?|clave|wallet|seed|salt|(?:sess(?:ion)?(?:[_-]?id)?|sid)(?==)",
  ],
];
const NAME_ENDS = `(?:${ENDINGS.map(([, endings]) => endings).join("|")})(?![a-z])`;
/** Names beyond ASCII, looked for only in texts with such letters. */
const FOREIGN_NAMES =
  /contraseñas?|hasł[aoe]m?|şifre(?:si|m|niz)?|parolası|lösenord(?:et)?|parolă|salasana(?=ä)|jelsz(?:ó|av)[a-z]{0,3}|парол[ьяіюеиа]м?|密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호|كلمة (?:ال)?(?:مرور|سر)|סיסמ[הת]|รหัสผ่าน|mật khẩu|κωδικός|पासवर्ड/gi;
const LEVELS = ENDINGS.map(
  ([level, endings]) => [level, new RegExp(`^(?:${endings.replace("(?==)", "")})$`, "i")] as const,
);
/** Endings that other words have, too, unless one of `JOINED` precedes them. */
const SHORT = /^(?:pass|mdp|pwd?|psk|key|auth|sig|sid|sess|seed|salt|session)$/i;
const JOINED =
  /(?:api|access|secret|private|auth|db|pg|ssh|sql|user|root|admin|smtp|php|j|asp|bind|store|key|require|master)$/i;
/** Words before `key` or `token` that make it a secret one, and words that make it harmless. */
const QUALIFIER =
  /^(?:api|access|secret|private|auth\w*|encryption|encrypt|signing|account|shared|master|admin|app|service|client|consumer|deploy|bot|webhook|license|jwt|hmac|unseal|root|refresh|bearer|oauth\d?|security|personal|[cx]srf|vault|wallet|fernet|storage|hub|rapidapi|registration|runner|job|ci|x|wlan|wifi|wpa|preshared)$/i;
const HARMLESS =
  /^(?:public|pub|primary|foreign|cache|partition|sort|idempotency|dedup\w*|lookup|object|map|query|row|unique|group|hash|site|publishable|page|next|continuation|sync|cursor|delta|design|max|min|num|json|config|translation|sha|react|shortcut)$/i;
/** Endings of a name that leave its meaning as it is. */
const TAIL =
  /[_-](?:base|data|value|prod|production|dev|staging|test|live|old|new|plain|raw|b64|hex|\d{1,2})(?![A-Za-z0-9])|\d{1,2}(?![\w.])/iy;
const NAME_MAX = 60;

interface Name {
  /** As it is written, with its prefix. */
  text: string;
  start: number;
  end: number;
  level: number;
  kind: string;
}

const IN_NAME = /[\w$.-]/;

/** Returns where the characters of a kind begin that end at a place. */
function startOfRun(text: string, end: number, kind: RegExp): number {
  let start = end;
  while (start > 0 && end - start < NAME_MAX && kind.test(text.charAt(start - 1))) start--;
  return start;
}

/** Reads the whole name that has its ending at a place. */
function nameEndingAt(text: string, at: number, ending: string): Name | undefined {
  let end = at + ending.length;
  const level = BEYOND_ASCII.test(ending)
    ? PASSWORD
    : LEVELS.find(([, endings]) => endings.test(ending))?.[0];
  if (level === undefined) return undefined;
  const start = startOfRun(text, at, IN_NAME);
  const prefix = text.slice(start, at);
  const isJoined = /[a-z]$/.test(prefix)
    ? /^[a-z]/.test(ending)
    : /[A-Z]$/.test(prefix) && /^[A-Z]{2}/.test(ending);
  if (isJoined && SHORT.test(ending) && !JOINED.test(prefix)) return undefined;
  TAIL.lastIndex = end;
  if (TAIL.test(text)) end = TAIL.lastIndex;
  if (/^(?:[A-Za-z0-9$]|_+[A-Za-z0-9]|[.-][a-z])/.test(text.slice(end, end + 3))) return undefined;
  const joint = /[ _.$-]/.test(text.charAt(at - 1)) ? at - 1 : at;
  const word = text.slice(startOfRun(text, joint, /[A-Za-z\d]/), joint);
  const qualifier = /(?:[A-Z]?[a-z\d]+|[A-Z\d]+)$/.exec(word)?.[0] ?? "";
  if (level !== PASSWORD && HARMLESS.test(qualifier)) return undefined;
  const isSecret = level === TOKEN && QUALIFIER.test(qualifier);
  return {
    text: text.slice(start, end),
    start,
    end,
    level: isSecret ? SECRET : level,
    kind: nameKind(ending, level),
  };
}

function nameKind(ending: string, level: number): string {
  if (level === PASSWORD) return "password";
  if (/^s(?:ess|id)/i.test(ending)) return "cookie";
  const kind = /token|key|auth/i.exec(ending)?.[0].toLowerCase() ?? "secret";
  return kind === "auth" ? "authorization" : kind;
}

/** A word that each place has at its beginning, or right behind what is looked back at. */
const PLACE_WORDS =
  "(?:pass)?code(?= is|:)|(?<= is your (?:\\w{1,20} ){0,3})code\\b|codes(?= ?:|\\n)|pin(?= ?[:=]| is| was| code)|t?otp(?![a-z])|[2m]fa(?![a-z])|phrase|freerdp(?= )|identified|wifi:|sudo -S|chpasswd|password-stdin|login(?: |[\"'], ?[\"'])-|log ?in(?= with| as| is|:)|-u(?: |[\"'], ?[\"'])|from-literal|net use|htpasswd|rabbitmqctl|pdo\\(|mysqli\\(|nect\\w{0,8}\\(|log[io]n\\(|auth(?:enticate| ?= ?)?\\(|credentials?(?: ?= ?|\\.\\w{1,20})?\\(|(?<=password)(?:token|auth\\w{0,12})\\(|get-secret|secrets versions|auth token|base64 -|pass show|op:|raw |field=|(?<=[ \"'])-(?=[apwsnx])|nect(?= )|secrets? (?=set|put|create|add|update)|secret(?:-value)?(?= )|securestring(?= )|passwd(?= )|login(?= '|(?: \\S{1,60}@))|creden[cz]ial[ei]s?|zugangsdaten|identifiants|inloggegevens|(?<![\\w.]|\\w-)(?:sqlplus|sqlldr|rman|etcdctl|lftp|openssl|smbclient|curl|wget|xh|https?|hurl)(?: |[\"'], ?[\"'])";

/** Kinds, and what precedes a value; `@a` matches other arguments, `@v` the value, bare or in quotes. */
const COMMANDS = String.raw`
password (?<=@g(?:sshpass|mongo\w*|cqlsh|psexec\w*|rdesktop|winexe|login|upload)@a )-p ?@v
password (?<=@g(?:mysql\w*|mariadb\w*|7z\w?|u?n?rar)@a )-p@v
password (?<=@g(?:sqlcmd|bcp|ipmitool|u?n?zip|mosquitto_\w+)@a )-P ?@v
password (?:(?<=@gredis-cli@a )-a|(?<=@gldap\w+@a )-[ws]|(?<=@gssh-keygen@a )-[NP]|(?<=@gsnmp\w+@a )-[AX]) @v
password (?:openssl@a -(?:k |(?:pass(?:in|out)? )?pass:)|freerdp@a /p:|smbclient@a -U ?["']?[^\s%"']{1,60}%)@v
password (?:curl|wget|xh|https?|hurl|etcdctl|lftp)@a (?:-u|-a|--(?:proxy-)?user|--auth)(?:=| ){1,2}["']?[^\s:,"'$]{1,100}[:,]@v
password (?:htpasswd -\w*b\w* \S{1,100}|rabbitmqctl \w+|(?<=wpa_)passphrase|net user(?=[^\n]* /)) \S{1,60} @v
password net use \S{1,4} \S{1,200} (?:(?=\S{1,99} /user)|/user:\S{1,60} )@v
password (?<=^|\n|> |["'])AUTH (?:\w{1,30} )?@d(?=["'\s]|$)
password (?<=(?:USER |331 )[^\n]{0,80}\n(?:[<>-]{1,3} )?)PASS @v
password (?<=(?:^|\n)\w{1,8} )LOGIN \S{1,60} @d
password (?:sudo -S|passwd|chpasswd)@a <<< ?@v
secret (?:secrets? (?:set|put|create|add|update)|(?<=(?:create|put|update)-)secret\S{0,6}|SecureString)@a (?:-b ?|(?:--body|--value|--secret-string|--data)(?: |=)|[A-Z]\w{1,40}=)@v
secret secrets? set ["']?[\w:.-]{1,60}["']? @v
password -[uU] @w @a-[pP] ?@d
password from-literal[= ]["']?[\w.-]{1,60}=@v
password PASSWORD(?: FOR \S{1,60})?\s{0,4}[=(]?\s{0,4}N?'([^'\n]{3,200})'
password (?<=(?:echo|printf)(?: -\w{1,3}| ["']%s(?:\\n)?["'])? ["']?(?:[\w.-]{1,40}:)?([^\s"'$|:]{4,100})["']? ?\| ?[^|\n]{0,80}?)(?:sudo -S|chpasswd|password-stdin|passwd --stdin|secrets? (?:set|create|put))
secret (?:KEY|[Kk]ey)@s[:=]@s((?=[^\n]{0,40}\d)(?:[A-Z0-9]{4,6}-){3,7}[A-Z0-9]{4,6})(?![\w-])
pin (?:PIN|[Pp]in [Cc]ode)@s(?:[:=]|is|was)@s(\d{4,8})(?!\w|[.-]\w)
secret (?:(?<=op )read op:|(?<=read ["']?)op:|get-secret|secrets versions|auth token|(?<=\|\s{0,4})base64 -(?:d|D|-decode)|pass show|(?<=output -)raw |(?<=-)field=)@l
`;

const SENTENCES = String.raw`
password key content\s{0,20}: (\S{8,63})
password (?:(?:sqlplus|sqlldr|rman|nect)@a |nect\(["'])\w{1,30}/([^\s"'@/]{4,60})(?=@)
password (?:pdo|mysqli|nect(?:ion)?)\((?:@x, ?){0,1}@x, ?(?:@u, ?["']([^"'\n/:.\s]{4,200})["']|(?<=["'], ?)["']([^"'\n/:.\s-]{0,99}\d[^"'\n/:.\s-]{0,99})["'],)
password (?:(?<=set_)password|auth ?= ?|(?<=basic_?|plain|digest|proxy)auth|authenticate|log[io]n|(?<=password)(?:token|auth\w{0,12})|credentials?(?: ?= ?|\.\w{1,20})?)[( ](?:@x, ?)?@u, ?(?:Some\()?["']([^"'\n\s-][^"'\n]{3,200})["']
password identified(?: with [\w'"]{1,40})? (?:by|as)\s{1,4}(?:["']([^'"\n]{3,200})["']|([^\s'"<:;]{4,60})(?=;))
password (?:creds|credentials?|zugangsdaten|identifiants|credenciales|credenziali|inloggegevens|auth|log ?in(?: with| as| is|:))["']?(?: are| is)?[ :=]{1,3}["']?[\w.@-]{1,60} ?[:/] ?(@m[^\s"'<>,;/]{6,100})
password (?<=\b(?:use[ds]?|try|it'?s) ["']?(@m[^\s"'<>]{6,100})["']? (?:as|for) (?:\w{1,12} ){0,2})pass(?:word|phrase)(?! \w)
password pass(?:word|phrase)(?:[^\n.!?]{0,40},)? (?:it'?s|it is|new one is)(?: now)? ["']?(@m[^\s"'<>,;]{6,100})
password wifi:(?:[STH]:[^;\n]{0,64};){0,3}P:([^;\n]{4,100});
code (?:(?<=(?:tion|time|ity|login|sign-?in|2fa|mfa|unlock) (?:pass)?)code|passcode|otp)(?: is|:)@s(\d{3}[ -]\d{3}|\d{4,8})(?!\w|[.-]\w)
password pass(?:phrase|word)@s(?:[:=]|is)@s(?![^\n]{0,99}@r)((?:[a-z]{3,12}[ -]){3,9}[a-z]{3,12})(?=["'.,;\s]|$)
secret (?<=\bcat [\w~./-]{0,80})(?:pass(?:word|phrase)?|token|secret(?:s/[\w.-]{1,60})?)(?:\.txt)?(?=\s)@l
code (?<=\b(\d{4,8}) is your (?:\w{1,20} ){0,3})code\b
pin (?<=\b(?:my|your|card|door|alarm|sim|phone|unlock) )pin@s(?:[:=]|is|was)@s(\d{4,8})(?!\w|[.-]\w)
code (?<=(?:recovery|backup|scratch|emergency) )codes\W{1,8}((?=[^\n]{0,20}\d)@c(?:["',;\s]{1,4}@c){0,20})
secret (?:t?otp|[2m]fa|(?<=setup[ _-])key)(?:[ _-]?(?:secret|seed|key))?@s(?:[:=]|is)?@s(@t)=*(?![\w-])
mnemonic (?:mnemonic|wallet|seed|phrase)(?:[ _-](?:recovery|seed|secret|backup))?(?:[ _-](?:phrase|words))?@s(?:(?:is|are)?[:=]|is|are)@s((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b
`;
const PLACE_PARTS: Record<string, string> = {
  "@a": "[^\\n;]{0,200}?",
  "@g": "(?<![\\w.]|\\w-)",
  "@v": "(?:\"([^\"$\\n]{3,100})\"|'([^'$\\n]{3,100})'|[\"']?([^\\s\"'|;&<>$:/-][^\\s\"'|;&<>]{2,199}))",
  "@w": "[\"']?[^\\s\"']{1,60}[\"']?",
  "@d": "[\"']?((?=[^\\s\"']*(?:\\d|[a-z][A-Z]))(?=[^\\s\"']*[A-Za-z])(?![^\\s\"']*[:/])[^\\s\"'|;&<>$-][^\\s\"'|;&<>]{4,100})",
  "@x": "(?:[^\"'(),\\n]{1,60}|\"[^\"\\n]{0,100}\"|'[^'\\n]{0,100}')",
  "@u": "(?:\"[^\"\\n]{1,100}\"|'[^'\\n]{1,100}')",
  "@l": "[^\\n|]{0,200}\\n[ \\t+>|]{0,20}(?:\\d{1,6}[→:|\\t-])?[ \\t]{0,8}([^\\s\"'`{}<>()\\[\\],;]{6,200})(?=[\"'}\\]]{0,4}[ \\t]*(?:\\n|$))",
  "@s": "[\"'`*]{0,3}\\s{0,4}[\"'`*]{0,3}",
  "@r": `(?:${SENTENCE.source})`,
  "@m": "(?=[^\\s\"'<>]{0,99}\\d)",
  "@c": "[a-z0-9]{4,8}[- ]?[a-z0-9]{4,8}",
  "@t": "[A-Z2-7]{16,128}|(?=[A-Z -]{1,60}[2-7])(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{1,8}",
};

/** The places of a table, and a pattern for any of them: most words are at none. */
interface Places {
  any: RegExp;
  /** Compiled once a text is at one of them. */
  each: () => readonly [string, RegExp][];
}

function compilePlaces(table: string, flags: string): Places {
  // between arguments is a blank, or what separates them in a list
  const spaced = table.replace(/(?<!^\w+) (?![^[\]\n]*\])/gm, `(?: |["'], ?["'])`);
  const rows = readTable(spaced, PLACE_PARTS);
  let compiled: [string, RegExp][] | undefined;
  return {
    any: new RegExp(rows.map(([, source]) => source).join("|"), flags),
    each: () => (compiled ??= rows.map(([kind, source]) => [kind, new RegExp(source, `d${flags}`)])),
  };
}

let places: readonly Places[] | undefined;

/** Returns all places, compiled with the first word that may be at one: many runs meet none. */
function openPlaces(): readonly Places[] {
  places ??= [compilePlaces(COMMANDS, "y"), compilePlaces(SENTENCES, "iy")];
  return places;
}

/** Returns whether a value is a word, and not the name of its field. */
const isGivenWord = (value: string): boolean =>
  (/^[a-z]{6,40}$/.test(value)
    ? !FIELD.test(value)
    : /^(?=.*[a-z])[A-Za-z]{6,40}$/.test(value) && !isFieldName(value)) &&
  !isStandIn(value) &&
  !asksForValue(value);

/** A section of a file of settings, in which no code stands. */
const SECTION = /(?:^|\n)[\s+>|\d→-]{0,12}\[[\w .:"-]{1,40}\]\s*\n[^()[\]{};]*$/;
/** The beginning of a label in words: `Your new`. */
const LABEL = /(?:^|\n)\P{L}{0,12}\p{Lu}\p{Ll}+(?: \p{L}+){0,4} $/u;
/** Calls that set a password, and settings that no code has. */
const DIRECTIVE = /^(?:\w+\.)*set[A-Z_]|^(?:requirepass|masterauth|rootpw|bindpw)$|authtok$/;
const COMPOUND = /\p{L}[-_.]\p{L}|\p{Ll}\p{Lu}/u;
/** A label is not itself a secret: in another language, or as the name of a field. */
const OF_SECRET = new RegExp(`(?:${NAME_ENDS}|${FOREIGN_NAMES.source})$`, "i");
/** Names of fields and variables. */
const FIELD = /^(?:pass(?:word|wd)?|pwd|secret|token|required)$/i;

/** Reports the value at this place, and returns where it ends. */
function findPlaced(text: string, at: number, found: ReportSecret): number {
  for (const { any, each } of openPlaces()) {
    any.lastIndex = at;
    if (!any.test(text)) continue;
    for (const [kind, pattern] of each()) {
      pattern.lastIndex = at;
      const [start, end] = pattern.exec(text)?.indices?.slice(1).find(Boolean) ?? [0, 0];
      const value = text.slice(start, end);
      if (end === 0 || isStandIn(value, /["']/.test(text.charAt(start - 1))) || FIELD.test(value)) continue;
      if (/\s/.test(value) && kind !== "mnemonic" && SENTENCE.test(value)) continue;
      found(start, end, kind);
      return Math.max(at, end);
    }
  }
  return at;
}

/** Every word that may announce a secret: of a name, a sentence, a command. */
const ANNOUNCING = new RegExp(`${NAME_ENDS}|${PLACE_WORDS}`, "iy");
const BEYOND_ASCII = /[^\0-\x7f]/;
const IN_ROW_MAX = 8;

/** Reports the secrets that words announce. */
export function findAnnounced(text: string, words: readonly number[], found: ReportSecret): void {
  let from = 0;
  let inRow = 0;
  let isHeading = false;
  for (const at of words) {
    ANNOUNCING.lastIndex = at;
    const word = at < from ? undefined : ANNOUNCING.exec(text)?.[0];
    if (word === undefined) continue;
    inRow = at - from < 6 ? inRow + 1 : 0;
    from = at + word.length;
    isHeading ||= ENDS_CELL.test(text.slice(from, from + 41)) && HEADING.test(word);
    // a run made of names would be judged again from each of them
    const end = inRow > IN_ROW_MAX ? 0 : findValue(text, at, word, found);
    if (end <= from) continue;
    inRow = 0;
    from = end;
  }
  if (isHeading) findInColumns(text, found);
}

/** Reports the secrets that names beyond ASCII announce. */
export function findForeign(text: string, found: ReportSecret): void {
  for (const { index, 0: name } of text.matchAll(FOREIGN_NAMES)) findValue(text, index, name, found);
}

/** Lists of names, and what stands at the same places below or behind them: tables, files of rows, inserts. */
const TABLES: [separator: string, table: RegExp][] = [
  [
    "|",
    /^([^\n]*\|[^\n]*)\n[^\n|:-]{0,12}\|?[ \t]*:?-{2,}[-:|+ \t]*\n((?:[^\n]*\|[^\n]*(?:\n|$)){1,200})/dgm,
  ],
  [",", /^([\w ]{1,40}(?:,[\w ]{1,40}){1,20})\n((?:[^\n(),]*,[^\n()]*(?:\n|$)){1,200})/dgm],
  [";", /^([\w ]{1,40}(?:;[\w ]{1,40}){1,20})\n((?:[^\n();]*;[^\n()]*(?:\n|$)){1,200})/dgm],
  [",", /\binto\s[^\n()]{1,80}\(([^()]{1,400})\)\s*values\s*\(([^()]{1,400})\)/dgi],
];
const ENDS_CELL = /^["`* ]{0,40}[,;|\n)]/;
const HEADING = new RegExp(`(?:^|[\\s_*"\`-])(?:${ENDINGS[0]?.[1]})[\\s*"\`]*$`, "i");

/** Reports what stands in a column of passwords. */
function findInColumns(text: string, found: ReportSecret): void {
  for (const [separator, table] of TABLES) {
    for (const { indices, 1: heading = "", 2: rows = "" } of text.matchAll(table)) {
      const columns = heading.split(separator).flatMap((cell, i) => (HEADING.test(cell) ? [i] : []));
      let at = indices?.[2]?.[0] ?? 0;
      for (const row of columns.length > 0 ? rows.split("\n") : []) {
        let start = at;
        for (const [i, cell] of row.split(separator).entries()) {
          const value = cell.replace(/^[\s`*"']+|[\s`*"']+$/g, "");
          const from = start + cell.indexOf(value);
          const isLiteral = /["']/.test(text.charAt(from - 1));
          const look =
            columns.includes(i) && !/\s/.test(value) && !OF_SECRET.test(value)
              ? lookAt(value, true)
              : LOOK.NONE;
          if (look >= LOOK.MIXED || (look >= LOOK.WORD && (isLiteral || COMPOUND.test(value))))
            found(from, from + value.length, "password");
          start += cell.length + 1;
        }
        at += row.length + 1;
      }
    }
  }
}

function findValue(text: string, at: number, word: string, found: ReportSecret): number {
  const end = findPlaced(text, at, found);
  const name = end > at ? undefined : nameEndingAt(text, at, word);
  if (!name) return end;
  return findNamed(text, name, found);
}
