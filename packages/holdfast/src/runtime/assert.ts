/** Checks a belief about our own code. Always on; the message says what was believed. */
export function assert(belief: boolean, message: () => string): asserts belief {
  if (!belief) throw new Error(`holdfast is broken: ${message()}`);
}
