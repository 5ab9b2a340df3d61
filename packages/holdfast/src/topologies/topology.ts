/** The seam between locking and the servers: how many of them must agree, and what they say together. */
import type { CallFailure, StopListening, Wake } from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import type { Instant } from '../runtime/instant.ts';
import type { HoldTerms, QueryAnswer, QueryCall, ReleaseTerms, Shards } from './old-topology.ts';
import type { Protocol, Statement } from './protocol.ts';

export type { HoldTerms, QueryAnswer, QueryCall, ReleaseTerms, Walk } from './old-topology.ts';

export type AcquireResult =
  | {
      readonly is: 'granted';
      readonly deadline: Instant;
      readonly firstFence: number | undefined;
      /** How many fences the hold has, from the first on. */
      readonly fences: number;
      /** When we heard of the grant. */
      readonly heardAt: Instant;
    }
  | {
      readonly is: 'held';
      readonly ttlMs: number;
      readonly owner: string | undefined;
      /** The votes were split and nobody holds the lock: it helps to ask again after a short, random while. */
      readonly isSplit: boolean;
    }
  | {
      readonly is: 'conflict';
      /** What stands there, in words. */
      readonly found: string;
      /** The counter of fences is in the way, and not the lock's own key. */
      readonly isCounter?: boolean;
    }
  | {
      readonly is: 'failed';
      readonly servers: readonly ServerFailure[];
      /** It may help to ask again. */
      readonly canRetry: boolean;
      /** The holder may have been granted the lock, or be granted it yet: ask again as that holder, or abandon it. */
      readonly mayBeGranted: boolean;
    };

export type ReleaseResult =
  | { readonly is: 'released'; readonly receivers: number }
  | { readonly is: 'gone' }
  | { readonly is: 'failed'; readonly servers: readonly ServerFailure[] };

/** Only `kept` moves a deadline; only `gone` and time declare a loss. */
export type StateResult =
  | { readonly is: 'kept' }
  | { readonly is: 'gone' }
  | { readonly is: 'failed'; readonly servers: readonly ServerFailure[] };

export interface Topology {
  readonly description: string;
  readonly keyPrefix: string;
  readonly hasAnswered: boolean;
  readonly shards?: Shards;
  readonly size: number;
  readonly majority: number;
  outageOf(key: string): readonly ServerFailure[];
  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult>;
  /** Repeated in the background until proved, also behind unanswered acquires of that holder. */
  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult>;
  /** The same, and nobody waits for it. `isGone`: the server has said that the holder has the lock no more. */
  abandon(protocol: Protocol, terms: ReleaseTerms, isGone?: boolean): void;
  /** All statements are of one batch; one result each, in order. */
  state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]>;
  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure>;
  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]>;
  /** Sends open releases once more and waits for that round. */
  flush(): Promise<void>;
  /** Leaves everything to the leases on the servers. */
  stop(): void;
  close(): Promise<void>;
}
