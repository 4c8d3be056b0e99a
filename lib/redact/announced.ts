/**
 * Reads names that announce a secret, and finds the values that they announce: assigned, given as an option, in an element,
 * as a sibling (`name`, `value`), or said. A name alone proves nothing (`password: string`, `token = getToken()`), so the
 * value has to look like a secret, too.
 *
 * Other secrets are known by the one place where each stands: an option of a command, a statement, a sentence, a
 * cookie.
 */

import { featureOf, matches, rowsOf } from "./features.ts";
import { isSecretCell, secretEnd, type Value } from "./judge.ts";
import { isStandIn, type ReportSecret } from "./looks.ts";
import { FOREIGN_NAMES, isHeading, NAME_ENDS, type Name, nameEndingAt } from "./names.ts";

/** Compiles the rows of a table: a word, and the source of a pattern, with parts by their letter. */
function compileTable(table: string, parts: Record<string, string>, flags: string): [string, RegExp][] {
  return rowsOf(table).map(([word, source]) => [
    word,
    new RegExp(
      source.replace(/@[a-z]/g, (part) => parts[part] ?? part),
      flags,
    ),
  ]);
}

const PARTS: Record<string, string> = {
  "@z": "\x60",
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
).map(([way, pattern]) => ({ way, pattern, needed: featureOf(`for-${way}`) }));
/** A character of a value without quotes. */
const BARE =
  "(?:[^\\s\"'\x60,;<>()[\\]{}|&»\\u3000-\\u9fff\\uac00-\\ud7af\\uff00-\\uffef]|&(?![\\w.-]{1,40}=|&))";
const REST = new RegExp(`${BARE}*`, "y");
/**
 * The forms of a value by the way or the character before it, or bare. In lists of pairs a value in braces may hold anything, a
 * closing brace twice; a bare name in them is a variable. A bare value is judged by its first part and then consumed, so that
 * many names in one long run stay linear; letters of a language without blanks may begin one that goes on as no word does.
 */
const FORMS = Map.groupBy(
  compileTable(
    String.raw`
element [^\s<>][^<>\n]{2,198}(?=<)
= \{(?=[^}]*[^\w.}])(?!\w+[!:])[^{}\s$]{3,100}(?:\}\}[^{}\s]{0,100})*\}(?=[;"']|\s|$)
= (?<=(["'])[A-Z0-9_]{1,60}=)(?:(?!\1)[^\s$\\]){1,199}(?=\1)
bare (?:[\u3000-\u9fff\uac00-\ud7af]{1,6}(?=[!-~]{0,20}[!#$%^&*@~+?])(?=[!-~]{0,20}\d)(?=[!-~]{5}))?@r{1,128}
`,
    { "@r": BARE },
    "y",
  ),
  ([before]) => before,
);
for (const [open = "", close = ""] of ['""', "''", "\x60\x60", "“”", "„“", "«»", "「」"])
  FORMS.set(open, [[open, new RegExp(`[^${close}\n]{0,4096}(?=${close})`, "y")]]);

/** Reports the value that a name announces, and returns where it ends. */
function findNamed(text: string, name: Name, found: ReportSecret): number {
  const before = text.slice(Math.max(0, name.start - 120), name.start);
  for (const value of valuesOf(text, name, before)) {
    const end = secretEnd(value, { name, before, text });
    if (end === undefined) continue;
    REST.lastIndex = end;
    const isCut = !value.isQuoted && value.text.length === 128 && REST.test(text);
    const whole = isCut ? REST.lastIndex : end;
    found(value.start, whole, name.kind);
    return Math.max(whole, name.end);
  }
  return name.end;
}

/** Yields what a name may announce: the value before it, and that of each way. */
function* valuesOf(text: string, name: Name, before: string): Generator<Value> {
  // a model's signature under its thinking opens nothing, one in an address does
  if (/sig(?:nature)?$/i.test(name.text) && !/[?&;]$/.test(before)) return;
  if (text.startsWith(":?", name.end)) return; // a message for a missing variable
  const [, earlier, rest = ""] = VALUE_BEFORE.exec(before) ?? [];
  const end = name.start - rest.length;
  if (earlier !== undefined)
    yield { text: earlier, start: end - earlier.length, end, way: "certain", isQuoted: true };
  for (const { way, pattern, needed } of WAYS) {
    if (needed?.pattern.test(needed.part === "name" ? name.text : before) === false) continue;
    pattern.lastIndex = name.end;
    const value = pattern.test(text) && readValue(text, pattern.lastIndex, way);
    if (value) yield value;
  }
}

/** Reads the value that begins here, in the first of the forms that fits. */
function readValue(text: string, start: number, way: string): Value | undefined {
  for (const form of [way, text.charAt(start - 1), "bare"]) {
    for (const [, pattern] of FORMS.get(form) ?? []) {
      pattern.lastIndex = start;
      const [whole] = pattern.exec(text) ?? [];
      if (whole === undefined) continue;
      const braces = whole.startsWith("{") ? 1 : 0;
      const value = whole.slice(braces, whole.length - braces);
      const from = start + braces;
      return { text: value, start: from, end: from + value.length, way, isQuoted: form !== "bare" };
    }
  }
  return undefined;
}

/** A value given before its name: `value: x`, then `name: PASSWORD`. */
const VALUE_BEFORE = new RegExp(
  `\\bvalue["']?\\s?[:=]\\s?["']?([^\\s"'\x60]{4,80}?)(["']?,?(?:${PARTS["@n"]})?["']?(?:name|key)["']?\\s?[:=]\\s?["']?)$`,
  "i",
);
/** A word that each place has at its beginning, or right behind what is looked back at. */
const PLACE_WORDS =
  "(?:pass)?code(?= is|:)|(?<= is your (?:\\w{1,20} ){0,3})code\\b|codes(?= ?:|\\n)|pin(?= ?[:=]| is| was| code)|t?otp(?![a-z])|[2m]fa(?![a-z])|phrase|freerdp(?= )|identified|wifi:|sudo -S|chpasswd|password-stdin|login(?: |[\"'], ?[\"'])-|log ?in(?= with| as| is|:)|-u(?: |[\"'], ?[\"'])|(?<=from-)literal|net use|htpasswd|rabbitmqctl|pdo\\(|mysqli\\(|nect\\w{0,8}\\(|log[io]n\\(|auth(?:enticate| ?= ?)?\\(|credentials?(?: ?= ?|\\.\\w{1,20})?\\(|(?<=password)(?:token|auth\\w{0,12})\\(|get-secret|secrets versions|auth token|base64 -|pass show|op:|raw |field=|(?<=[ \"'])-(?=[apwsnx])|nect(?= )|secrets? (?=set|put|create|add|update)|secret(?:-value)?(?= )|securestring(?= )|passwd(?= )|login(?= '|(?: \\S{1,60}@))|creden[cz]ial[ei]s?|zugangsdaten|identifiants|inloggegevens|(?<![\\w.]|\\w-)(?:sqlplus|sqlldr|rman|etcdctl|lftp|openssl|smbclient|curl|wget|xh|https?|hurl)(?: |[\"'], ?[\"'])";

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
password (?<=from-)literal[= ]["']?[\w.-]{1,60}=@v
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
  "@r": `(?:${featureOf("sentence")?.pattern.source})`,
  "@m": "(?=[^\\s\"'<>]{0,99}\\d)",
  "@c": "[a-z0-9]{4,8}[- ]?[a-z0-9]{4,8}",
  "@t": "[A-Z2-7]{16,128}|(?=[A-Z -]{1,60}[2-7])(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{1,8}",
};

/** A pattern for any place of a table, since most words are at none, and each place's kind and pattern. */
type Places = [any: RegExp, each: [kind: string, pattern: RegExp][]];

function compilePlaces(table: string, flags: string): Places {
  // between arguments is a blank, or what separates them in a list
  const spaced = table.replace(/(?<!^\w+) (?![^[\]\n]*\])/gm, `(?: |["'], ?["'])`);
  const each = compileTable(spaced, PLACE_PARTS, `d${flags}`);
  return [new RegExp(each.map(([, { source }]) => source).join("|"), flags), each];
}

let places: readonly Places[] | undefined;

/** Reports the value at this place, and returns where it ends. */
function findPlaced(text: string, at: number, found: ReportSecret): number {
  // compiled with the first word that may be at a place: many runs meet none
  places ??= [compilePlaces(COMMANDS, "y"), compilePlaces(SENTENCES, "iy")];
  for (const [any, each] of places) {
    any.lastIndex = at;
    if (!any.test(text)) continue;
    for (const [kind, pattern] of each) {
      pattern.lastIndex = at;
      const [start, end] = pattern.exec(text)?.indices?.slice(1).find(Boolean) ?? [0, 0];
      const value = text.slice(start, end);
      if (end === 0 || isStandIn(value, /["']/.test(text.charAt(start - 1))) || matches("names-field", value))
        continue;
      if (/\s/.test(value) && kind !== "mnemonic" && matches("sentence", value)) continue;
      found(start, end, kind);
      return Math.max(at, end);
    }
  }
  return at;
}

/** Every word that may announce a secret: of a name, a sentence, a command. */
const ANNOUNCING = new RegExp(`${NAME_ENDS}|${PLACE_WORDS}`, "iy");
const IN_ROW_MAX = 8;

/** Reports the secrets that words announce. */
export function findAnnounced(text: string, words: readonly number[], found: ReportSecret): void {
  let from = 0;
  let inRow = 0;
  let isTable = false;
  for (const at of words) {
    ANNOUNCING.lastIndex = at;
    const word = at < from ? undefined : ANNOUNCING.exec(text)?.[0];
    if (word === undefined) continue;
    inRow = at - from < 6 ? inRow + 1 : 0;
    from = at + word.length;
    ENDS_CELL.lastIndex = from;
    isTable ||= isHeading(word) && ENDS_CELL.test(text);
    // a run made of names would be judged again from each of them
    const end = inRow > IN_ROW_MAX ? 0 : findValue(text, at, word, found);
    if (end <= from) continue;
    inRow = 0;
    from = end;
  }
  if (isTable) findInColumns(text, found);
}

/** Reports the secrets that names beyond ASCII announce. */
export function findForeign(text: string, found: ReportSecret): void {
  for (const { index, 0: name } of text.matchAll(FOREIGN_NAMES)) findValue(text, index, name, found);
}

/** Lists of names, and what stands at the same places below or behind them: tables, files of rows, inserts. */
const TABLES = compileTable(
  String.raw`
| ^([^\n]*\|[^\n]*)\n[^\n|:-]{0,12}\|?[ \t]*:?-{2,}[-:|+ \t]*\n((?:[^\n]*\|[^\n]*(?:\n|$)){1,200})
, ^([\w ]{1,40}(?:,[\w ]{1,40}){1,20})\n((?:[^\n(),]*,[^\n()]*(?:\n|$)){1,200})
; ^([\w ]{1,40}(?:;[\w ]{1,40}){1,20})\n((?:[^\n();]*;[^\n()]*(?:\n|$)){1,200})
, \binto\s[^\n()]{1,80}\(([^()]{1,400})\)\s*values\s*\(([^()]{1,400})\)
`,
  {},
  "dgim",
);
/** The end of a cell of a heading; at the end of a line, other cells precede it. */
const ENDS_CELL = /["`* ]{0,40}(?:[,;|)]|(?<=[,;|][^\n]{0,60})\n)/y;

/** Reports what stands in a column of passwords. */
function findInColumns(text: string, found: ReportSecret): void {
  for (const [separator, table] of TABLES) {
    for (const { indices, 1: heading = "", 2: rows = "" } of text.matchAll(table)) {
      const isColumn = heading.split(separator).map(isHeading);
      let at = indices?.[2]?.[0] ?? 0;
      for (const row of isColumn.includes(true) ? rows.split("\n") : []) {
        for (const [i, cell] of row.split(separator).entries()) {
          const value = cell.replace(/^[\s`*"']+|[\s`*"']+$/g, "");
          const start = at + cell.indexOf(value);
          if (isColumn[i] && isSecretCell(value, text.charAt(start - 1)))
            found(start, start + value.length, "password");
          at += cell.length + 1;
        }
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
