/** What a server, or the router of a cluster, made of one acquire. `Holders` turns it into what the caller is told. */
import type { ServerFailure } from '../../errors.ts';
import type { Instant } from '../../runtime/instant.ts';
import type { HoldTerms, Protocol } from '../protocol.ts';
import type {
  AcquireFailed,
  Conflict,
  Granted,
  Held,
  ReleaseResult,
  ReleaseTerms,
  Settled,
} from '../topology.ts';

/** Not granted, and nothing of this call can be granted later. */
export interface Refused {
  readonly is: 'refused';
  readonly servers: readonly ServerFailure[];
  /** Whether it may help to ask again. */
  readonly canRetry: boolean;
}

/** The call, or an earlier copy that a client sent of it, may have been granted or may be granted yet. */
export interface Unanswered {
  readonly is: 'unanswered';
  readonly servers: readonly ServerFailure[];
  readonly canRetry: boolean;
  /** The call carried a server time after which it is not granted. The first call to a server cannot. */
  readonly isBounded: boolean;
}

/** Granted, and the grant must not count (too late, too few replicas): it has to be given back. */
export interface Void {
  readonly is: 'void';
  readonly servers: readonly ServerFailure[];
  readonly canRetry: boolean;
}

export type Decision = Granted | Held | Conflict | Settled | Refused | Unanswered | Void;

/** Whatever decides about one holder at a time: a server, the router of a cluster, a node of a quorum. */
export interface Decider {
  /**
   * `isWanted` is asked before a request is written late, or written again: false if the holder was released meanwhile.
   * `sentAt` is no later than now.
   */
  acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    isWanted?: () => boolean,
    sentAt?: Instant,
  ): Promise<Decision>;
  /** `isRepeat`: nobody waits for the answer, so a server that is thought to be down is asked all the same. */
  release(
    protocol: Protocol,
    terms: ReleaseTerms,
    timeoutMs: number,
    isRepeat: boolean,
  ): Promise<ReleaseResult>;
}

/** What a caller is told of a decision that brought it no grant. */
export function failed(
  { servers, canRetry }: Refused | Unanswered | Void,
  mayBeGranted: boolean,
): AcquireFailed {
  return { is: 'failed', servers, canRetry, mayBeGranted };
}
