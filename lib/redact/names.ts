/** Reads names that announce a secret. */

import { matches } from "./features.ts";

/** Levels of a name by the value it needs: `token` and `key` need a random one, `secret` a mixed one, `password` nearly any. */
type Level = "token" | "secret" | "password";

/** Endings of such names; a letter behind one makes it another word (`keyboard`, `passed`). */
const ENDINGS: [level: Level, endings: string][] = [
  [
    "password",
    "p?assword|pass(?:wd|wort|phrase|code|e)?|pwd|pw|psk|mdp|authtok|kennwort|senh?a|wachtwoord|haslo|heslo|sifre|losenord|salasana|adgangskode|passord|parola|lozinka|geslo|jelszo|pepper|rootpw|securestring",
  ],
  ["secret", "secrets?(?:_?id)?|credentials?|creds|mnemonic|geheimnis|segredo|secreto"],
  [
    "token",
    "token|key|auth(?:orization|n)?|bearer|basic|sig(?:nature)?|clave|wallet|seed|salt|(?:sess(?:ion)?(?:[_-]?id)?|sid)(?==)",
  ],
];
export const NAME_ENDS = `(?:${ENDINGS.map(([, endings]) => endings).join("|")})(?![a-z])`;
/** Names beyond ASCII, looked for only in texts with such letters. */
export const FOREIGN_NAMES =
  /contraseñas?|hasł[aoe]m?|şifre(?:si|m|niz)?|parolası|lösenord(?:et)?|parolă|salasana(?=ä)|jelsz(?:ó|av)[a-z]{0,3}|парол[ьяіюеиа]м?|密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호|كلمة (?:ال)?(?:مرور|سر)|סיסמ[הת]|รหัสผ่าน|mật khẩu|κωδικός|पासवर्ड/gi;
const LEVELS = ENDINGS.map(
  ([level, endings]) => [level, new RegExp(`^(?:${endings.replace("(?==)", "")})$`, "i")] as const,
);
/** Endings of a name that leave its meaning as it is. */
const TAIL =
  /[_-](?:base|data|value|prod|production|dev|staging|test|live|old|new|plain|raw|b64|hex|\d{1,2})(?![A-Za-z0-9])|\d{1,2}(?![\w.])/iy;
const NAME_MAX = 60;

export interface Name {
  /** As it is written, with its prefix. */
  text: string;
  start: number;
  end: number;
  level: Level;
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
export function nameEndingAt(text: string, at: number, ending: string): Name | undefined {
  let end = at + ending.length;
  const level = BEYOND_ASCII.test(ending)
    ? "password"
    : LEVELS.find(([, endings]) => endings.test(ending))?.[0];
  if (level === undefined) return undefined;
  const start = startOfRun(text, at, IN_NAME);
  const prefix = text.slice(start, at);
  const isJoined = /[a-z]$/.test(prefix)
    ? /^[a-z]/.test(ending)
    : /[A-Z]$/.test(prefix) && /^[A-Z]{2}/.test(ending);
  if (isJoined && matches("short", ending) && !matches("joint", prefix)) return undefined;
  TAIL.lastIndex = end;
  if (TAIL.test(text)) end = TAIL.lastIndex;
  if (/^(?:[A-Za-z0-9$]|_+[A-Za-z0-9]|[.-][a-z])/.test(text.slice(end, end + 3))) return undefined;
  const joint = /[ _.$-]/.test(text.charAt(at - 1)) ? at - 1 : at;
  const word = text.slice(startOfRun(text, joint, /[A-Za-z\d]/), joint);
  const qualifier = /(?:[A-Z]?[a-z\d]+|[A-Z\d]+)$/.exec(word)?.[0] ?? "";
  if (level !== "password" && matches("harmless", qualifier)) return undefined;
  const isSecret = level === "token" && matches("qualified", qualifier);
  return {
    text: text.slice(start, end),
    start,
    end,
    level: isSecret ? "secret" : level,
    kind: nameKind(ending, level),
  };
}

function nameKind(ending: string, level: Level): string {
  if (level === "password") return "password";
  if (/^s(?:ess|id)/i.test(ending)) return "cookie";
  const kind = /token|key|auth/i.exec(ending)?.[0].toLowerCase() ?? "secret";
  return kind === "auth" ? "authorization" : kind;
}

const BEYOND_ASCII = /[^\0-\x7f]/;
/** A label is not itself a secret: in another language, or as the name of a field. */
export const NAMES_SECRET = new RegExp(`(?:${NAME_ENDS}|${FOREIGN_NAMES.source})$`, "i");
const HEADING = new RegExp(`(?:^|[\\s_*"\`-])(?:${ENDINGS[0]?.[1]})[\\s*"\`]*$`, "i");

/** Returns whether a text is the heading of a column of passwords. */
export const isHeading = (text: string): boolean => HEADING.test(text);
