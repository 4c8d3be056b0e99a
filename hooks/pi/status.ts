/** Shows remarks in pi's status line, each under its own key and for a limited time. */

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
      // the session and its status line were replaced meanwhile
    }
  };
  const timer = setTimeout(clear, settings.notificationAutoClearMs);
  timer.unref();
  timers.set(key, timer);
}
