/**
 * What of an end may be told: of one's own project all but an unnamed server; of another project of one's own what names
 * nothing of that project; of another person's session only plain local commands and edits.
 */

import { isAbsolute, resolve } from "node:path";
import { shellParts, shellWords } from "../transcripts/command-lines.ts";

/** The place of a deed, as seen by the asking session. */
export interface Origin {
  /** The owner of a shared session; "" for one's own. */
  owner: string;
  /** True if it is the asking session's project. */
  isHere: boolean;
  /** The folders of its project. */
  folders: readonly string[];
}

/** Something to be told. */
interface Told {
  /** A command line, or what an edit changed. */
  text: string;
  isEdit: boolean;
}

/** An address with its host: `https://host/`, `git@host:path`. */
const ADDRESS =
  /\b[a-z][a-z+.-]*:\/\/(?:[^\s/@"']*@)?(\[[^\]\s]*\]|[^\s/:"'?#)\\]*)|(?<![\w.])[\w.-]+@([\w-]+(?:\.[\w-]+)+|localhost):/gi;
/** An address without a scheme: `host.tld/path`, `host.tld:80`. */
const BARE_ADDRESS = /(?<![\w./@-])(?:[\w-]+\.)+[a-z]{2,}(?::\d|\/)|\b\d+(?:\.\d+){3}\b/i;
/** Names where packages come from. */
const REGISTRY =
  /registr(?:y|ies)\b|\bindex[-_]url\b|--(?:extra-)?index\b|find[-_]links|trusted[-_]host|goproxy|[-_]proxy\b/i;
const SUPERUSER = /(?:^|[\s;&|("'`])(?:sudo|doas|pkexec|runas|su) /;
const SHELL =
  /^(?:\w+=\S*\s+|(?:sudo|doas|env)\s+(?:-\S+\s+)*)*(?:\S*\/)?(?:ba|z|da|k|c|fi|pw)?sh(?:\.exe)?(?=\s|$)/;
/** A shell that another command hands its program. */
const GIVEN_BY =
  /(?:\b(?:ba|z|da|k|fi)?sh\b|\beval\b|\bsource\b|(?:^|\s)\.)[^;&|]*(?:\$\(|`|<\()|\bi(?:wr|rm)\b[^;&]*\biex\b/i;
/** Programs whose operands are servers. */
const NETWORK = /(?:^|[\s;&|(/])(?:curl|wget|iwr|irm|nc|ncat|ssh|scp|sftp|rsync|ping|telnet)\s/;

/** Returns whether a command line gives what another command prints to a shell. */
export function isPipedToShell(line: string): boolean {
  const parts = shellParts(line);
  const isPiped = parts.some(({ text }, i) => parts[i - 1]?.separator === "|" && SHELL.test(text));
  return isPiped || GIVEN_BY.test(line);
}

/**
 * Returns the hosts that a text of one's own names, for the line to name them; undefined where it reaches one without a
 * name.
 */
function findHosts(text: string): string[] | undefined {
  const hosts = [...text.matchAll(ADDRESS)].map(([, ofUrl, ofGit]) => ofUrl ?? ofGit ?? "");
  if (hosts.some((host) => !/^[\w.[\]:-]+$/.test(host))) return undefined;
  if (hosts.length === 0 && (REGISTRY.test(text) || isPipedToShell(text))) return undefined;
  return [...new Set(hosts)];
}

/** Returns whether another person's command or edit reaches nothing but the project. */
function isLocal(text: string): boolean {
  const reaches = [BARE_ADDRESS, REGISTRY, SUPERUSER, NETWORK].some((sign) => sign.test(text));
  return !reaches && findHosts(text)?.length === 0 && !isPipedToShell(text);
}

/** Programs whose first operand is what a project calls its own: a script, a target, a folder. */
const TAKES_OWN =
  /^(?:npm|pnpm|yarn|bun|deno|make|gmake|just|rake|task|invoke|nox|composer|poetry|hatch|pdm|cd|pushd|source|\.)$/;
/** Subcommands that do not belong to a project. */
const COMMON =
  /^(?:i|ci|add|install|remove|rm|uninstall|update|upgrade|up|link|unlink|rebuild|dedupe|prune|audit|cache|config|set|login|create|init|lock|sync|store|self-update|require|dlx|exec|x|approve-builds)$/;

/** Returns whether a command line names a file, a script or an address that whoever asks need not have. */
function namesTheirOwn(line: string, { folders }: Origin, { command, output }: KnownWords): boolean {
  if (findHosts(line)?.length !== 0 || BARE_ADDRESS.test(line)) return true;
  return shellParts(line).some(({ text }) => {
    const [program = "", ...words] = shellWords(text).filter((word) => !/^\w+=/.test(word));
    const operand = words.find((word) => !word.startsWith("-")) ?? "";
    if (SHELL.test(program)) return true;
    if (TAKES_OWN.test(program) && !COMMON.test(operand) && !command.has(operand)) return true;
    const isHere = (word: string) => command.has(word) || output.has(word);
    return [program, ...words].some((word) => isTheirPath(word, folders) && !isHere(word));
  });
}

/** A package of a scope, with its version: `@types/node@22`. */
const SCOPED = /^@[\w.-]+\/[\w.-]+(?:@[\w.^~-]+)?$/;
/** A file's name ends in letters, a version in digits. */
const WITH_EXTENSION = /\.[a-z][a-z0-9]{0,6}$/i;

/** Returns whether a word may be a path of a project: one that is relative, or lies in its folders. */
function isTheirPath(word: string, folders: readonly string[]): boolean {
  const path = word.replace(/^-{1,2}[\w-]+=/, "");
  if (isAbsolute(path)) return folders.some((folder) => `${resolve(path)}/`.startsWith(`${folder}/`));
  if (path.startsWith("~/") || SCOPED.test(path)) return false;
  return /[/\\]/.test(path) || WITH_EXTENSION.test(path) || /^\.{1,2}$/.test(path);
}

const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/i;
/** The longest text that anyone would repeat as a command. */
const TEXT_MAX = 4000;

/** Words that who asks knows: those of the command that failed, and of its output. */
export interface KnownWords {
  command: ReadonlySet<string>;
  output: ReadonlySet<string>;
}

/** Returns the hosts that must be named beside some deeds; undefined where these may not be told. */
export function hostsToTell(deeds: readonly Told[], origin: Origin, known: KnownWords): string[] | undefined {
  const hosts = deeds.map(({ text, isEdit }) => {
    if (text.length > TEXT_MAX) return undefined;
    if (origin.owner !== "") return origin.isHere && isLocal(text) ? [] : undefined;
    // an edit is one of a file of its project
    const isTheirs = !origin.isHere && (isEdit || namesTheirOwn(text, origin, known));
    return isTheirs ? undefined : findHosts(text)?.filter((host) => !LOOPBACK.test(host));
  });
  return hosts.includes(undefined) ? undefined : [...new Set(hosts.flatMap((names) => names ?? []))];
}
