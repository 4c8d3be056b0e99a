/** Names that announce secrets, by the level of certainty that each gives to its value, and in many languages. */

/** What a name makes of its value: none announces it, a `token` or `key` needs a random one, a `secret` a mixed one, a `password` nearly any. */
export const [BARE, TOKEN, SECRET, PASSWORD] = [0, 1, 2, 3];

export interface Name {
  /** As it is written, with its prefix. */
  text: string;
  start: number;
  end: number;
  level: number;
  kind: string;
}

/** Endings of names by their level; a letter behind one makes it another word (`keyboard`, `passed`). */
const ENDINGS: Record<number, string> = {
  [PASSWORD]:
    "p?assword|pass(?:wd|wort|phrase|code|e)?|pwd|pw|psk|mdp|authtok|kennwort|senh?a|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|passord|parola|lozinka|geslo|jelszo|parool|lykilord|kodeord|sandi|pepper|rootpw|securestring",
  [SECRET]: "secrets?(?:_?id)?|credentials?|creds|mnemonic|geheimnis|segredo|secreto",
  [TOKEN]:
    "token|key|auth(?:orization|n)?|bearer|basic|sig(?:nature)?|clave|wallet|seed|salt|(?:sess(?:ion)?(?:[_-]?id)?|sid)(?==)",
};
/** Passwords beyond ASCII, looked for only in texts with such letters. */
const FOREIGN =
  "contraseñas?|hasł[aoe]m?|şifre(?:si|m|niz)?|parolası|lösenord(?:et)?|parolă|salasana(?=ä)|jelsz(?:ó|av)[a-z]{0,3}|lykilorð|slaptažodis|парол[ьяіюеиа]м?|парола|лозинка|密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호|كلمة (?:ال)?(?:مرور|سر)|رمز عبور|گذرواژه|סיסמ[הת]|รหัสผ่าน|mật khẩu|κωδικός|पासवर्ड|পাসওয়ার্ড|პაროლი|գաղտնաբառ";
export const NAME_ENDS = `(?:${Object.values(ENDINGS).join("|")})(?![a-z])`;
export const FOREIGN_NAMES = new RegExp(FOREIGN, "gi");
/** A text that ends as a name of a secret does: the label of a value, which is no value. */
export const OF_SECRET = new RegExp(`(?:${NAME_ENDS}|${FOREIGN})$`, "i");
export const PASSWORD_NAME = new RegExp(`(?:^|[\\s_*"\`-])(?:${ENDINGS[PASSWORD]})[\\s*"\`]*$`, "i");
const LEVELS = [PASSWORD, SECRET, TOKEN].map(
  (level) => [level, new RegExp(`^(?:${ENDINGS[level]?.replace("(?==)", "")})$`, "i")] as const,
);

const whole = (words: string) => new RegExp(`^(?:${words})$`, "i");
/** Endings that other words have, too, unless one of `JOINED` precedes them. */
const SHORT = whole("pass|mdp|pwd?|psk|key|auth|sig|sid|sess|seed|salt|session|sandi");
const JOINED =
  /(?:api|access|secret|private|auth|db|pg|ssh|sql|user|root|admin|smtp|php|j|asp|bind|store|key|require|master)$/i;
/** What makes a `key` or a `token` a secret one, and what makes it none. */
const QUALIFIER = whole(
  "api|access|secret|private|auth\\w*|encryption|encrypt|signing|account|shared|master|admin|app|service|client|consumer|deploy|bot|webhook|license|jwt|hmac|unseal|root|refresh|bearer|oauth\\d?|security|personal|[cx]srf|vault|wallet|fernet|storage|hub|rapidapi|registration|runner|job|ci|x|wlan|wifi|wpa|preshared",
);
const HARMLESS = whole(
  "public|pub|primary|foreign|cache|partition|sort|idempotency|dedup\\w*|lookup|object|map|query|row|unique|group|hash|site|publishable|page|next|continuation|sync|cursor|delta|design|max|min|num|json|config|translation|sha|react|shortcut",
);
/** What may follow within a name without changing what it means. */
const TAIL =
  /[_-](?:base|data|value|prod|production|dev|staging|test|live|old|new|plain|raw|b64|hex|\d{1,2})(?![A-Za-z0-9])|\d{1,2}(?![\w.])/iy;
const GOES_ON = /^(?:[A-Za-z0-9$]|_+[A-Za-z0-9]|[.-][a-z])/;
const NAME_MAX = 60;
const IN_NAME = /[\w$.-]/;

/** Reads the whole name that has its ending at a place. */
export function readName(text: string, at: number, ending: string): Name | undefined {
  const level = /[^\0-\x7f]/.test(ending) ? PASSWORD : LEVELS.find(([, ends]) => ends.test(ending))?.[0];
  if (level === undefined) return undefined;
  let start = at;
  while (start > Math.max(0, at - NAME_MAX) && IN_NAME.test(text.charAt(start - 1))) start--;
  const prefix = text.slice(start, at);
  if (isOtherWord(prefix, ending)) return undefined;
  TAIL.lastIndex = at + ending.length;
  const end = TAIL.test(text) ? TAIL.lastIndex : at + ending.length;
  if (GOES_ON.test(text.slice(end, end + 3))) return undefined;
  const qualifier =
    /([A-Z]?[a-z\d]+|[A-Z\d]+)[ _.$-]?$/.exec(text.slice(Math.max(0, at - 24), at))?.[1] ?? "";
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

/** Returns whether letters before a short ending make both another word: `bypass`. */
function isOtherWord(prefix: string, ending: string): boolean {
  const goesOn = /[a-z]$/.test(prefix)
    ? /^[a-z]/.test(ending)
    : /[A-Z]$/.test(prefix) && /^[A-Z]{2}/.test(ending);
  return goesOn && SHORT.test(ending) && !JOINED.test(prefix);
}

function nameKind(ending: string, level: number): string {
  if (level === PASSWORD) return "password";
  if (/^s(?:ess|id)/i.test(ending)) return "cookie";
  const kind = /token|key|auth/i.exec(ending)?.[0].toLowerCase() ?? "secret";
  return kind === "auth" ? "authorization" : kind;
}
