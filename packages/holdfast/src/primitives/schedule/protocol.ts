/** The transitions of a job's lock: a start that the marker of the job allows, and an end that is written into it. */
import type { Reply, ScriptCall } from '../../clients/client.ts';
import { jobKey, jobLockKey } from '../../keys/derived.ts';
import { fenceKey } from '../../keys/name.ts';
import { type JobFinishOutcome, type JobStartOutcome, jobFinish, jobStart } from '../../scripts/generated.ts';
import type {
  AcquireAnswer,
  AcquireLimits,
  HoldTerms,
  Policy,
  PubSubMode,
  ReleaseAnswer,
} from '../../topologies/protocol.ts';
import { LockProtocol } from '../lock/protocol.ts';

/** What a start states. */
export interface StartTerms {
  /** The slot, in ms of the server's time; 0: now, outside of the schedule. */
  readonly slotMs: number;
  /** The slot after it; 0: there is none. */
  readonly nextMs: number;
  /** -1: however late, while the slot is the newest. */
  readonly lateMs: number;
  readonly attempts: number;
  readonly restMs: number;
  /** The process has seen the server's time before the slot. */
  readonly isKnown: boolean;
  readonly host: string;
  readonly spec: string;
}

/** How a run ended, as the marker has it. `withdrawn`: a start that no run followed. */
export interface JobEnding {
  readonly state: 'done' | 'failed' | 'retry';
  readonly text: string;
  readonly retryMs: number;
}

const POLICY: Policy = {
  holdsMax: 1,
  ownersMax: 1,
  holderPer: 'wait',
  handoversMax: 0,
  isHolderSecret: false,
  expected: 'the lock of a job, and beside it the marker of a job',
};

/** The protocol of one start and of the run that follows it. */
export class JobProtocol extends LockProtocol {
  readonly #jobKey: string;
  readonly #terms: StartTerms;
  readonly #onNow: (nowMs: number) => void;
  /** What the server has said to the last start. */
  answer: JobStartOutcome | null = null;
  /** Set when a body has begun: from then on the start cannot be taken back. */
  hasBegun = false;
  /** Set when the body has ended: every release from then on states the ending. */
  ending: JobEnding | null = null;
  /** What the server has said to the last release. */
  finished: JobFinishOutcome | null = null;

  /** `key` is the key of the name. `onNow` hears the server's time with each answer. */
  constructor(
    name: string,
    key: string,
    fenceTtlMs: number,
    terms: StartTerms,
    onNow: (nowMs: number) => void,
  ) {
    super(name, jobLockKey(key), fenceTtlMs);
    this.#jobKey = jobKey(key);
    this.#terms = terms;
    this.#onNow = onNow;
  }

  override get kind(): string {
    return 'job';
  }

  override get policy(): Policy {
    return POLICY;
  }

  override acquire({ holder, leaseMs }: HoldTerms, { notAfterMs }: AcquireLimits): ScriptCall {
    const { isKnown, ...terms } = this.#terms;
    return jobStart.call({
      lock: this.key,
      fence: fenceKey(this.key),
      job: this.#jobKey,
      holder,
      leaseMs,
      fenceTtlMs: this.fenceTtlMs,
      notAfterMs,
      isKnown: isKnown ? 1 : 0,
      ...terms,
    });
  }

  override readAcquire(reply: Reply): AcquireAnswer {
    const answer = jobStart.decode(reply);
    this.answer = answer;
    this.#onNow(answer.nowMs);
    if (answer.is === 'LATE' || answer.is === 'CONFLICT') return answer;
    const { nowMs } = answer;
    if (answer.is === 'STARTED') return { is: 'GRANTED', nowMs, firstFence: answer.fence, fences: 1 };
    // Every other answer means that no run of ours starts. `askStart` reads the reason from `answer`.
    return { is: 'HELD', nowMs, ttlMs: 'ttlMs' in answer ? answer.ttlMs : 0 };
  }

  override release(holder: string, mode: PubSubMode | 'nobody'): ScriptCall {
    const started = this.answer?.is === 'STARTED' ? this.answer : null;
    return jobFinish.call({
      lock: this.key,
      job: this.#jobKey,
      holder,
      slotMs: started?.slotMs ?? 0,
      attempt: started?.attempt ?? 0,
      state: this.ending?.state ?? (this.hasBegun ? '' : 'withdrawn'),
      text: this.ending?.text ?? '',
      retryMs: this.ending?.retryMs ?? 0,
      channel: this.channel,
      mode,
    });
  }

  override readRelease(reply: Reply): ReleaseAnswer {
    const answer = jobFinish.decode(reply);
    this.finished = answer;
    return answer.is === 'GONE' ? answer : { is: 'RELEASED', receivers: answer.receivers };
  }
}
