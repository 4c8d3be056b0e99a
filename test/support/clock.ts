/** Preloaded into a process of another version: its clock begins at SESSION_MEMORY_TEST_NOW. */

const real = Date;
const offset = real.parse(process.env.SESSION_MEMORY_TEST_NOW ?? "") - real.now();

globalThis.Date = class extends real {
  constructor(...given: []) {
    super(...((given.length > 0 ? given : [real.now() + offset]) as []));
  }
  static override now(): number {
    return real.now() + offset;
  }
} as DateConstructor;

// no work begins in the background
process.execPath = "/nowhere/bun";
