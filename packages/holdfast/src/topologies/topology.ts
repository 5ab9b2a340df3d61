/**
 * The seam between locks and servers. A topology decides how many servers must agree and turns their answers into one:
 *
 * - `single.ts`: one server decides, or the primary that the client finds.
 * - `cluster/`: the node that has the slot of a key decides about that key.
 * - `quorum/`: a majority of independent servers decides.
 * - `server/`: what all three are made of: one server, what it may have done without our knowing, its clock.
 *
 * In this folder: the seam (this file and `protocol.ts`), the topologies, and the choice of one. Nothing here knows
 * of callers, waiters or leases. The layers above import this file, `protocol.ts` and `choose.ts` from here; the rest
 * is for topologies alone.
 */
import type { CallFailure, Reply, ScriptCall, StopListening, Wake } from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import type { Instant } from '../runtime/instant.ts';
import type { HoldTerms, LinePlace, Protocol, PubSubMode, Statement } from './protocol.ts';

export interface Granted {
  readonly is: 'granted';
  readonly deadline: Instant;
  readonly firstFence: number | undefined;
  /** How many fences the hold has, from the first on. */
  readonly fences: number;
  /** How many processes are in the line behind it, as far as the server says; 0 also where there is no line. */
  readonly tickets?: number;
  /** When we heard of the grant. */
  readonly heardAt: Instant;
  /** Which attempt at its work the hold is for, where the kind counts attempts. */
  readonly attempt?: number;
}

export interface Held {
  readonly is: 'held';
  readonly ttlMs: number;
  readonly owner: string | undefined;
  /** The votes were split and nobody has the lock: it helps to try again after a short, random while. */
  readonly isSplit: boolean;
  /** The holder's place in the line of waiters; absent where there is no line. */
  readonly line?: LinePlace;
}

export interface Conflict {
  readonly is: 'conflict';
  /** What the key holds, in words. */
  readonly found: string;
  /** Whether the counter of the fences is in the way, and not the key of the lock. */
  readonly isCounter?: boolean;
}

/** Not granted, because the lock is not needed any more. Only its kind knows what the answer says. */
export interface Settled {
  readonly is: 'settled';
  readonly answer: unknown;
}

/** The lock was not granted, or was granted without our knowing (`mayBeGranted`). */
export interface AcquireFailed {
  readonly is: 'failed';
  readonly servers: readonly ServerFailure[];
  /** Whether it may help to ask again. A call without an answer can always be repeated. */
  readonly canRetry: boolean;
  /**
   * This acquire, or an earlier one of the same holder, may have been granted or be granted yet: repeat it under the same
   * holder with the same fences, or abandon that holder. `held` and `conflict` do not take this back. False: nothing of
   * the holder is left, or the topology itself is giving it back, so the next attempt must have a fresh holder.
   */
  readonly mayBeGranted: boolean;
}

export type AcquireResult = Granted | Held | Conflict | Settled | AcquireFailed;

/**
 * Where a session hears of its grants. How a script publishes there: `p` on a plain channel of the one server, `s` on a
 * channel of a shard, `b` on a plain channel of a cluster, whose listeners no single node can count.
 */
export interface Mailbox {
  readonly channel: string;
  readonly mode: 'p' | 's' | 'b';
}

/** What a release needs to know of the hold that it ends. */
export interface ReleaseTerms {
  readonly holder: string;
  /** The longest lease that was ever asked for this holder: a server that cannot be reached lets go by then. */
  readonly leaseMs: number;
  /** Wakes nobody and is not told on the channel of late releases: a vote that was never a hold. */
  readonly isQuiet?: boolean;
  /**
   * Names the lock's own key and no other: while a slot moves, the keys of one lock may be at different nodes. Nobody in
   * line is made the owner then; those who wait find the lock free when they ask.
   */
  readonly isOwnKeyOnly?: boolean;
  /** A caller was told of the hold, and may have begun its work. @default false */
  readonly wasServed?: boolean;
}

export type ReleaseResult =
  | { readonly is: 'released'; readonly receivers: number }
  | { readonly is: 'gone' }
  | { readonly is: 'failed'; readonly servers: readonly ServerFailure[] };

/** Only `kept` moves a deadline; only `gone` and time declare a loss. */
export type StateResult =
  | { readonly is: 'kept' }
  /** With the words of the operator who took the hold away, if one did and said why. */
  | { readonly is: 'gone'; readonly words?: string }
  | { readonly is: 'failed'; readonly servers: readonly ServerFailure[] };

/** The call for the server of that number, or null when that server is not to be asked. */
export type QueryCall = (index: number, mode: PubSubMode) => ScriptCall | null;

export interface QueryAnswer {
  readonly index: number;
  readonly server: string;
  readonly reply: Reply | CallFailure;
}

/** Servers that a question goes to, and how many of them must answer. */
export interface QueriedServers {
  readonly size: number;
  readonly needed: number;
  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]>;
}

/** What only a topology has whose servers share the keys out among themselves, by slots. */
export interface Shards {
  /** All servers that have slots now. Each must answer: it has names that no other has. */
  allServers(timeoutMs: number): Promise<QueriedServers>;
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
  /** How many servers decide about a name, and how many of them must agree. */
  readonly size: number;
  readonly majority: number;
  /** Whether waiters have a line of their own in Redis. A quorum has none. */
  readonly hasLine: boolean;
  /** The servers' time at a monotonic moment, for processes that must agree on it without a word. 0: not known. */
  serverTimeMs?(monotonicMs: number): number;
  /** The servers of that key whose connection was lost, when those that are left cannot decide; otherwise empty. */
  outageOf(key: string): readonly ServerFailure[];
  /** Where a session hears of grants of that lock. Null: there is no line of waiters here. */
  mailboxOf(protocol: Protocol, session: string): Mailbox | null;
  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult>;
  /**
   * Resolves with the first answer, or its absence. Behind that the release is repeated in the background until it is
   * proved, also behind unanswered acquires of this holder: the caller adds nothing.
   */
  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult>;
  /**
   * Releases in the background: nobody waits for the answer. Called when the holder's acquire has ended, and never
   * acquired again after it. `isGone`: the server has said that the holder does not have the lock any more; then only
   * what may still arrive is cleaned up.
   */
  abandon(protocol: Protocol, terms: ReleaseTerms, isGone?: boolean): void;
  /** All statements are of one batch object. One result for each, in order. */
  state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]>;
  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure>;
  /** Runs an administrative script on every server that decides about its keys: one answer each, in their order. */
  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]>;
  /** Sends the open releases once more and waits for that round, though not for longer than a call may take. */
  flush(): Promise<void>;
  /** Leaves everything that is open to the leases on the server. */
  stop(): void;
  close(): Promise<void>;
}
