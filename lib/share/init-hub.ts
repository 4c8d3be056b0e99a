/** Makes or migrates the hub's tables, by the URL of a role that may. */

import { SessionMemoryError } from "../base/errors.ts";
import type { Config } from "../config/config.ts";
import { connectHub } from "./hub.ts";
import { ADMIN_URL_VARIABLE, hubAddress } from "./hub-address.ts";
import { HUB_MIGRATIONS, initSql, SCHEMA } from "./hub-schema.ts";

interface InitReport {
  hub: string;
  role: string;
  /** Versions of the tables. */
  from: number;
  to: number;
}

/** Runs what `initSql` gives, in one transaction. */
export async function initHub(config: Config, role: string): Promise<InitReport> {
  const hub = await connectHub(hubAddress(ADMIN_URL_VARIABLE, config));
  try {
    const [found] = await hub.query("SELECT to_regclass($1) IS NOT NULL AS found", [`${SCHEMA}.facts`]);
    const [row] = found?.found
      ? await hub.query(`SELECT value FROM ${SCHEMA}.facts WHERE name = 'version'`)
      : [];
    const from = Number(row?.value ?? 0);
    if (from > HUB_MIGRATIONS.length) {
      throw new SessionMemoryError(
        "HUB_ERROR",
        `Cannot migrate the hub ${hub.label}: its tables are version ${from}, this program knows ${HUB_MIGRATIONS.length}`,
        { hint: "update session-memory" },
      );
    }
    await hub.query(initSql(role, from));
    return { hub: hub.label, role, from, to: HUB_MIGRATIONS.length };
  } finally {
    await hub.close();
  }
}
