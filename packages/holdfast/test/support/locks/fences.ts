/** Fences in the order in which their owners were let in. */
import type { FencedLease, Lease } from '../../../src/index.ts';
import { Violation } from '../violation.ts';

/** The fence of a lock's lease. A mutex has none. */
export function fenceOf(lease: Lease): number {
  return (lease as FencedLease).fence;
}

/** Each is a whole number and larger than the one before it. Anything else is a violation. */
export function expectGrowing(fences: readonly number[]): void {
  for (const [index, fence] of fences.entries()) {
    if (!Number.isSafeInteger(fence)) throw new Violation(`owner ${index} has the fence ${fence}`);
    const before = fences[index - 1] ?? Number.NEGATIVE_INFINITY;
    if (fence <= before) throw new Violation(`owner ${index} has the fence ${fence} after ${before}`);
  }
}
