/**
 * Lists the contexts that secrets are known by: an option of a command, a statement, an element, a sentence.
 *
 * Every pattern is bounded, so that hostile repetitions stay linear.
 */

import type { Value } from "./tokens.ts";

/** Every context other than a command needs one of these. */
export const CONTEXT_WORDS = (
  "assw|TOTP|totp|2FA|MFA|WIFI:|auth=(|ASSW|phrase|PHRASE|ecret|ECRET|_TOKEN|_KEY|_PASS|oken>|Key>|key>|NTIFIED |ntified by|" +
  'uirepass|abbitmqctl|masterau|nemonic|contrase|mot de p|etup key|ion code|ime code|ime passcode|ity code|gin code|sign-in code|OTP|PIN|in code|my pin|your pin|card pin|door pin|alarm pin|SIM pin|phone pin|unlock pin|:543|:6432:|:*:|variable "|pw:|pw=|pw :|pw =|PW:|PW=|PW :|PW ='
).split("|");
/** A command with an option needs one of these. */
export const COMMAND_WORDS = (
  "sshpass|login|redis-cli|mongo|cqlsh|mosqu|rabbit|client|ldap|openssl|keytool|signer|passwd|sqlcmd|ipmi|zip -|rar -p|keygen|" +
  "freerdp|gpg --|nmcli|literal|curl |wget |bcp |7z |vault |sudo -S|configure set|net use"
).split("|");
export interface Context {
  kind: string;
  /** A text without any of these cannot match. */
  literals: readonly string[];
  /** Group 1 is kept, group 2 is the value; what follows is only looked at. */
  pattern: RegExp;
  /** What the value must look like, besides not being a placeholder. */
  value: Value;
}

const OPTION = "[\"']?)";
const WORD = String.raw`([^\s"'|;&<>$][^\s"'|;&<>]{2,199})`;
/** Within one command: up to a line's end or the next command. */
const ARGUMENTS = "\\b[^\\n|;&]{0,200}?\\s";

function context(kind: string, literals: string, pattern: RegExp, value: Context["value"] = "any"): Context {
  return { kind, literals: literals.split(" "), pattern, value };
}

function password(literals: string, pattern: RegExp, value: Context["value"] = "any"): Context {
  return context("password", literals, pattern, value);
}

/** Returns the context of an option that takes a password, of the commands that have it. */
function option(literals: string, flags: string, commands = literals.replaceAll(" ", "|")): Context {
  return password(literals, new RegExp(`(\\b(?:${commands})${ARGUMENTS}(?:${flags})${OPTION}${WORD}`, "g"));
}

const CAPITALS = String.raw`(?:[A-Z][A-Z0-9_]{0,60}?)?(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|API_?KEY|PRIVATE_KEY|ACCESS_KEY|SECRET_KEY)(?:_(?:BASE|VALUE|PROD|DEV|TEST|\d))?`;
const ELEMENT = "(?:[\\w.-]{0,30}[._-])?[a-z]{0,20}";
const PASSWORD_ELEMENT = `${ELEMENT}(?:[Pp]ass(?:word|wd|phrase|code)|[Ss]ecret(?:[-_]?[Kk]ey)?)`;
const KEY_ELEMENT = `${ELEMENT}(?:[Tt]oken|[Aa](?:pi|ccess)[-_]?[Kk]ey|[Pp]rivate[-_]?[Kk]ey)`;
const ATTRIBUTES = "(?:\\s[^<>\\n]{0,100})?";
const QUOTE = "[\"'`]";

export function listContexts(): Context[] {
  return [
    // options of commands
    option("sshpass", "-p ?"),
    option(
      "login",
      "-p |--password[= ]",
      "(?:docker|podman|oras|helm registry|skopeo|crane|az|heroku|npm|gh|oc)\\b[^\\n|;&]{0,40} login",
    ),
    option("redis-cli", "-a |--pass "),
    option(
      "mongo cqlsh rabbitmqadmin mosquitto",
      "-p |-P |--password[= ]?",
      "mongo\\w{0,10}|cqlsh|rabbitmqadmin|mosquitto_(?:pub|sub)",
    ),
    option("smbclient rpcclient", "-U ?[^\\s%]{1,60}%"),
    option("ldap", "-w |-s ", "ldap(?:search|add|modify|whoami|passwd|delete)"),
    option("openssl", "-?(?:pass|passin|passout) pass:|-k "),
    option("keytool jarsigner apksigner", "-(?:store|key|dest|src)(?:store)?pass |--(?:ks|key)-pass pass:"),
    option("sqlcmd bcp ipmitool", "-P ?"),
    option("7z rar unrar", "-p"),
    option("zip", "-P ?", "zip|unzip"),
    option("ssh-keygen", "-[NP] "),
    option("rdp", "/p:", "xfreerdp|wlfreerdp"),
    option("gpg", "--passphrase[= ]", "gpg2?"),
    option("nmcli", "password |psk "),
    password("htpasswd", /(\bhtpasswd\s+-\w*b\w*\s+\S{1,100}\s+\S{1,60}\s+["']?)([^\s"'$]{4,100})/g),
    password(
      "rabbitmqctl",
      /(\brabbitmqctl\s+(?:add_user|change_password)\s+\S{1,60}\s+["']?)([^\s"'$]{4,100})/g,
    ),
    password("sudo", /(\becho\s+["']?)([^\s"'$|]{4,100})(?=["']?\s{0,8}\|\s{0,8}sudo\s+-S\b)/g),
    password("net use", /(\bnet use \S{1,4} \\\\\S{1,200} )([^\s/*]{4,100})(?= \/user:)/gi),
    option("vault", "pass(?:word)?=|secret=|token=", "vault (?:kv put|write)"),
    option("aws", "aws_secret_access_key |aws_session_token ", "aws configure set"),
    password("wpa_passphrase", /(\bwpa_passphrase\s+\S{1,60}\s+["']?)([^\s"'$]{8,63})/g),
    password(
      "chpasswd",
      /(\becho\s+["']?[\w.-]{1,40}:)([^\s"'$|]{4,100})(?=["']?\s{0,8}\|\s{0,8}(?:sudo\s+)?chpasswd)/g,
    ),
    password(
      "--from-literal",
      /(--from-literal[= ]["']?[\w.-]{0,40}(?:pass(?:word|wd)?|secret|token|key)=)([^\s"'$]{4,200})/gi,
    ),
    password(
      "pass secret",
      /(\b(?:curl|wget|https?|xh)\b[^\n]{0,300}?\s(?:-F|-d|--form|--data(?:-\w{1,12})?|--post-data)[ =]["']?(?:[^\s"']{0,200}&)?(?:pass(?:word|wd)?|passphrase|secret|client_secret)=)([^\s"'&$<]{4,200})/g,
    ),
    // statements and configuration
    password(
      "PASSWORD IDENTIFIED",
      /(\b(?:PASSWORD\(?|IDENTIFIED(?: WITH [\w'"]{1,40})? (?:BY|AS))\s{0,4}=?\s{0,4}N?')([^'\n]{3,200})(?=')/g,
    ),
    password(
      "password passwd",
      /(\b(?:create|alter)\s+(?:user|role|login)\s[^\n;']{0,100}\bpassword\s{0,4}=?\s{0,4}')([^'\n]{3,200})(?=')/g,
    ),
    password("identified", /(\bidentified by ')([^'\n]{3,200})(?=')/g),
    password("requirepass masterauth", /(^\s{0,8}(?:requirepass|masterauth)\s{1,8}["']?)([^\s"']{4,200})/gm),
    password("machine", /(\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+)(\S{3,200})/g),
    context(
      "key",
      "ecret",
      /(\b[Ss]ecret [Aa]ccess [Kk]ey(?: \[[^\]\n]{0,40}\])?\s{0,4}[:=]\s{0,4}["']?)([A-Za-z0-9/+]{30,60})/g,
      "literal",
    ),
    // defaults for a missing variable
    context(
      "secret",
      "PASS SECRET TOKEN KEY",
      new RegExp(
        `(\\(\\s{0,4}${QUOTE}${CAPITALS}${QUOTE}\\s{0,4},\\s{0,8}${QUOTE})([^"'\`\\n]{4,200})(?=${QUOTE})`,
        "g",
      ),
      "exact",
    ),
    context(
      "secret",
      "PASS SECRET TOKEN KEY",
      new RegExp(
        `(\\b${CAPITALS}["'\`]?[\\])]{0,2}\\s{0,4}(?:\\|\\||\\?\\?|or)\\s{0,4}${QUOTE})([^"'\`\\n]{4,200})(?=${QUOTE})`,
        "g",
      ),
      "exact",
    ),
    context(
      "secret",
      "PASS SECRET TOKEN KEY",
      new RegExp(`(\\$\\{${CAPITALS}:[-=])([^}\\s"'$]{4,200})(?=\\})`, "g"),
      "exact",
    ),
    context(
      "secret",
      "PASS SECRET TOKEN KEY",
      new RegExp(`(\\b(?:ENV|setx|setenv)\\s{1,4}${CAPITALS}\\s{1,4}["']?)([^\\s"'$]{8,200})`, "g"),
      "exact",
    ),
    // markup
    password(
      "</",
      new RegExp(`(<${PASSWORD_ELEMENT}${ATTRIBUTES}>\\s{0,8})([^<>\\s]{4,200})(?=\\s{0,8}</)`, "g"),
      "exact",
    ),
    context(
      "key",
      "</",
      new RegExp(`(<${KEY_ELEMENT}${ATTRIBUTES}>\\s{0,8})([^<>\\s]{8,2000})(?=\\s{0,8}</)`, "g"),
      "literal",
    ),
    password(
      "|",
      /(^[ \t]{0,8}\|?\s{0,8}[*_`]{0,3}(?:[Pp]assword|[Pp]assphrase|PASSWORD|[Pp]asswort)[*_`]{0,3}\s{0,8}\|\s{0,8}[*_`]{0,3})([^\s|*_`][^\s|`]{4,100}?)(?=[*_`]{0,3}\s{0,8}\|)/gm,
      "mixed",
    ),
    // sentences
    password(
      "assw assphrase",
      /(\b(?:my|our|the|your|new|old|root|admin|login|wifi|with) (?:password|passwd|passphrase): ["'`]{0,2})([^\s"'`<>]{5,100}[^\s"'`<>.,;:!?)])/gi,
      "mixed",
    ),
    password(
      "assword assphrase",
      /(\b[Uu]s(?:e|ed|ing) ["'`]{0,2})([^\s"'`<>]{6,100})(?=["'`]{0,2} as (?:the |my |a |root |admin )?(?:password|passphrase)\b(?! \w))/g,
      "mixed",
    ),
    password(
      "ass contrase",
      /(\b(?:pass(?:word|phrase|code|wort)|Pass(?:word|wort)|passwd|contraseña|mot de passe)\b(?: (?:for|to|of|on|at|für) [\w@.'/-]{1,40}(?: [\w@.'/-]{1,40}){0,3}?)? (?:is|was|ist|est|es|é|lautet|should be|will be|set to|changed to)(?: set to| changed to| now)?:? ["'`“*]{0,3})([^\s"'`”<>]{5,100}[^\s"'`”<>.,;:!?)*])/g,
      "mixed",
    ),
    password(
      "пароль Пароль 密码 密碼 パスワード",
      /((?:пароль|密码|密碼|パスワード)\s{0,2}(?:[:：=]|是|は|—|-)\s{0,2}["'`«「*]{0,3})([^\s"'`»」<>，。、]{4,100}[^\s"'`»」<>.,;:!?)*，。、])/gi,
      "mixed",
    ),
    password(
      "password passphrase",
      /(\b(?:set|changed?|reset|rotated) (?:the |my |your |its |his |her |their )?(?:\w{1,20} )?(?:password|passphrase) (?:of \S{1,40} |for \S{1,40} )?to ["'`“*]{0,3})([^\s"'`”<>]{5,100}[^\s"'`”<>.,;:?)*])/g,
      "mixed",
    ),
    password("pw: pw = PW:", /(?<![\w-])((?:pw|PW) ?[:=] ?["'`]?)([^\s"'`<>,;]{6,100})/g, "mixed"),
    // calls whose last argument is one
    password(
      "assword auth=(",
      /((?:\bset(?:Password|Passphrase)\(|\b(?:getProperty|getString|getOrDefault)\(["'][\w.-]{0,40}password["'], ?|\bset_password\((?:["'][^"'\n]{1,100}["'], ?){2}|\bauth=\(["'][^"'\n]{1,100}["'], ?)["'])([^"'\n]{4,200})(?=["'])/g,
      "any",
    ),
    context(
      "secret",
      "TOTP totp 2FA MFA",
      /(\b(?:TOTP|totp|2FA|MFA)[ _-](?:secret|seed|key|SECRET|SEED|KEY)["'`*]{0,3}\s{0,4}(?:[:=]|is)\s{0,4}["'`*]{0,3})([A-Z2-7]{16,128}=*)(?![\w-])/g,
    ),
    context(
      "secret",
      "TOTP totp 2FA MFA etup",
      /(\b(?:TOTP|totp|2FA|MFA|[Ss]etup)[ _-](?:secret|seed|key|SECRET|SEED|KEY)["'`*]{0,3}\s{0,4}(?:[:=]|is)\s{0,4}["'`*]{0,3})((?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{1,8}|(?=[a-z -]{1,60}[2-7])(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{1,8})(?![\w-])/g,
    ),
    context(
      "code",
      "code OTP passcode",
      /(\b(?:(?:[Vv]erification|[Oo]ne[- ][Tt]ime|[Ss]ecurity|[Ll]ogin|[Ss]ign-?in|[Cc]onfirmation) (?:pass)?code|OTP)(?: is|:)\s{0,3}["'`*]{0,3})(\d{3}[ -]\d{3}|\d{4,8})(?!\w|[.-]\w)/g,
    ),
    context(
      "pin",
      "PIN pin",
      /(\b(?:PIN|[Pp]in [Cc]ode|(?:my|your|card|door|alarm|SIM|phone|unlock) pin)["'`*]{0,3}\s{0,3}(?:[:=]|is|was)\s{0,3}["'`*]{0,3})(\d{4,8})(?!\w|[.-]\w)/g,
    ),
    password(
      ":543 :6432: :*:",
      /(^[\w.*-]{1,100}:(?:543\d|6432|\*):[^:\s]{1,60}:[^:\s]{1,60}:)([^:\s]{3,100})(?=\s{0,4}$)/gm,
    ),
    context(
      "secret",
      "variable",
      /(\bvariable "[\w-]{0,60}(?:password|passwd|secret|token|api_?key|private_key)[\w-]{0,20}" \{[^{}"]{0,200}(?:"[^"{}\n]{0,100}"[^{}"]{0,100}){0,3}\bdefault\s{0,8}=\s{0,8}")([^"\n]{4,200})(?=")/g,
      "exact",
    ),
    context(
      "secret",
      "value",
      new RegExp(
        `(\\bname["']?\\s{0,4}:\\s{0,4}["']?(?:${CAPITALS}|[\\w.-]{0,40}(?:password|passwd|secret))["']?,?\\s{1,40}["']?value["']?\\s{0,4}:\\s{0,4}["']?)([^\\s"',}]{4,200})`,
        "g",
      ),
      "exact",
    ),
    password(
      "password:",
      /(^[ \t-]{0,40}(?:user(?:name)?|login|host(?:name)?|port|database|db(?:name)?|email|adapter):[ \t]{1,4}[^\s,;{}()]{1,100}[ \t]{0,4}\n(?:[ \t]{0,40}[\w-]{1,30}:[ \t]{1,4}[^\s,;{}()]{1,100}[ \t]{0,4}\n){0,3}[ \t]{0,40}(?:[\w-]{1,30}[_-])?password:[ \t]{1,4})([a-z]{6,40})(?=[ \t]{0,4}$)/gm,
      "word",
    ),
    password("WIFI:", /(\bWIFI:(?:[STH]:[^;\n]{0,64};){0,3}P:)([^;\n]{4,100})(?=;)/g),
    password("assword", /((?:^|\s)username=\S{1,100}\s{1,8}password=)(\S{4,200})/g),
    context(
      "mnemonic",
      "nemonic MNEMONIC phrase PHRASE eed",
      /(\b(?:[Mm]nemonic|[Ss]eed[ _-]?(?:phrase|words)|[Rr]ecovery[ _-]?phrase|MNEMONIC|SEED_PHRASE)(?: phrase| words)?["'`*]{0,3}\s{0,4}(?:[:=]|is|are)\s{0,4}["'`*]{0,3})((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b/g,
    ),
    password(
      "assphrase",
      /(\b[Pp]assphrase["'`*]{0,3}\s{0,4}(?:[:=]|is)\s{0,4}["'`*]{0,3})((?:[a-z]{3,12}[ -]){3,9}[a-z]{3,12})(?=["'`*.,;]|\s{0,40}$)/gm,
    ),
  ];
}
