/**
 * The seam between primitives and servers. A primitive says what a transition is on one node (`Protocol`); a
 * topology decides how many nodes must agree and turns their answers into one.
 */
import type { CallFailure, Reply, ScriptCall, StopListening, Wake } from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import type { Instant } from '../runtime/instant.ts';

export type Kind = 'lock' | 'mutex';

/** Which channels carry wake-ups: plain ones, those of a cluster's shards, or both. */
export type PubSub = 'plain' | 'sharded' | 'both';

/** What an acquire states: this hold has it, for this long, with this many fences. */
export interface HoldTerms {
  readonly holder: string;
  readonly leaseMs: number;
  /** How many local owners it may serve; each gets a fence of its own. The server may grant fewer. */
  readonly fences: number;
  /**
   * The time, in µs, that fences begin from on all of several servers, so that all give the same; 0 or none: each by
   * its own clock.
   */
  readonly commonUs?: number;
}

/** One node's answer to an acquire. */
export type AcquireAnswer =
  | {
      readonly is: 'GRANTED';
      readonly nowMs?: number;
      readonly firstFence?: number;
      /** How many fences it has; untold: as many as were asked for. */
      readonly fences?: number;
    }
  | { readonly is: 'HELD'; readonly nowMs: number; readonly ttlMs: number; readonly owner?: string }
  | { readonly is: 'LATE'; readonly nowMs: number }
  | { readonly is: 'CONFLICT'; readonly nowMs: number; readonly found: string };

export type ReleaseAnswer = { readonly is: 'RELEASED'; readonly receivers: number } | { readonly is: 'GONE' };

/** What is known here of the hold that is renewed. */
export interface Claim {
  /** Whether it is still wanted: what was released meanwhile must not be written again. */
  readonly isLive: boolean;
  /** The end of its block of fences, if it has one. */
  readonly lastFence: number | undefined;
}

export interface RenewItem {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly leaseMs: number;
  /** Of a recount: the lease ends on its time, and entering or leaving does not prolong it. */
  readonly isFixed?: boolean;
  readonly claim: Claim;
  /**
   * Leaves the counter of fences alone, so that the lock is the only key: while a slot moves, the two may be at
   * different nodes, and a lease must not be lost for that.
   */
  readonly isWithoutCounter?: boolean;
}

export type RenewAnswer = 'RENEWED' | 'GONE' | 'FAILED';

/** How a kind of lock renews many holds in one call. One object per kind: batches are grouped by it. */
export interface RenewalBatch {
  call(items: readonly RenewItem[]): ScriptCall;
  decode(reply: Reply, count: number): RenewAnswer[];
}

/** A primitive's transitions on one name, as script calls for one node and the reading of their replies. */
export interface Protocol {
  readonly kind: Kind;
  /** As the caller gave it. */
  readonly name: string;
  /** The Redis key. */
  readonly key: string;
  readonly channel: string;
  readonly isFenced: boolean;
  /** How long a counter of fences outlives the lease and its last fence; 0: for ever, or there are no fences. */
  readonly fenceTtlMs: number;
  readonly renewal: RenewalBatch;
  /** `notAfterMs` is the server's time after which it must not be granted, 0 when we do not know its clock. */
  acquire(terms: HoldTerms, notAfterMs: number, wantsTime: boolean): ScriptCall;
  decodeAcquire(reply: Reply): AcquireAnswer;
  release(holder: string, how: PubSub | 'nobody'): ScriptCall;
  decodeRelease(reply: Reply): ReleaseAnswer;
  /**
   * Raises the counter of fences to the end of a block that other servers agreed on, where the hold is ours; once the
   * block `isGiven` to its owner, also where nobody has the lock. Only for kinds with fences.
   */
  raise(holder: string, lastFence: number, isGiven: boolean): ScriptCall;
  /** Whether it was still ours. */
  decodeRaise(reply: Reply): boolean;
  /** States how often the hold is entered; only for kinds that can be. */
  recount(item: RenewItem, count: number): ScriptCall;
  /** Whether it was still ours. */
  decodeRecount(reply: Reply): boolean;
}

export type AcquireResult =
  | {
      readonly is: 'granted';
      readonly deadline: Instant;
      readonly firstFence: number | undefined;
      /** How many fences it has, from the first on. */
      readonly fences: number;
      /** When we heard of it: read once, because a grant is on every caller's way. */
      readonly heardAt: Instant;
    }
  | {
      readonly is: 'held';
      readonly ttlMs: number;
      readonly owner: string | undefined;
      /** The votes were split and nobody has it: it helps to try again after a short, random while. */
      readonly isSplit: boolean;
    }
  | {
      readonly is: 'conflict';
      /** What stands there, in words. */
      readonly found: string;
      /** Not the lock's own key is in the way, but the counter of its fences. */
      readonly isCounter?: boolean;
    }
  /** It was not granted; `isCertain` when no earlier copy of the request can have been either. */
  | {
      readonly is: 'refused';
      readonly servers: readonly ServerFailure[];
      /** Whether it may help to ask again. */
      readonly isPassing: boolean;
      readonly isCertain: boolean;
      /** The server has granted it, and that does not count: it must be given back, and its holder never used again. */
      readonly wasGranted?: boolean;
    }
  /** It may have happened: repeat it under the same holder, or release that holder. */
  | {
      readonly is: 'unknown';
      readonly servers: readonly ServerFailure[];
      /** It carried no time after which it must not be granted, as the first call to a server: it may be long on its way. */
      readonly isUnbounded?: boolean;
    };

/** What a release needs to know of the hold that it ends. */
export interface ReleaseTerms {
  readonly holder: string;
  /** The longest lease that was ever asked for it: a server that cannot be reached lets go of it by then. */
  readonly leaseMs: number;
  /** Wakes nobody: it was never held, so nobody waits for its end. */
  readonly isQuiet?: boolean;
}

export type ReleaseResult =
  | { readonly is: 'released'; readonly receivers: number }
  | { readonly is: 'gone' }
  | { readonly is: 'failed'; readonly servers: readonly ServerFailure[] };

/** Of a renewal or a recount: only `kept` moves a deadline, only `gone` and time declare a loss. */
export type KeepResult =
  | { readonly is: 'kept' }
  | { readonly is: 'gone' }
  | { readonly is: 'failed'; readonly servers: readonly ServerFailure[] };

/**
 * Acquires of a holder that went unanswered. Each may still reach the server until then, behind a release that was
 * sent later on another connection; after that the server refuses it.
 */
export interface Strays {
  readonly count: number;
  readonly untilMs: number;
  /** The longest lease that one of them asked for. */
  readonly leaseMs: number;
}

export const NO_STRAYS: Strays = { count: 0, untilMs: 0, leaseMs: 0 };

export interface CleanUp {
  /** How many are open. */
  readonly size: number;
  /** Takes over the release of a holder whose last request may still take effect. */
  add(protocol: Protocol, terms: ReleaseTerms, strays?: Strays): void;
  /** Sends what is open once more and waits for that round, though not for longer than a call may take. */
  flush(): Promise<void>;
  /** Leaves everything to the leases on the server. */
  stop(): void;
}

/** The call for the server of that number, or null when it is not to be asked. */
export type QueryCall = (index: number, how: PubSub) => ScriptCall | null;

export interface QueryAnswer {
  readonly index: number;
  readonly server: string;
  readonly reply: Reply | CallFailure;
}

/** The servers to be asked about everything that they hold. */
export interface Walk {
  /** How many servers there are, and how many of them must answer. */
  readonly size: number;
  readonly needed: number;
  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]>;
}

/** Of servers that share the keys out among themselves, by slots. */
export interface Shards {
  /** All of them that hold keys now. */
  walk(timeoutMs: number): Promise<Walk>;
}

export interface Topology {
  /** For messages: which servers. */
  readonly description: string;
  /** Put before every name: the callers' own key prefix. */
  readonly keyPrefix: string;
  /** Whether a server has ever answered. */
  readonly hasAnswered: boolean;
  /** Absent where every server that decides has every key. With it, all keys of one lock must share a slot. */
  readonly shards?: Shards;
  /** The servers of that key whose connection was lost, when those that are left cannot decide; otherwise empty. */
  outageOf(key: string): readonly ServerFailure[];
  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult>;
  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult>;
  recount(protocol: Protocol, item: RenewItem, count: number, timeoutMs: number): Promise<KeepResult>;
  /** One result per item, in order. All items are of one kind. */
  renew(items: readonly RenewItem[], timeoutMs: number): Promise<readonly KeepResult[]>;
  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure>;
  /** Releases that could not be confirmed, and go on in the background. */
  readonly lateReleases: CleanUp;
  /** How many servers decide about a name, and how many of them must agree. */
  readonly size: number;
  readonly majority: number;
  /** Runs an administrative script on every server that decides about its keys: one answer each, in their order. */
  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]>;
  close(): Promise<void>;
}
