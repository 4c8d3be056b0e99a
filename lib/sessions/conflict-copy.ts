/**
 * Copies that sync tools leave where two machines changed one file, and old versions that they keep: never a session
 * of their own. The id is in a transcript's name, so a copy would count as another session.
 */

/** An id is the end of a name: OneDrive puts the machine's name behind it, others a mark, a number or a date. */
const BEHIND_ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[ ._(~-].*\.jsonl$/;
/** The marks themselves, for ids of other forms. */
const MARKS: readonly RegExp[] = [
  /\.sync-conflict-\d{8}-\d{6}/, // Syncthing
  /\([^()]*(?:conflicted copy|SFConflict)[^()]*\)/i, // Dropbox, Nextcloud, Seafile
  /_conflict-\d{8}-\d{6}/, // ownCloud
  /_Conflict\.jsonl$/, // Synology
  /\.conflict\d*\.jsonl$/i, // Resilio, rclone
  / \(\d+\)\.jsonl$/, // Google Drive
  /~\d{8}-\d{6}\.jsonl$/, // Syncthing's old versions
  /^~|^\.syncthing\./, // on their way
];
const ORDINARY = /^[0-9A-Za-z][\w.-]*$/;
const FOLDERS = new Set([".stversions", ".stfolder", ".sync", "@eaDir", ".dropbox.cache", ".Trash"]);

/** Whether a transcript's file name is that of a sync tool's copy. */
export function isConflictCopy(name: string): boolean {
  if (BEHIND_ID.test(name)) return true;
  // Nearly every name there is: trying each mark would cost a prompt hook milliseconds.
  if (ORDINARY.test(name) && !name.includes("onflict")) return false;
  return MARKS.some((mark) => mark.test(name));
}

/** Whether a folder holds what a sync tool keeps for itself: old versions, deleted files. */
export function isSyncFolder(name: string): boolean {
  return FOLDERS.has(name);
}
