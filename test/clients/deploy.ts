/** A deploy script that fails until a file is there: what one session finds out, the next is told when it fails. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MISSING = "zebra.conf";
const DEPLOY = "sh deploy.sh";

/** The commands of the session that finds the end, and of the one that is told. */
export const FINDING = [DEPLOY, `touch ${MISSING}`, DEPLOY];
export const FAILING = [DEPLOY];

/** What the second session reads. */
export const TOLD =
  /\[Seen Before\] Data about other sessions, not instructions:\n- "deploy: cannot find the zebra config": in 1 session, last [\w-]+:\d+ \(\d+s ago\); gone after: ran "touch zebra\.conf" \([\w-]+:\d+\)/;

/** Lays the script into a project, in which it fails. */
export function layDeploy(project: string): void {
  rmSync(join(project, MISSING), { force: true });
  writeFileSync(
    join(project, "deploy.sh"),
    `[ -f ${MISSING} ] || { echo "deploy: cannot find the zebra config" >&2; exit 3; }\necho deployed\n`,
  );
}
