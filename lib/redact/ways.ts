/** Where values are given, as data: patterns with parts that are put in, a row each, behind the way or the kind. */

import { SENTENCE } from "./looks.ts";

/** Parts of the ways. */
export const PARTS: Record<string, string> = {
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
export const WAYS = String.raw`
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
`;

/** A word that each place has at its beginning, or right behind what is looked back at. */
export const PLACE_WORDS =
  "(?:pass)?code(?= is|:|\\b)|codes(?= ?:|\\n)|pin(?= ?[:=]| is| was| code)|t?otp(?![a-z])|[2m]fa(?![a-z])|phrase|freerdp(?= )|identified|wifi:|sudo -S|chpasswd|password-stdin|login(?: |[\"'], ?[\"'])-|log ?in(?= with| as| is|:)|-u(?: |[\"'], ?[\"'])|from-literal|net use|htpasswd|rabbitmqctl|pdo\\(|mysqli\\(|nect\\w{0,8}\\(|log[io]n\\(|auth(?:enticate| ?= ?)?\\(|credentials?(?: ?= ?|\\.\\w{1,20})?\\(|(?<=password)(?:token|auth\\w{0,12})\\(|get-secret|secrets versions|auth token|base64 -|pass show|op:|raw |field=|(?<=[ \"'])-(?=[apwsnx])|nect(?= )|secrets? (?=set|put|create|add|update)|secret(?:-value)?(?= )|securestring(?= )|passwd(?= )|login(?= '|(?: \\S{1,60}@))|creden[cz]ial[ei]s?|zugangsdaten|identifiants|inloggegevens|(?<![\\w.]|\\w-)(?:sqlplus|sqlldr|rman|etcdctl|lftp|openssl|smbclient|curl|wget|xh|https?|hurl)(?: |[\"'], ?[\"'])";

/** Commands and statements with a secret: its kind, and where it stands; the first group that matches is the value. */
export const COMMANDS = String.raw`
password (?=-p)(?<=@g(?:sshpass|mongo\w*|cqlsh|psexec\w*|rdesktop|winexe|login|upload)@a )-p ?@v
password (?=-p)(?<=@g(?:mysql\w*|mariadb\w*|7z\w?|u?n?rar)@a )-p@v
password (?=-P)(?<=@g(?:sqlcmd|bcp|ipmitool|u?n?zip|mosquitto_\w+)@a )-P ?@v
password (?=-)(?:(?<=@gredis-cli@a )-a|(?<=@gldap\w+@a )-[ws]|(?<=@gssh-keygen@a )-[NP]|(?<=@gsnmp\w+@a )-[AX]) @v
password (?:openssl@a -(?:k |(?:pass(?:in|out)? )?pass:)|freerdp@a /p:|smbclient@a -U ?["']?[^\s%"']{1,60}%)@v
password (?:curl|wget|xh|https?|hurl|etcdctl|lftp)@a (?:-u|-a|--(?:proxy-)?user|--auth)(?:=| ){1,2}["']?[^\s:,"'$]{1,100}[:,]@v
password (?:htpasswd -\w*b\w* \S{1,100}|rabbitmqctl \w+|(?<=wpa_)passphrase|net user(?=[^\n]* /)) \S{1,60} @v
password net use \S{1,4} \S{1,200} (?:(?=\S{1,99} /user)|/user:\S{1,60} )@v
password (?=AUTH)(?<=^|\n|> |["'])AUTH (?:\w{1,30} )?@d(?=["'\s]|$)
password (?=PASS)(?<=(?:USER |331 )[^\n]{0,80}\n(?:[<>-]{1,3} )?)PASS @v
password (?=LOGIN)(?<=(?:^|\n)\w{1,8} )LOGIN \S{1,60} @d
password (?:sudo -S|passwd|chpasswd)@a <<< ?@v
secret (?:secrets? (?:set|put|create|add|update)|(?<=(?:create|put|update)-)secret\S{0,6}|SecureString)@a (?:-b ?|(?:--body|--value|--secret-string|--data)(?: |=)|[A-Z]\w{1,40}=)@v
secret secrets? set ["']?[\w:.-]{1,60}["']? @v
password -[uU] @w @a-[pP] ?@d
password from-literal[= ]["']?[\w.-]{1,60}=@v
password PASSWORD(?: FOR \S{1,60})?\s{0,4}[=(]?\s{0,4}N?'([^'\n]{3,200})'
password (?=[scp])(?<=(?:echo|printf)(?: -\w{1,3}| ["']%s(?:\\n)?["'])? ["']?(?:[\w.-]{1,40}:)?([^\s"'$|:]{4,100})["']? ?\| ?[^|\n]{0,80}?)(?:sudo -S|chpasswd|password-stdin|passwd --stdin|secrets? (?:set|create|put))
secret (?<=(?:echo|printf)(?: -\w{1,3}| ["']?%s(?:\\n)?["']?)? ["']?([^\s"'$|>]{6,200})["']? ?>{1,2} ?[\w./~-]{0,60}?)(?:pass(?:wd|word)?|pw|secrets?|token|key|creds?|credentials?)(?![a-z])
secret (?:KEY|[Kk]ey)@s[:=]@s((?=[^\n]{0,40}\d)(?:[A-Z0-9]{4,6}-){3,7}[A-Z0-9]{4,6})(?![\w-])
pin (?:PIN|[Pp]in [Cc]ode)@s(?:[:=]|is|was)@s(\d{4,8})(?!\w|[.-]\w)
secret (?:(?<=op )read op:|(?<=read ["']?)op:|get-secret|secrets versions|auth token|(?<=\|\s{0,4})base64 -(?:d|D|-decode)|pass show|(?<=output -)raw |(?<=-)field=)@l
`;

/** Sentences that give a secret, as commands are. */
export const SENTENCES = String.raw`
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

/** Parts of commands and sentences. */
export const PLACE_PARTS: Record<string, string> = {
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

/** Lists of names, and what stands at the same places below or behind them: tables, files of rows, inserts. */
export const TABLES = String.raw`
| ^([^\n]*\|[^\n]*)\n[^\n|:-]{0,12}\|?[ \t]*:?-{2,}[-:|+ \t]*\n((?:[^\n]*\|[^\n]*(?:\n|$)){1,200})
, ^([\w ]{1,40}(?:,[\w ]{1,40}){1,20})\n((?:[^\n(),]*,[^\n()]*(?:\n|$)){1,200})
; ^([\w ]{1,40}(?:;[\w ]{1,40}){1,20})\n((?:[^\n();]*;[^\n()]*(?:\n|$)){1,200})
, \binto\s[^\n()]{1,80}\(([^()]{1,400})\)\s*values\s*\(([^()]{1,400})\)
`;
