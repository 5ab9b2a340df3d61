/**
 * The messages between tests and participants, whatever these are written in: flat JSON objects, one a line. A
 * participant first says `{"ready":true}`. Each of its answers repeats the `id` of the request. It ends when its standard
 * input ends.
 */

/** `fenced` is Redisson's RFencedLock; the locks of holdfast have fences anyway. */
export type GuardKind = 'lock' | 'fenced' | 'mutex';

/** Takes the lock. Without `waitMs` it waits for ever; without `leaseMs` the lease is the library's usual one. */
export interface TakeRequest {
  readonly request: 'take';
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

export interface FreeRequest {
  readonly request: 'free';
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
export interface ContendRequest {
  readonly request: 'contend';
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
export interface RoundsRequest {
  readonly request: 'rounds';
  readonly kind: GuardKind;
  readonly name: string;
  readonly count: number;
}

export interface RoundsAnswer {
  readonly rounds: number;
  readonly tookMs: number;
}

/** Ends every contention of a Node participant before its time. */
export interface StopRequest {
  readonly request: 'stop';
}

export interface StopAnswer {
  readonly stopped: true;
}

/** The request for each answer. */
export interface Exchange {
  readonly take: { readonly request: TakeRequest; readonly answer: TakeAnswer };
  readonly free: { readonly request: FreeRequest; readonly answer: FreeAnswer };
  readonly contend: { readonly request: ContendRequest; readonly answer: ContendAnswer };
  readonly rounds: { readonly request: RoundsRequest; readonly answer: RoundsAnswer };
  readonly stop: { readonly request: StopRequest; readonly answer: StopAnswer };
}

export type AnyRequest = Exchange[keyof Exchange]['request'];
