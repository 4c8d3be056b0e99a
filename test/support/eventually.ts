/** Waiting for what another process does. */

/** Waits until `probe` gives a value; fails with `what` after `seconds`. */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  seconds = 20,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > end) throw new Error(`Waited ${seconds} s in vain for ${what}`);
    await Bun.sleep(50);
  }
}
