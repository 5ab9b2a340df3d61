/** What is promised in a world, by the faults that happen in it. */
import type { Terms } from '../terms.ts';
import type { FaultSelection } from '../world/fault-selection.ts';

export interface Promises {
  /** No fault is on that can give a lock to two owners. */
  readonly isInModel: boolean;
  /** Whether fences are promised: not when the node's clock goes back and its counters are lost. */
  readonly areFencesSure: boolean;
  /** Whether leases are so long that renewals are in time on every network. */
  readonly areLeasesLong: boolean;
  /** How long a lock may have two owners outside the model. */
  readonly overlapMsMax: number;
}

export function promisesOf({ nodes, leasesMs }: Terms, { faults, isInModel }: FaultSelection): Promises {
  const losesCounters =
    faults.has('evict counter') ||
    faults.has('flush') ||
    faults.has('restart with nothing') ||
    faults.has('restart without the last second');
  // Of one node's counters the clock makes up for; of several nodes' clocks none is the measure of the others.
  const isUnsure = losesCounters && (nodes === 1 ? faults.has('node jump back') : !isInModel);
  // A lease, and the network between: only then has a renewal certainly told the truth.
  const overlapMsMax = Math.max(...leasesMs) + 100;
  return { isInModel, areFencesSure: !isUnsure, areLeasesLong: Math.min(...leasesMs) >= 500, overlapMsMax };
}
