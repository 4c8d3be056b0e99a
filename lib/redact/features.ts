/**
 * Named patterns of a value and of all that stands around it: the words of the rules by which a value is judged (judge.ts), of looks
 * and of names. A feature of several rows has one of them; `@name` is the pattern of another feature.
 *
 * Parts: the ending of a name, its prefix and the word before the ending; the name, the text before it, between it and the
 * value, the value, the whole of it with the stop behind it, what follows, and the way from name to value.
 */

export type Part =
  | "ending"
  | "prefix"
  | "qualifier"
  | "name"
  | "before"
  | "between"
  | "value"
  | "whole"
  | "after"
  | "way";

interface Feature {
  part: Part;
  pattern: RegExp;
}

/** Returns the rows of a table: the first word of each, and the rest. */
export const rowsOf = (table: string): [first: string, rest: string][] =>
  [...table.matchAll(/^(\S+) (.+)$/gm)].map(([, first = "", rest = ""]) => [first, rest]);

const FEATURES = new Map<string, Feature>();
for (const [feature, row] of rowsOf(String.raw`
for-argument before \([^()]*["'\x60][^"'\x60()]{0,30}$|\[["'\x60](?:Authorization)?$|\["[^[\]]*"-*$
for-element before <[^<>\n]*$|<key>$
foreign name/i [^\0-\x7f]|(?:wort|passe|senha|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|passord|parola|lozinka|geslo|jelszo)$
for-foreign name/i @foreign
for-beside name/i @foreign
short ending/i ^(?:pass|mdp|pwd?|psk|key|auth|sig|sid|sess|seed|salt|session)$
joint prefix/i (?:api|access|secret|private|auth|db|pg|ssh|sql|user|root|admin|smtp|php|j|asp|bind|store|key|require|master)$
qualified qualifier/i ^(?:api|access|secret|private|auth\w*|encryption|encrypt|signing|account|shared|master|admin|app|service|client|consumer|deploy|bot|webhook|license|jwt|hmac|unseal|root|refresh|bearer|oauth\d?|security|personal|[cx]srf|vault|wallet|fernet|storage|hub|rapidapi|registration|runner|job|ci|x|wlan|wifi|wpa|preshared)$
harmless qualifier/i ^(?:public|pub|primary|foreign|cache|partition|sort|idempotency|dedup\w*|lookup|object|map|query|row|unique|group|hash|site|publishable|page|next|continuation|sync|cursor|delta|design|max|min|num|json|config|translation|sha|react|shortcut)$
elsewhere value/i ^\$[a-z_{(]|^\$\d\b|^%[a-z_(]|^%\w+%$|^@\w+@$|\$\{
elsewhere value/i ^[<{[(]|\{\{
elsewhere value/i ^[-*•.…_#?]+$|^x+$|[*•x]{4}|\.{3}|…
elsewhere value/i example|placeholder|changeme|redacted|[_-]here$|^abcdef\w{0,10}$
elsewhere value/i ^[*&][a-z_]+$
elsewhere value/i ^(?:ctrl|alt|shift|cmd|meta|option|super|command)\+
elsewhere value/i ^~\/|^(?:\.{1,2})?\/\S*[/.]|^[a-z]:[\\/]|^[\w.-]+(?:\/[\w.-]+)+\.[a-z]{1,5}$
elsewhere value/i ^[\w.-]+\.(?:json|ya?ml|toml|pem|key|crt|p12|txt|env)$
elsewhere value/i :\/\/
elsewhere value/i ^(?:vault|ref|arn|ENC|required|sha\d+)[:+|[]
chain value/i ^[*&!@:]?[a-z_$][\w$]*(?:(?:\.|::|->|[?!]\.)[a-z_$][\w$]*)+[!?]?$
chain value/i ^[&@:!]{1,2}[a-z_]+$
asks value/i ^(?:your|my|the|some|any|no|new|old|test|dummy|fake|sample|demo|mock|change|insert|enter|put|required|optional)(?:$|[\s_-]|me)
asks value/i ^(?:null|undefined|true|false|none|unknown|postgres|rabbitmq|mongodb|minioadmin|localhost|development|production)(?:$|[\s_-]|me)
asks value/i ^(?:string|number|boolean|object)(?:$|[\s_-]|me)
algorithm value/i ^(?:sha-?\d+|md5|argon2\w*|p?bkdf2(?:with\w+)?|b?crypt|scrypt|scram-\S+)$
algorithm value/i ^(?:base(?:32|58|64)|utf-?\d+)$
algorithm value/i ^(?:aes-?\d*\w*|x?ed?25519)$
algorithm value/i ^oauth2?$
algorithm value/i ^v?\d+(?:[.-]?[a-z]{1,5})?$
field value/i pass|pwd|word|secret|token|user|login|input|field|text|hash|crypt|valid|correct|require|missing|empty|option|hidden|string|value
field value/i ^(?:true|false|null|none|number|bytes|boolean|unset|redacted|postgres|include|inherit|basic)$
about value/i pass|pwd|secret|token|credential|kennw|wachtw|contrase|senha
about value/i \b(?:must|should|cannot|please|required|invalid|incorrect|enter|your|least|characters?|see|ask|same|field|value|hint|string|option|missing|empty)\b
sentence value/i @about
sentence value/i \b(?:is|are|be|not|the|at|as|in|of|to|for|from|with|and|or|but|if|when|so|by|on|that|this|which|because|was|has|have|will|can|used|stored|never|user|input|text|insert|put|change|now|before|after|must|should|via|into|then|also|no)\b
template value/i ^(?:\$[\w{(].*|\{.*\}|%\w+%)$
template value/i ^(?:\*+|x{3,}|\.{3,}|…)?$
template value/i ^\[redacted:[a-z0-9-]+\]$
hex value/i ^(?:0x|sha\d{1,3}[:-])?[0-9a-f]+$
joinable value/u ^(?=.*\p{Ll})(?=.{6,60}$)(?!\w+\.(?:com|net|org|io|dev)$)\p{L}+(?:[_.-]\p{L}+){0,3}$
adjective value [-_](?:[a-z]+(?:ed|ing|ive|able|ible)|only|free|less|set|date|time|side|safe|based|specific)$
mixes value/u ^(?=[^]*\p{L})[^]*(?:[0-9]|[^\p{L}\p{N}_.:/|\s-])
digits value ^[\d.,_-]+$
hyphenated value/u \p{L}-\p{L}
alone way ^(?:certain|argument|element)$
speech way ^(?:said|foreign)$
constant name ^(?:[A-Z0-9_]+|_[a-z]\w*)$
compound-constant name [A-Z]_|WORD|PHRASE
option name ^-
directive name ^(?:\w+\.)*set[A-Z_]|^(?:requirepass|masterauth|rootpw|bindpw)$|authtok$
ends-in-secret name/i secret$
pass name/i ^pass$
dollar name ^\$
member name/i \.p
small name ^[a-z]
capital name [A-Z]
resource before \barn:[^\s"']*$
behind-semicolon before ;\s?$
parameter before [?&]$|\$\{$
changed before/i (?:set|chang|updat)\w*\s[^.\n]{0,30}$
behind before/i \b(?:user(?:name)?|login|email|host|port|database)["']?(?:\s?[:=]\s?\S*|\s+\S{1,100}[,;])\s+$|\blogin\s+\S{1,100}\s+$|\b(?:ENV|setx|setenv) +$
section before (?:^|\n)[\s+>|\d→-]{0,12}\[[\w .:"-]{1,40}\]\s*\n[^()[\]{};]*$
label before/u (?:^|\n)\P{L}{0,12}\p{Lu}\p{Ll}+(?: \p{L}+){0,4} $
code before (?:[\w)\]>]\s?\(|(?:[=(,:]|=>|return)\s*\{)(?:[^(){}"'\x60]|"[^"\n]*"|'[^'\n]*'|\x60[^\x60\n]*\x60)*["'\x60]?$|\b(?:const|let|var|val|final|auto|def)\s[^=\n]*$
first before ^(?:[^]*\n)?[ \t]*(?:(?:\d{1,6}(?:→|[:|\t-])|L\d{1,6}[: ]|[+>|-])[ \t]*){0,4}[\s*_\x60|-]*$
scheme between/i (?:bearer|basic|token|apikey|digest|negotiate)[ \t]+$
equals between ^=
equal between ^=$
quoted-equal between ^=["']?$
to between ^ to\b
bold between \*\*|__
colons between ^["']?:\s
colon between ^:
colon-only between ^: ?$
blank between ^ 
opened between ^\s*["'\x60]
called between ^\(
closing between ^\)
bar between \|
column between ["'|\t]|\s{2}
next after ^["'] ?: ?["'{[\d]
call after ^[([]
ends-argument after ^[,)};]
ends-line after ^.\s*?(?:\n|$)
last after ^["'\x60*\]}|\s]{0,8}?(?:\n|$)
ends-pair after ^(?:$|[\s&|"']|,\w[\w.]{0,40}=)
spaced value \s
long value ^[^]{201}
letters value/u \p{L}{3}
two-words value ^\S+\s+\S+$
many-words value (?:\S+\s+){8}\S
plain value \d|^[^A-Z.,]*$
address value/i ^0x[0-9a-f]{64}$
five value ^.{5}
eight value ^.{8}
sixteen value ^.{16}
compound value/u \p{L}[-_.]\p{L}|\p{Ll}\p{Lu}
joints value [-_.]
dashes value [-.]
underscore value _
path value [/\\]|\w\.\w|::
signs value [^\w.:/|-]
digit value \d
identifier whole ^[A-Za-z_]\w*$
small-word value ^(?=[a-z]{8,}$)(?!.*(?:ed|en|ble|ory|ive|ing|ent)$)
small-letters value ^[a-z]{6,40}$
both-letters value ^(?=.*[a-z])[A-Za-z]{6,40}$
names-field value/i ^(?:pass(?:word|wd)?|pwd|secret|token|required)$
body value ^.{60,76}$
starts-line before ^(?:[^]*\n)?[ \t]*(?:(?:\d{1,6}(?:→|[:|\t-])|L\d{1,6}[: ]|[+>|-](?=[ \t+>|]|$)|[+>](?=\S))[ \t]*){0,4}.?$
ends-body after ^["',]?\s*?(?:\n|$)
id value ^(?:[A-Za-z]{1,12}[_-]){1,3}[A-Za-z0-9]+$|^[0-9a-f]{6,}(?:-[0-9A-Za-z]{1,12})+$
public value ^(?:MII.{3}CC|MII.{3}ANBgkq|MFkwEwYH|MCowBQYDK2V|AAAA[BCE]|sha\d{1,3}-|h1:)
public-place before/i (?:\bsha\d{1,3}(?:[-:=_ ]|sum)|SHA256:|\bmd5[-:=]|\bh1:|base64,/?|nonce[-=]|["'][xyne]["']\s?:\s?["']|ssh-\w+ |ecdsa-\S{1,30} |W\/"|(?:id|hash|digest|checksum|integrity|fingerprint|etag|nonce|commit|sha|rev|cursor|uuid|ref|guid|version|sum|md5|thumbprint|mappings|public_?key|pubkey|name|class(?:Name)?|type|file|path|url|href|src)["'\x60]?\s{0,2}[:=>]{1,2}\s{0,2}["'\x60]?)$
in-path before [\w.-]\/$|@$
in-address before [\w+.-]{2,20}:\/\/[^\s"'<>]*$
secret-address before/i :\/\/[^\s"'<>]*(?:[?#&;]|reset|invite|magic|verif|confirm|token|hook|unsubscribe|auth|secret)[^\s"'<>]*$
ends-file after ^(?:\.[A-Za-z]\w{0,4}\b|@)
`)) {
  const [, part = "", flags = "", source = ""] = /^(\w+)\/?(\w*) (.*)$/.exec(row) ?? [];
  const sources = [FEATURES.get(feature)?.pattern.source ?? [], source].flat();
  const whole = sources
    .join("|")
    .replace(/@([a-z]{2,})/g, (_, other) => FEATURES.get(other)?.pattern.source ?? "");
  FEATURES.set(feature, { part: part as Part, pattern: new RegExp(whole, flags) });
}

/** Returns a feature by its name. */
export const featureOf = (name: string): Feature | undefined => FEATURES.get(name);

/** Returns whether a text has a feature. */
export function matches(name: string, text: string): boolean {
  return FEATURES.get(name)?.pattern.test(text) ?? false;
}
