/** What a process that contends in a cluster is told and what it says: see `children/rival.ts`. */
import type { LocksOptions } from '../../../src/index.ts';

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
  /** A section has begun, with this fence, and when. */
  readonly entered?: number;
  readonly atMs?: number;
  /** The section with this fence has ended, and when its owner last found that it holds the lock. */
  readonly left?: number;
  readonly heldMs?: number;
  /** An acquisition that failed, in words. */
  readonly failed?: string;
  /** Said at the end. */
  readonly sections?: number;
}
