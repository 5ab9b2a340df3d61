/** A mistake that is made on purpose, to see that the simulator finds it. */
import type { Client, Clock, LocksOptions } from '../../../src/index.ts';
import type { OnceRule, Rule } from '../checks/judge.ts';
import type { Terms } from '../terms.ts';
import type { Fault } from '../world/fault-selection.ts';
import type { Machine } from '../world/machine.ts';

export interface PlantedBug {
  readonly name: string;
  /** Rules that may find it. */
  readonly breaks: readonly (Rule | OnceRule)[];
  /** How many nodes it needs. @default 1 */
  readonly nodes?: number;
  /** The only faults that happen, for a bug that takes long to meet by chance. @default drawn by the seed */
  readonly faults?: readonly Fault[];
  /** What the world must be like for the bug to matter. @default drawn by the seed */
  readonly terms?: Partial<Terms>;
  /** Set wrongly. */
  readonly options?: LocksOptions;
  /** Puts a faulty client before the real one. */
  readonly client?: (client: Client, machine: Machine) => Client;
  /** Gives a faulty clock to `Locks`. */
  readonly clock?: (machine: Machine) => Clock;
  /** Changes the shipped code in this process, and returns how to change it back. */
  readonly patch?: () => () => void;
}
