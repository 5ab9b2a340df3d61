/** What a player process can be told to do, by name, with its plan and its answer. All of it crosses as messages. */
import type { Contestant } from '../contestant.ts';
import type { HistogramData } from '../histogram.ts';

export interface ContendPlan {
  readonly key: string;
  readonly waiters: number;
  readonly warmMs: number;
  readonly windowMs: number;
  /** How long each section lasts; 0 is empty. */
  readonly sectionMs: number;
  /** Guard a counter in this file, which others may guard at the same time. */
  readonly counterPath: string | null;
}

export interface ContendResult {
  /** Acquisitions in the window. */
  readonly acquisitions: number;
  /** Acquisitions since the job began, warm-up included: what the server's count of commands goes with. */
  readonly acquisitionsInAll: number;
  readonly windowMs: number;
  /** Acquisitions in the window by each waiter. */
  readonly shares: readonly number[];
  readonly waits: HistogramData;
  /** Acquisitions that the library gave up. */
  readonly gaveUp: number;
  /** Sections in which the counter was changed by another. */
  readonly violations: number;
}

export interface HoldPlan {
  readonly prefix: string;
  readonly leases: number;
  readonly leaseMs: number;
}

export interface WatchResult {
  readonly windowMs: number;
  /** Processor time of the client in the window. */
  readonly cpuMs: number;
  /** Leases that the library reported lost. */
  readonly lost: number;
}

export interface HeapPlan {
  readonly prefix: string;
  readonly leases: number;
  readonly waiters: number;
}

export interface HeapResult {
  readonly bytesPerLease: number;
  readonly bytesPerWaiter: number;
}

export interface BuyPlan {
  readonly key: string;
  readonly port: number;
  readonly stockKey: string;
  readonly buyers: number;
  readonly limitMs: number;
}

export interface BuyResult {
  readonly sold: number;
  readonly gaveUp: number;
}

/** Each job's plan and result. */
export interface Jobs {
  contend: { plan: ContendPlan; result: ContendResult };
  /** Takes and keeps the key; answers the moment of the grant, by the clock that all processes share. */
  seize: { plan: { readonly key: string }; result: { readonly atMs: number } };
  /** Gives the seized key back; answers the moment just before. */
  yield: { plan: { readonly key: string }; result: { readonly atMs: number } };
  /** Takes leases that live only if they are renewed; answers when all of them must have been. */
  hold: { plan: HoldPlan; result: null };
  /** Lets the held leases be for a while; answers what that cost. */
  watch: { plan: { readonly windowMs: number }; result: WatchResult };
  heap: { plan: HeapPlan; result: HeapResult };
  buy: { plan: BuyPlan; result: BuyResult };
}

export type JobName = keyof Jobs;

/** Work that goes on after a job has answered, such as waiters that still wait. */
export interface Aftermath {
  /** Tells it to end, resolves when it has. */
  end(): Promise<void>;
}

export type Job<Name extends JobName> = (
  contestant: Contestant,
  plan: Jobs[Name]['plan'],
  leave: (aftermath: Aftermath) => void,
) => Promise<Jobs[Name]['result']>;
