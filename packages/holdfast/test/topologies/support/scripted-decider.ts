/** A decider that answers as a test says, and notes what it was asked. What it was not told stays without an answer. */
import type { Instant } from '../../../src/runtime/instant.ts';
import type { HoldTerms, Protocol } from '../../../src/topologies/protocol.ts';
import type { Decider, Decision } from '../../../src/topologies/server/decision.ts';
import type { ReleaseResult, ReleaseTerms } from '../../../src/topologies/topology.ts';

const SERVERS = [{ server: 's', kind: 'unknown', text: 'no answer' }] as const;

export const GRANTED: Decision = {
  is: 'granted',
  deadline: { monotonicMs: 1e9, wallMs: 1e15 },
  firstFence: 1,
  fences: 1,
  heardAt: { monotonicMs: 0, wallMs: 0 },
};
export const HELD: Decision = { is: 'held', ttlMs: 5, owner: 'x:1', isSplit: false };
export const REFUSED: Decision = { is: 'refused', servers: SERVERS, canRetry: true };
export const VOID: Decision = { is: 'void', servers: SERVERS, canRetry: true };
export const UNANSWERED: Decision = {
  is: 'unanswered',
  servers: SERVERS,
  canRetry: true,
  isBounded: true,
};
export const UNBOUNDED: Decision = { ...UNANSWERED, isBounded: false } as Decision;

export const RELEASED: ReleaseResult = { is: 'released', receivers: 0 };
export const GONE: ReleaseResult = { is: 'gone' };
export const FAILED: ReleaseResult = { is: 'failed', servers: SERVERS };

export interface SentRelease extends ReleaseTerms {
  readonly isRepeat: boolean;
}

export class ScriptedDecider implements Decider {
  /** What becomes of the next acquires and releases, one after the other; then always the last of them. */
  readonly decisions: (Decision | Promise<Decision>)[] = [];
  readonly results: ReleaseResult[] = [];
  readonly releases: SentRelease[] = [];
  readonly acquires: string[] = [];
  isWanted: (() => boolean) | undefined;

  acquire(
    _protocol: Protocol,
    { holder }: HoldTerms,
    _timeoutMs: number,
    isWanted?: () => boolean,
    _sentAt?: Instant,
  ): Promise<Decision> {
    this.acquires.push(holder);
    this.isWanted = isWanted;
    return Promise.resolve(next(this.decisions, GRANTED));
  }

  release(_protocol: Protocol, terms: ReleaseTerms, _timeoutMs: number, isRepeat: boolean) {
    this.releases.push({ ...terms, isRepeat });
    return Promise.resolve(next(this.results, RELEASED));
  }
}

function next<Value>(values: Value[], otherwise: Value): Value {
  return (values.length > 1 ? values.shift() : values[0]) ?? otherwise;
}
