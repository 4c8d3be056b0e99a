/** Removes what is never visible: escape sequences, control characters, direction marks, tags of plane 14. */

const BEYOND_PRINTABLE = /[^\t\n -~]/;
/** Any character, or first half of a pair, of which some are removed. */
const SUSPECT =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is a character of its own
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud834\ud80d\ud82f\udb40-\udb43]/;
/** The body ends where another one begins: each character is looked at once. */
const STRING_SEQUENCE =
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\x9d\x90\x98\x9e\x9f\n]*(?:\x07|\x1b\\|\x9c)/g;
/** Joiners and selectors between ASCII characters, which need none. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: each is a character of its own
const JOINED = /(?<=^|[\n -~])[\u200c\u200d\ufe00-\ufe0f]+(?=[\n -~]|$)/g;
/** Characters that are never visible; plane 14 contains nothing else. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is a character of its own
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\udb40-\udb43][\udc00-\udfff]|\ud834[\udd73-\udd7a]|\ud80d[\udc30-\udc3f]|\ud82f[\udca0-\udca3]/g;

/**
 * Removes escape sequences whole (colours, titles, hyperlinks: the link's text stays), then what is left of controls; newline
 * and tab stay. Joiners and a variation selector stay where scripts and emoji need them: beside a character beyond ASCII.
 */
export function removeControls(text: string): string {
  if (!BEYOND_PRINTABLE.test(text)) return text;
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  if (!SUSPECT.test(whole)) return whole;
  return whole
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g, "")
    .replace(STRING_SEQUENCE, "")
    .replace(/\x1b[ -/]*[0-~]?/g, "")
    .replace(/\r\n?/g, "\n")
    .replace(INVISIBLE, "")
    .replace(/[\ufe00-\ufe0f]+(?=[\ufe00-\ufe0f])/g, "")
    .replace(JOINED, "");
}
