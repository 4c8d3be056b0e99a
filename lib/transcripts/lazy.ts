/** Texts that are worked out when they are first read: most readers want few of them. */

/** Defines a property that is computed once, when it is first read. */
export function defineLazy<T extends object, K extends keyof T>(object: T, key: K, compute: () => T[K]): T {
  let known: { value: T[K] } | undefined;
  const get = () => {
    known ??= { value: compute() };
    return known.value;
  };
  return Object.defineProperty(object, key, { get, enumerable: true, configurable: true });
}
