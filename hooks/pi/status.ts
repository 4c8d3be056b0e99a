/** Remarks in pi's status line, each under its key and taken away after a while. */

import type { Config } from "../../lib/config/config.ts";
import type { PiContext } from "./api.ts";

const timers = new Map<string, ReturnType<typeof setTimeout>>();

/** Shows a remark under `statusKey`, or under a key of its own beside it. */
export function showStatus(
  context: PiContext,
  text: string,
  { config: { settings }, beside }: { config: Config; beside?: string },
): void {
  const key = beside === undefined ? settings.statusKey : `${settings.statusKey}-${beside}`;
  context.ui.setStatus(key, text);
  clearTimeout(timers.get(key));
  if (settings.notificationAutoClearMs === 0) return;
  const clear = () => {
    try {
      context.ui.setStatus(key, undefined);
    } catch {
      // the session was replaced meanwhile, and its status line with it
    }
  };
  const timer = setTimeout(clear, settings.notificationAutoClearMs);
  timer.unref();
  timers.set(key, timer);
}
