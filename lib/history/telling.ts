/** Decides which ends may be told beyond the project and the person they come from. */

import { shellParts, shellWords } from "../transcripts/command-lines.ts";

/** The place of a deed, as seen by the asking session. */
export interface Origin {
  /** The owner of a shared session; "" for one's own. */
  owner: string;
  /** True if it is the asking session's project. */
  isHere: boolean;
}

/** Something to be told. */
interface Told {
  /** A command line, or what an edit changed. */
  text: string;
  isEdit: boolean;
}

/** Reaches beyond the machine: an address with a scheme, one of git, one without either, a name where packages come from. */
const ADDRESS = /\b[a-z][a-z+.-]*:\/\/|(?<![\w.])[\w.-]+@(?:[\w-]+(?:\.[\w-]+)+|localhost):/i;
const BARE_ADDRESS = /(?<![\w./@-])(?:[\w-]+\.)+[a-z]{2,}(?::\d|\/)|\b\d+(?:\.\d+){3}\b/i;
const REGISTRY =
  /registr(?:y|ies)\b|\bindex[-_]url\b|--(?:extra-)?index\b|find[-_]links|trusted[-_]host|goproxy|[-_]proxy\b/i;
const SUPERUSER = /(?:^|[\s;&|("'`])(?:sudo|doas|pkexec|runas|su) /;
/** Programs whose operands are servers. */
const NETWORK = /(?:^|[\s;&|(/])(?:curl|wget|iwr|irm|nc|ncat|ssh|scp|sftp|rsync|ping|telnet)\s/;
const SHELL =
  /^(?:\w+=\S*\s+|(?:sudo|doas|env)\s+(?:-\S+\s+)*)*(?:\S*\/)?(?:ba|z|da|k|c|fi|pw)?sh(?:\.exe)?(?=\s|$)/;
/** A shell that another command hands its program. */
const GIVEN_BY =
  /(?:\b(?:ba|z|da|k|fi)?sh\b|\beval\b|\bsource\b|(?:^|\s)\.)[^;&|]*(?:\$\(|`|<\()|\bi(?:wr|rm)\b[^;&]*\biex\b/i;
/** The longest text that anyone would repeat as a command. */
const TEXT_MAX = 4000;

/** Returns whether a command line gives what another command prints to a shell. */
export function isPipedToShell(line: string): boolean {
  const parts = shellParts(line);
  const isPiped = parts.some(({ text }, i) => parts[i - 1]?.separator === "|" && SHELL.test(text));
  return isPiped || GIVEN_BY.test(line);
}

/** Returns whether a command or edit reaches nothing but the project. */
function isLocal(text: string): boolean {
  const reaches = [ADDRESS, BARE_ADDRESS, REGISTRY, SUPERUSER, NETWORK].some((sign) => sign.test(text));
  return !reaches && !isPipedToShell(text) && text.length <= TEXT_MAX;
}

/** A word that may be a path: `./fix.sh`, `src/a.ts`. */
const PATH = /[/\\]|\.[a-z][a-z0-9]{0,6}$/i;

/**
 * Returns whether some deeds may be told: all of one's own in this project; of another person plain local commands and edits
 * of this project; of another project of one's own plain local commands of words that the failure named too, as far as these
 * may be paths.
 */
export function mayTell(
  deeds: readonly Told[],
  { owner, isHere }: Origin,
  known: ReadonlySet<string>,
): boolean {
  if (owner === "" && isHere) return true;
  const isCommon = (line: string) =>
    shellParts(line).every(({ text }) =>
      shellWords(text).every((word) => !PATH.test(word) || known.has(word)),
    );
  return deeds.every(
    ({ text, isEdit }) => isLocal(text) && (owner === "" ? !isEdit && isCommon(text) : isHere),
  );
}
