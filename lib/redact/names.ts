/** Reads names that announce a secret: `DB_PASSWORD`, `client.secret`, `--api-key`, `das Passwort`, `密码`. */

/** What a name makes of its value: `token` and `key` need a random one, `secret` a mixed one, `password` nearly any. */
export const [TOKEN, SECRET, PASSWORD] = [1, 2, 3];

/** Endings of such names; a letter behind one makes it another word (`keyboard`, `passed`). */
const ENDINGS: [level: number, endings: string][] = [
  [
    PASSWORD,
    "pass(?:word|wd|wort|phrase|code|e)?|pwd|pw|psk|kennwort|senha|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|pepper|rootpw|securestring",
  ],
  [SECRET, "secrets?(?:_?id)?|credentials?|creds|mnemonic|geheimnis|segredo|secreto"],
  [TOKEN, "token|key|auth(?:orization|n)?|bearer|basic|sig(?:nature)?|clave|wallet|seed|salt"],
  [0, "(?:sess(?:ion)?(?:[_-]?id)?|sid)(?==)"],
];
export const NAME_ENDS = `(?:${ENDINGS.map(([, endings]) => endings).join("|")})(?![a-z])`;
/** Names beyond ASCII, looked for only in texts that are. */
export const FOREIGN_NAMES =
  /contrase(?:ñ|n)a|hasło|şifre|lösenord|jelszó|пароль|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|كلمة (?:المرور|السر)|סיסמה|รหัสผ่าน|mật khẩu|κωδικός|पासवर्ड/gi;
const FOREIGN = /[^\0-\x7f]/;
const LEVELS = ENDINGS.map(
  ([level, endings]) => [level, new RegExp(`^(?:${endings.replace("(?==)", "")})$`, "i")] as const,
);
/** Endings that other words have, too, unless one of `JOINED` stands before them. */
const SHORT = /^(?:pass|pwd?|psk|key|auth|sig|sid|sess|seed|salt|session)$/i;
const JOINED =
  /(?:api|access|secret|private|auth|db|pg|ssh|sql|user|root|admin|smtp|php|j|asp|store|key|require|master)$/i;
/** What makes a `key` or a `token` a secret one, and what makes it none. */
const QUALIFIER =
  /^(?:api|access|secret|private|auth\w*|encryption|encrypt|signing|account|shared|master|admin|app|service|client|consumer|deploy|bot|webhook|license|jwt|hmac|unseal|root|refresh|bearer|oauth\d?|security|personal|[cx]srf|vault|wallet|fernet|storage|hub|rapidapi|registration|runner|job|ci|x|wlan|wifi|wpa|preshared)$/i;
const HARMLESS =
  /^(?:public|pub|primary|foreign|cache|partition|sort|idempotency|dedup\w*|lookup|object|map|query|row|unique|group|hash|site|publishable|page|next|continuation|sync|cursor|delta|design|max|min|num|json|config|translation|sha|react|shortcut)$/i;
/** What may follow within a name without changing what it means. */
const TAIL =
  /[_-](?:base|data|value|prod|production|dev|staging|test|live|old|new|plain|raw|b64|hex|\d{1,2})(?![A-Za-z0-9])|\d{1,2}(?![\w.])/iy;
const NAME_MAX = 60;

export interface Name {
  /** As it is written, with its prefix. */
  text: string;
  start: number;
  end: number;
  level: number;
  kind: string;
}

/** Reads the whole name whose ending stands here. */
export function readName(text: string, at: number, ending: string): Name | undefined {
  let end = at + ending.length;
  const level = FOREIGN.test(ending) ? PASSWORD : LEVELS.find(([, endings]) => endings.test(ending))?.[0];
  if (level === undefined) return undefined;
  const before = text.slice(Math.max(0, at - NAME_MAX), at);
  const prefix = /[\w$.-]*$/.exec(before)?.[0] ?? "";
  const isJoined = /[a-z]$/.test(prefix)
    ? /^[a-z]/.test(ending)
    : /[A-Z]$/.test(prefix) && /^[A-Z]{2}/.test(ending);
  if (isJoined && SHORT.test(ending) && !JOINED.test(prefix)) return undefined;
  TAIL.lastIndex = end;
  if (TAIL.test(text)) end = TAIL.lastIndex;
  if (/^(?:[A-Za-z0-9$]|_+[A-Za-z0-9]|[.-][a-z])/.test(text.slice(end, end + 3))) return undefined;
  const qualifier = /([A-Z]?[a-z\d]+|[A-Z\d]+)[ _.$-]?$/.exec(before)?.[1] ?? "";
  if (HARMLESS.test(qualifier)) return undefined;
  const start = at - prefix.length;
  const isSecret = level === TOKEN && QUALIFIER.test(qualifier);
  return {
    text: text.slice(start, end),
    start,
    end,
    level: isSecret ? SECRET : level,
    kind: kindOf(ending, level),
  };
}

function kindOf(ending: string, level: number): string {
  if (level === PASSWORD) return "password";
  if (level === 0) return "cookie";
  const kind = /token|key|auth/i.exec(ending)?.[0].toLowerCase() ?? "secret";
  return kind === "auth" ? "authorization" : kind;
}
