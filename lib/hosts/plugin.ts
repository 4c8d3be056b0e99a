/** Words of the commands by which hosts take us as a plugin, from the folder that this package lies in. */

import { ROOT } from "../base/runtime.ts";

export const PLUGIN = "session-memory@session-memory";
export const ADD_MARKETPLACE = ["plugin", "marketplace", "add", ROOT];
export const REMOVE_MARKETPLACE = ["plugin", "marketplace", "remove", "session-memory"];
