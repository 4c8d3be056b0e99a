/**
 * Finds the values that may be secrets, each with its place and the name that announces it: assigned, given as an option, in an
 * element, as a sibling (`name`, `value`), said, given to a command, in a column. The table of features judges them.
 */

import { SENTENCE } from "./looks.ts";
import { FOREIGN_NAMES, NAME_ENDS, type Name, PASSWORD, PASSWORD_NAME, readName } from "./names.ts";

/** A value that may be a secret, and where it stands. */
export interface Candidate {
  start: number;
  end: number;
  kind: string;
  /** What its name makes of it. */
  level: number;
  /** The way it is given. */
  way: string;
  isQuoted: boolean;
  /** Where the name begins and ends: for values without one, at the value. */
  name: { text: string; start: number; end: number };
}

/** Judges a candidate and returns whether it is a secret. */
export type Judge = (candidate: Candidate) => boolean;

/** Compiles the rows of a table: a word, and the source of a pattern in which parts are put. */
function compile(table: string, parts: Record<string, string>, flags: string): [string, RegExp][] {
  return table
    .trim()
    .split("\n")
    .map((row) => {
      const at = row.indexOf(" ");
      const source = row.slice(at + 1).replace(/@[a-z]/g, (part) => parts[part] ?? part);
      return [row.slice(0, at), new RegExp(source, flags)];
    });
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
/** The ways from a name to its value. */
const WAYS = compile(
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

/** What has to stand before the name for a way to be one: a call or a list, a tag. */
const BEFORE_NAME: Record<string, RegExp> = {
  argument: /\([^()]*["'`][^"'`()]{0,30}$|\[["'`](?:Authorization)?$|\["[^[\]]*"-*$/,
  element: /<[^<>\n]*$|<key>$/,
};
/** A value is judged by its first part and then consumed, so that many names in one long run stay linear. */
const BARE = /(?:[^\s"'`,;<>()[\]{}|&，。、」»]|&(?![\w.-]{1,40}=|&)){1,128}/y;
const REST = new RegExp(BARE.source.replace("{1,128}", "*"), "y");

const CLOSING: Record<string, string> = { "“": "”", "„": "“", "«": "»", "「": "」" };
/** In lists of pairs a value in braces may hold anything, a closing brace twice; a bare name in them is a variable. */
const BRACED = /\{((?=[^}]*[^\w.}])(?!\w+[!:])[^{}\s$]{3,100}(?:\}\}[^{}\s]{0,100})*)\}(?=[;"']|\s|$)/y;
/** What an element holds besides others. */
const ELEMENT = /[^\s<>][^<>\n]{2,198}(?=<)/y;
/** Quoted values are not longer. */
const QUOTED_MAX = 4096;
/** A value given before its name: `value: x`, then `name: PASSWORD`. */
const VALUE_BEFORE = new RegExp(
  `\\bvalue["']?\\s?[:=]\\s?["']?([^\\s"'\`]{4,80}?)(["']?,?(?:${PARTS["@n"]})?["']?(?:name|key)["']?\\s?[:=]\\s?["']?)$`,
  "i",
);
const IN_OTHER_LANGUAGE =
  /[^\0-\x7f]|(?:wort|passe|senha|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|passord|parola|lozinka|geslo|jelszo|parool|lykilord|kodeord|sandi)$/i;
/** Letters that go on behind a value without a blank, and such letters at the beginning of a value that goes on as no word does. */
const UNSPACED = "\\u3000-\\u9fff\\uac00-\\ud7af";
const WITHOUT_BLANK = new RegExp(
  `^(?:[${UNSPACED}]{1,6}(?=[!-~]{0,20}[!#$%^&*@~+?])(?=[!-~]{0,20}\\d)(?=[!-~]{5}))?[^${UNSPACED}\\uff00-\\uffef]*`,
);

/** Offers the values that a name announces until one is a secret, and returns where that ends. */
function findNamed(text: string, name: Name, judge: Judge): number {
  const before = text.slice(Math.max(0, name.start - 120), name.start);
  const [, earlier = "", rest = ""] = VALUE_BEFORE.exec(before) ?? [];
  const at = name.start - earlier.length - rest.length;
  const given = { kind: name.kind, level: name.level, name };
  if (earlier) judge({ ...given, start: at, end: at + earlier.length, way: "certain", isQuoted: true });
  const isForeign = IN_OTHER_LANGUAGE.test(name.text);
  for (const [way, pattern] of WAYS) {
    if (!isForeign && (way === "foreign" || way === "beside")) continue;
    pattern.lastIndex = name.end;
    if (BEFORE_NAME[way]?.test(before) === false || !pattern.test(text)) continue;
    const value = readValue(text, { start: pattern.lastIndex, way, name });
    if (value && judge({ ...given, ...value, way })) return endOfValue(text, value);
  }
  return name.end;
}

/** Reads the value that begins here: in quotes, in braces, what an element holds, or up to a blank or a bracket. */
function readValue(text: string, { start, way, name }: { start: number; way: string; name: Name }) {
  const quoted = (from: number, end: number) => ({ start: from, end, isQuoted: true });
  const quote = text.charAt(start - 1);
  const inside = way === "element" ? ELEMENT : quote === "=" ? BRACED : undefined;
  if (inside) {
    inside.lastIndex = start;
    const [whole, braced] = inside.exec(text) ?? [];
    if (braced) return quoted(start + 1, start + 1 + braced.length);
    if (whole) return quoted(start, start + whole.length);
  }
  if (/["'`“„«「]/.test(quote)) {
    const end = text.indexOf(CLOSING[quote] ?? quote, start);
    if (end !== -1 && end - start <= QUOTED_MAX && !text.slice(start, end).includes("\n"))
      return quoted(start, end);
  }
  const whole = /(["'])[A-Z0-9_]{1,60}=$/.exec(text.slice(Math.max(0, start - 62), start))?.[1];
  const close = whole === undefined ? -1 : text.slice(start, start + 200).search(`${whole}|[\\s$\\\\]`);
  if (close > 0 && text[start + close] === whole) return quoted(start, start + close);
  BARE.lastIndex = start;
  let bare = BARE.exec(text)?.[0];
  if (bare === undefined) return undefined;
  if (/[^\0-\u2fff]/.test(name.text)) bare = WITHOUT_BLANK.exec(bare)?.[0] ?? bare;
  // a sentence ends behind it
  else if (!/[=-]/.test(text.charAt(start - 1)) && bare.length < 128) bare = bare.replace(/[.,:;!?*]+$/, "");
  return { start, end: start + bare.length, isQuoted: false };
}

/** Returns where a value ends that was judged by its first part. */
export function endOfValue(
  text: string,
  { start, end, isQuoted }: Pick<Candidate, "start" | "end" | "isQuoted">,
): number {
  REST.lastIndex = end;
  return !isQuoted && end - start === 128 && REST.test(text) ? REST.lastIndex : end;
}

const PLACE_WORDS =
  "(?:pass)?code(?= is|:|\\b)|codes(?= ?:|\\n)|pin(?= ?[:=]| is| was| code)|t?otp(?![a-z])|[2m]fa(?![a-z])|phrase|freerdp(?= )|identified|wifi:|sudo -S|chpasswd|password-stdin|login(?: |[\"'], ?[\"'])-|log ?in(?= with| as| is|:)|-u(?: |[\"'], ?[\"'])|from-literal|net use|htpasswd|rabbitmqctl|pdo\\(|mysqli\\(|nect\\w{0,8}\\(|log[io]n\\(|auth(?:enticate| ?= ?)?\\(|credentials?(?: ?= ?|\\.\\w{1,20})?\\(|(?<=password)(?:token|auth\\w{0,12})\\(|get-secret|secrets versions|auth token|base64 -|pass show|op:|raw |field=|(?<=[ \"'])-(?=[apwsnx])|nect(?= )|secrets? (?=set|put|create|add|update)|secret(?:-value)?(?= )|securestring(?= )|passwd(?= )|login(?= '|(?: \\S{1,60}@))|creden[cz]ial[ei]s?|zugangsdaten|identifiants|inloggegevens|(?<![\\w.]|\\w-)(?:sqlplus|sqlldr|rman|etcdctl|lftp|openssl|smbclient|curl|wget|xh|https?|hurl)(?: |[\"'], ?[\"'])";

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
secret (?<=(?:echo|printf)(?: -\w{1,3}| ["']?%s(?:\\n)?["']?)? ["']?([^\s"'$|>]{6,200})["']? ?>{1,2} ?[\w./~-]{0,60}?)(?:pass(?:wd|word)?|pw|secrets?|token|key|creds?|credentials?)(?![a-z])
secret (?:KEY|[Kk]ey)@s[:=]@s((?=[^\n]{0,40}\d)(?:[A-Z0-9]{4,6}-){3,7}[A-Z0-9]{4,6})(?![\w-])
pin (?:PIN|[Pp]in [Cc]ode)@s(?:[:=]|is|was)@s(\d{4,8})(?!\w|[.-]\w)
secret (?:(?<=op )read op:|(?<=read ["']?)op:|get-secret|secrets versions|auth token|(?<=\|\s{0,4})base64 -(?:d|D|-decode)|pass show|(?<=output -)raw |(?<=-)field=)@l
`;

const SENTENCES = String.raw`
password key content\s{0,20}: (\S{8,63})
password (?:(?:sqlplus|sqlldr|rman|nect)@a |nect\(["'])\w{1,30}/([^\s"'@/]{4,60})(?=@)
password (?:pdo|mysqli|nect(?:ion)?)\((?:@x, ?){0,1}@x, ?(?:(?<=["'], ?)["']([^"'\n/:.\s-]{0,99}\d[^"'\n/:.\s-]{0,99})["'],|@u, ?["']([^"'\n/:.\s]{4,200})["'])
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
  "@r": `(?:${SENTENCE})`,
  "@m": "(?=[^\\s\"'<>]{0,99}\\d)",
  "@c": "[a-z0-9]{4,8}[- ]?[a-z0-9]{4,8}",
  "@t": "[A-Z2-7]{16,128}|(?=[A-Z -]{1,60}[2-7])(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{1,8}",
};

/** The places of a table, and a pattern for any of them: most words are at none. */
interface Places {
  way: string;
  any: RegExp;
  /** Compiled once a text is at one of them. */
  each: () => readonly [string, RegExp][];
}

function compilePlaces(way: string, table: string, flags: string): Places {
  // between arguments is a blank, or what separates them in a list
  const spaced = table.replace(/(?<!^\w+) (?![^[\]\n]*\])/gm, `(?: |["'], ?["'])`);
  let compiled: [string, RegExp][] | undefined;
  const any = compile(spaced, PLACE_PARTS, flags).map(([, { source }]) => source);
  return {
    way,
    any: new RegExp(any.join("|"), flags),
    each: () => (compiled ??= compile(spaced, PLACE_PARTS, `d${flags}`)),
  };
}

let places: readonly Places[] | undefined;

/** Offers what is given at this place, and returns where it ends. */
function findPlaced(text: string, at: number, judge: Judge): number {
  // compiled with the first word that may be at one: many runs meet none
  places ??= [compilePlaces("command", COMMANDS, "y"), compilePlaces("sentence", SENTENCES, "iy")];
  for (const { way, any, each } of places) {
    any.lastIndex = at;
    if (!any.test(text)) continue;
    for (const [kind, pattern] of each()) {
      pattern.lastIndex = at;
      const [start, end] = pattern.exec(text)?.indices?.slice(1).find(Boolean) ?? [0, 0];
      if (end === 0) continue;
      const isQuoted = /["']/.test(text.charAt(start - 1));
      const name = { text: "", start, end: start };
      if (judge({ start, end, kind, level: PASSWORD, way: `${way} ${kind}`, isQuoted, name }))
        return Math.max(at, end);
    }
  }
  return at;
}

/** Every word that may announce a secret: of a name, a sentence, a command. */
const ANNOUNCING = new RegExp(`${NAME_ENDS}|${PLACE_WORDS}`, "iy");
const IN_ROW_MAX = 8;

/** Offers what words announce. */
export function findAnnounced(text: string, words: readonly number[], judge: Judge): void {
  let from = 0;
  let inRow = 0;
  let isHeading = false;
  for (const at of words) {
    ANNOUNCING.lastIndex = at;
    const word = at < from ? undefined : ANNOUNCING.exec(text)?.[0];
    if (word === undefined) continue;
    inRow = at - from < 6 ? inRow + 1 : 0;
    from = at + word.length;
    isHeading ||= PASSWORD_NAME.test(word) && ENDS_CELL.test(text.slice(from, from + 41));
    // a run made of names would be judged again from each of them
    const end = inRow > IN_ROW_MAX ? 0 : findValue(text, at, word, judge);
    if (end <= from) continue;
    inRow = 0;
    from = end;
  }
  if (isHeading) findInColumns(text, judge);
}

/** Offers what names beyond ASCII announce. */
export function findForeign(text: string, judge: Judge): void {
  for (const { index, 0: name } of text.matchAll(FOREIGN_NAMES)) findValue(text, index, name, judge);
}

function findValue(text: string, at: number, word: string, judge: Judge): number {
  const end = findPlaced(text, at, judge);
  const name = end > at ? undefined : readName(text, at, word);
  return name ? findNamed(text, name, judge) : end;
}

/** Lists of names, and what stands at the same places below or behind them: tables, files of rows, what is inserted. */
const TABLES = compile(
  String.raw`
| ^([^\n]*\|[^\n]*)\n[^\n|:-]{0,12}\|?[ \t]*:?-{2,}[-:|+ \t]*\n((?:[^\n]*\|[^\n]*(?:\n|$)){1,200})
, ^([\w ]{1,40}(?:,[\w ]{1,40}){1,20})\n((?:[^\n(),]*,[^\n()]*(?:\n|$)){1,200})
; ^([\w ]{1,40}(?:;[\w ]{1,40}){1,20})\n((?:[^\n();]*;[^\n()]*(?:\n|$)){1,200})
, \binto\s[^\n()]{1,80}\(([^()]{1,400})\)\s*values\s*\(([^()]{1,400})\)
`,
  {},
  "dgim",
);
const ENDS_CELL = /^["`* ]{0,40}[,;|\n)]/;

/** Offers what stands in a column of passwords. */
function findInColumns(text: string, judge: Judge): void {
  for (const [separator, table] of TABLES) {
    for (const { indices, 1: heading = "", 2: rows = "" } of text.matchAll(table)) {
      const isSecret = heading.split(separator).map((cell) => PASSWORD_NAME.test(cell));
      let at = indices?.[2]?.[0] ?? 0;
      for (const row of isSecret.includes(true) ? rows.split("\n") : []) {
        for (const [i, cell] of row.split(separator).entries()) {
          const value = cell.replace(/^[\s`*"']+|[\s`*"']+$/g, "");
          const start = at + cell.indexOf(value);
          const name = { text: "", start, end: start };
          const given = { kind: "password", level: PASSWORD, way: "column", name };
          const isQuoted = /["']/.test(text.charAt(start - 1));
          if (isSecret[i] && value) judge({ ...given, start, end: start + value.length, isQuoted });
          at += cell.length + 1;
        }
      }
    }
  }
}
