/** What a process that contends in a cluster is told and what it says: see `children/rival.ts`. */
import type { LocksOptions } from '../../src/index.ts';

export interface RivalTask {
  readonly ports: readonly number[];
  readonly storePort: number;
  readonly callers: number;
  /** Of a `Locks`, beside what every rival has. */
  readonly options: LocksOptions;
}

/** Times are of one clock for all processes of this machine, in milliseconds. */
export interface RivalLine {
  readonly session?: string;
  /** A section has begun, with this fence. */
  readonly entered?: number;
  /** The owner with this fence knows that it has lost the lock. */
  readonly told?: number;
  /** The owner with this fence does not claim it any more. */
  readonly left?: number;
  readonly atMs?: number;
  /** An acquisition that failed, in words. */
  readonly failed?: string;
  /** Said at the end. */
  readonly sections?: number;
}
