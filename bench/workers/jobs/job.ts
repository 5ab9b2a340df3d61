/** The jobs of a worker process, each with its plan and its result. Plans and results travel as messages. */
import type { HistogramData } from '../../measure/histogram.ts';
import type { OpenParticipant } from '../../participants/participant.ts';

export interface ContendPlan {
  readonly key: string;
  readonly waiters: number;
  readonly warmMs: number;
  readonly windowMs: number;
  /** How long a critical section lasts; 0: an empty one. */
  readonly sectionMs: number;
  /** The file of a counter to guard, which other processes may guard at the same time. Null: no counter. */
  readonly counterPath: string | null;
}

export interface ContendResult {
  /** Acquisitions in the window. */
  readonly acquisitions: number;
  /** Acquisitions since the job began, warm-up included: the server's count of commands spans the same time. */
  readonly acquisitionsInAll: number;
  readonly windowMs: number;
  /** Processor time of the process since the job began. */
  readonly cpuMsInAll: number;
  /** Acquisitions in the window by each waiter. */
  readonly shares: readonly number[];
  readonly waits: HistogramData;
  /** Acquisitions that the library ended with an error. */
  readonly gaveUp: number;
  /** Critical sections during which another holder changed the counter. */
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

/** Plan and result of each job. */
export interface Jobs {
  contend: { plan: ContendPlan; result: ContendResult };
  /** Acquires the key and holds it. Result: the time of the grant, by the clock that all processes share. */
  take: { plan: { readonly key: string }; result: { readonly atMs: number } };
  /** Releases the key of `take`. Result: the time just before the release. */
  release: { plan: { readonly key: string }; result: { readonly atMs: number } };
  /** Acquires leases that expire unless renewed, and waits until each must have been renewed. */
  hold: { plan: HoldPlan; result: null };
  /** Idles for the window while the library renews the leases of `hold`. Result: what renewal cost. */
  watch: { plan: { readonly windowMs: number }; result: WatchResult };
  heap: { plan: HeapPlan; result: HeapResult };
  buy: { plan: BuyPlan; result: BuyResult };
}

export type JobName = keyof Jobs;

/** `onClose` registers what ends the work that outlives a result, such as callers that still wait. */
export type Job<Name extends JobName> = (
  opened: OpenParticipant,
  plan: Jobs[Name]['plan'],
  onClose: (cleanup: () => Promise<void>) => void,
) => Promise<Jobs[Name]['result']>;
