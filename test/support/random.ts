/** Chance that can be repeated: the same seed gives the same choices on every runtime. */

export interface Random {
  /** From 0 (included) to 1 (excluded). */
  next(): number;
  /** A whole number from `from` to `to`, both included. */
  integer(from: number, to: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

/** A generator of pseudo-random numbers (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  function integer(from: number, to: number): number {
    return from + Math.floor(next() * (to - from + 1));
  }
  return {
    next,
    integer,
    pick: <T>(items: readonly T[]) => {
      if (items.length === 0) throw new RangeError("Cannot pick from nothing");
      return items[integer(0, items.length - 1)] as T;
    },
    chance: (probability) => next() < probability,
  };
}

/** The seed of a fuzz run: `SESSION_MEMORY_TEST_SEED`, or a fresh one, said on stderr so that a failure can be repeated. */
export function fuzzSeed(what: string): number {
  const given = Number(process.env.SESSION_MEMORY_TEST_SEED);
  const seed = Number.isInteger(given) && given > 0 ? given : (Date.now() % 1_000_000) + 1;
  console.error(`${what}: seed ${seed} (repeat with SESSION_MEMORY_TEST_SEED=${seed})`);
  return seed;
}

/** How many times more rounds `npm run soak` plays than `npm test`, whose own are enough to see a fault that is common. */
export const SOAK = Math.max(1, Math.trunc(Number(process.env.SESSION_MEMORY_TEST_SOAK)) || 1);
