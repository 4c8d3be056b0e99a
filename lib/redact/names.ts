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
const LEVELS = ENDINGS.map(([level, endings]) => {
  const all = level === "password" ? `${endings}|${FOREIGN_NAMES.source}` : endings.replace("(?==)", "");
  return [level, new RegExp(`^(?:${all})$`, "i")] as const;
});
/** Endings of a name that leave its meaning as it is. */
const TAIL =
  /[_-](?:base|data|value|prod|production|dev|staging|test|live|old|new|plain|raw|b64|hex|\d{1,2})(?![A-Za-z0-9])|\d{1,2}(?![\w.])/iy;
export interface Name {
  /** As it is written, with its prefix. */
  text: string;
  start: number;
  end: number;
  level: Level;
  kind: string;
}

/** The part of a name before its ending, and the last word of it. */
const PREFIX = /(?<=([\w$.-]{0,60}))/y;
const QUALIFIER = /(?:[A-Z]?[a-z\d]+|[A-Z\d]+)(?=[ _.$-]?$)/;

/** Reads the whole name that has its ending at a place. */
export function nameEndingAt(text: string, at: number, ending: string): Name | undefined {
  PREFIX.lastIndex = at;
  const prefix = PREFIX.exec(text)?.[1] ?? "";
  const level = levelOf(ending, prefix, text.slice(Math.max(0, at - 30), at));
  if (level === undefined) return undefined;
  TAIL.lastIndex = at + ending.length;
  const end = TAIL.test(text) ? TAIL.lastIndex : at + ending.length;
  if (/^(?:[A-Za-z0-9$]|_+[A-Za-z0-9]|[.-][a-z])/.test(text.slice(end, end + 3))) return undefined;
  const start = at - prefix.length;
  return { text: text.slice(start, end), start, end, level, kind: nameKind(ending, level) };
}

/** Returns the level of a name by its ending, unless the words before it make it another word or a harmless name. */
function levelOf(ending: string, prefix: string, before: string): Level | undefined {
  const level = LEVELS.find(([, endings]) => endings.test(ending))?.[0];
  const isGlued = /^(?:[a-z] [a-z]|[A-Z] [A-Z]{2})/.test(`${prefix.slice(-1)} ${ending}`);
  if (isGlued && matches("short", ending) && !matches("joint", prefix)) return undefined;
  if (level === undefined || level === "password") return level;
  const qualifier = QUALIFIER.exec(before)?.[0] ?? "";
  if (matches("harmless", qualifier)) return undefined;
  return matches("qualified", qualifier) ? "secret" : level;
}

function nameKind(ending: string, level: Level): string {
  if (level === "password") return "password";
  if (/^s(?:ess|id)/i.test(ending)) return "cookie";
  const kind = /token|key|auth/i.exec(ending)?.[0].toLowerCase() ?? "secret";
  return kind === "auth" ? "authorization" : kind;
}

/** A label is not itself a secret: in another language, or as the name of a field. */
export const NAMES_SECRET = new RegExp(`(?:${NAME_ENDS}|${FOREIGN_NAMES.source})$`, "i");
const HEADING = new RegExp(`(?:^|[\\s_*"\`-])(?:${ENDINGS[0]?.[1]})[\\s*"\`]*$`, "i");

/** Returns whether a text is the heading of a column of passwords. */
export const isHeading = (text: string): boolean => HEADING.test(text);
