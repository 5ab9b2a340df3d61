/** The transitions of a once key: the lock of the run that is under way, in the lock's format, and a record beside it. */
import type { Reply, ScriptCall } from '../../clients/client.ts';
import { onceLockKey, onceRecordKey } from '../../keys/derived.ts';
import { fenceKey, lockChannel } from '../../keys/name.ts';
import type { ResolvedOnceOptions } from '../../options/once-options.ts';
import { type OnceBeginOutcome, onceBegin, onceFinish, onceRelease } from '../../scripts/generated.ts';
import type {
  AcquireAnswer,
  AcquireLimits,
  Fencing,
  HolderIds,
  HoldTerms,
  Policy,
  Protocol,
  PubSubMode,
  ReleaseAnswer,
  StatementBatch,
} from '../../topologies/protocol.ts';
import { lockRenewal } from '../lock/protocol.ts';

/** How long the record of a run lives that nobody ends. The attempts that were used up are known for as long. */
const RECORD_MS = 86_400_000;

/** No hand-over: the next caller does not want the lock, but the result. */
const POLICY: Policy = {
  holdsMax: 1,
  ownersMax: 1,
  holderPer: 'attempt',
  handoversMax: 0,
  isHolderSecret: false,
  expected: 'a lock, and a record of once beside it',
  isWithoutLine: true,
};

const RENEWAL: StatementBatch = lockRenewal();

/** What is chosen by the caller and decided by the script that starts a run. */
export type OnceTerms = Pick<ResolvedOnceOptions<unknown>, 'attempts' | 'keepFailureMs' | 'fingerprint'>;

/** Why no run is started. */
export type OnceSettled = Extract<OnceBeginOutcome, { is: 'DONE' | 'FAILED' | 'MISMATCH' }>;

/** How a run ended. */
export interface Ending {
  readonly state: 'done' | 'failed' | 'idle';
  readonly reason: '' | 'failed' | 'unstorable';
  readonly payload: string;
  readonly keepMs: number;
}

/** A run that is under way. */
export interface StartedRun {
  readonly holder: string;
  readonly attempt: number;
  readonly fence: number;
}

export class OnceProtocol implements Protocol {
  readonly name: string;
  readonly key: string;
  readonly recordKey: string;
  readonly fenceTtlMs: number;
  readonly #terms: OnceTerms;

  /** `onceKey` is the name with its prefix. */
  constructor(name: string, onceKey: string, fenceTtlMs: number, terms: OnceTerms) {
    this.name = name;
    this.key = onceLockKey(onceKey);
    this.recordKey = onceRecordKey(onceKey);
    this.fenceTtlMs = fenceTtlMs;
    this.#terms = terms;
  }

  // Getters, for the reason that stands in `../lock/protocol.ts`.
  get kind(): 'once' {
    return 'once';
  }

  /** A caller is asked for with its own terms, and shares the answer only with callers that have the same. */
  get queueKey(): string {
    const { attempts, keepFailureMs, fingerprint } = this.#terms;
    return `${attempts} ${keepFailureMs} ${JSON.stringify(fingerprint)} ${this.key}`;
  }

  get policy(): Policy {
    return POLICY;
  }

  get channel(): string {
    return lockChannel(this.key);
  }

  get renewal(): StatementBatch {
    return RENEWAL;
  }

  get fencing(): Fencing {
    return { fenceTtlMs: this.fenceTtlMs, raise: notByQuorum };
  }

  newHolder(ids: HolderIds): string {
    return `${ids.session}:${ids.nextNumber()}`;
  }

  acquire({ holder, leaseMs }: HoldTerms, { notAfterMs }: AcquireLimits): ScriptCall {
    return onceBegin.call({
      lock: this.key,
      fence: fenceKey(this.key),
      record: this.recordKey,
      holder,
      leaseMs,
      fenceTtlMs: this.fenceTtlMs,
      notAfterMs,
      print: this.#terms.fingerprint,
      attempts: this.#terms.attempts,
      // A run that dies under a very long lease is counted when its lock has expired.
      recordTtlMs: Math.max(RECORD_MS, 2 * leaseMs),
      keepFailureMs: this.#terms.keepFailureMs,
    });
  }

  readAcquire(reply: Reply): AcquireAnswer {
    const answer = onceBegin.decode(reply);
    switch (answer.is) {
      case 'STARTED':
        return { ...answer, is: 'GRANTED', fences: 1 };
      case 'DONE':
      case 'FAILED':
      case 'MISMATCH':
        return { is: 'SETTLED', nowMs: answer.nowMs, answer: answer satisfies OnceSettled };
      default:
        return answer;
    }
  }

  /** The run ends without a word. */
  release(holder: string, mode: PubSubMode | 'nobody', hasLine: boolean, wasServed: boolean): ScriptCall {
    return onceRelease.call({
      lock: this.key,
      record: hasLine ? this.recordKey : this.key,
      holder,
      hasRun: wasServed ? 1 : 0,
      channel: this.channel,
      mode,
    });
  }

  readRelease(reply: Reply): ReleaseAnswer {
    return onceRelease.decode(reply);
  }

  /** The run ends, and says how. */
  finish({ holder, attempt, fence }: StartedRun, ending: Ending, mode: PubSubMode): ScriptCall {
    return onceFinish.call({
      lock: this.key,
      record: this.recordKey,
      holder,
      attempt,
      fence,
      print: this.#terms.fingerprint,
      ...ending,
      // Between attempts the record lives as it does during a run.
      keepMs: ending.state === 'idle' ? RECORD_MS : ending.keepMs,
      channel: this.channel,
      mode,
    });
  }
}

function notByQuorum(): never {
  throw new Error('holdfast is broken: once is refused on a quorum');
}
