/** A mistake that is made on purpose, to see that the simulator finds it. */
import type { Client, Clock } from '../../../src/index.ts';
import type { Rule } from '../judge.ts';
import type { Machine } from '../machine.ts';

export interface PlantedBug {
  readonly name: string;
  /** Rules that may find it. */
  readonly breaks: readonly Rule[];
  /** How many nodes it needs. @default 1 */
  readonly nodes?: number;
  /** Puts a faulty client before the real one. */
  readonly client?: (client: Client, machine: Machine) => Client;
  /** Gives a faulty clock to `Locks`. */
  readonly clock?: (machine: Machine) => Clock;
  /** Changes the shipped code in this process, and returns how to change it back. */
  readonly patch?: () => () => void;
}
