/**
 * The language in which tests talk to participants, whatever these are written in: flat JSON objects, one a line. A
 * participant first says `{"ready":true}`. It answers each order with the order's `id`, and ends with its standard input.
 */

/** `fenced` is Redisson's RFencedLock; the locks of holdfast have fences anyway. */
export type GuardKind = 'lock' | 'fenced' | 'mutex';

/** Takes the lock. Without `waitMs` it waits for ever; without `leaseMs` the lease is the library's usual one. */
export interface TakeOrder {
  readonly order: 'take';
  readonly kind: GuardKind;
  readonly name: string;
  readonly waitMs?: number;
  readonly leaseMs?: number;
  /** In Java the thread that owns the lock. Only the same caller can free it. */
  readonly caller?: number;
}

/** Times are of the machine's wall clock: before the call and after it. */
export interface TakeAnswer {
  readonly taken: boolean;
  /** 0 for a lock without one. */
  readonly fence: number;
  readonly fromMs: number;
  readonly atMs: number;
}

export interface FreeOrder {
  readonly order: 'free';
  readonly kind: GuardKind;
  readonly name: string;
  readonly caller?: number;
}

export interface FreeAnswer {
  readonly freed: true;
  readonly fromMs: number;
  readonly atMs: number;
}

/** Takes the lock in a loop for a time, and writes each turn into a journal. */
export interface ContendOrder {
  readonly order: 'contend';
  readonly kind: GuardKind;
  readonly name: string;
  readonly durationMs: number;
  readonly sectionMs: number;
  /** Between a release and the next attempt. */
  readonly pauseMs: number;
  /** How many callers contend in this process. */
  readonly threads: number;
  readonly journal: string;
  /** The participant's name in the journal. */
  readonly who: string;
}

export interface ContendAnswer {
  readonly turns: number;
  readonly waitsMs: readonly number[];
}

/** Takes and frees a number of times, one caller, without a pause. */
export interface RoundsOrder {
  readonly order: 'rounds';
  readonly kind: GuardKind;
  readonly name: string;
  readonly count: number;
}

export interface RoundsAnswer {
  readonly rounds: number;
  readonly tookMs: number;
}

/** Ends every contention of a Node participant before its time. */
export interface StopOrder {
  readonly order: 'stop';
}

export interface StopAnswer {
  readonly stopped: true;
}

/** The order for each answer. */
export interface Exchange {
  readonly take: { readonly order: TakeOrder; readonly answer: TakeAnswer };
  readonly free: { readonly order: FreeOrder; readonly answer: FreeAnswer };
  readonly contend: { readonly order: ContendOrder; readonly answer: ContendAnswer };
  readonly rounds: { readonly order: RoundsOrder; readonly answer: RoundsAnswer };
  readonly stop: { readonly order: StopOrder; readonly answer: StopAnswer };
}

export type AnyOrder = Exchange[keyof Exchange]['order'];
