/** Asks the server to start a slot, under one holder until there is an answer: a start whose reply was lost is the same start. */
import type { LockError } from '../../errors.ts';
import { acquireError } from '../../locking/failures.ts';
import type { Session } from '../../locking/session.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { JobStartOutcome } from '../../scripts/generated.ts';
import type { HoldTerms } from '../../topologies/protocol.ts';
import type { Granted } from '../../topologies/topology.ts';
import { JobProtocol, type StartTerms } from './protocol.ts';
import type { SkipReason } from './schedule-events.ts';

/** Which job, and where its keys are. */
export interface JobSubject {
  readonly name: string;
  /** The key of the name, from which the keys of the job are made. */
  readonly key: string;
  readonly leaseMs: number;
}

/** A start that the server has decided, and that nobody has run yet. */
export interface Started {
  readonly is: 'started';
  readonly protocol: JobProtocol;
  readonly terms: HoldTerms;
  readonly grant: Granted;
  readonly answer: Extract<JobStartOutcome, { is: 'STARTED' }>;
}

/** What the server answers to a request for a start. */
export type StartAnswer = JobStartOutcome;

export type StartResult =
  | Started
  | { readonly is: 'answered'; readonly answer: StartAnswer }
  | { readonly is: 'failed'; readonly error: LockError };

/** How the one who asks waits and gives up. */
export interface StartWait {
  readonly onNow: (nowMs: number) => void;
  /** False: the start is of no use any more. */
  isWanted(): boolean;
  sleep(delayMs: number): Promise<void>;
}

/**
 * Counts as work of the session until it returns something else than `started`; from there on until the run has ended.
 * Whatever may have been granted without an answer is taken back.
 */
export async function askStart(
  session: Session,
  { name, key, leaseMs }: JobSubject,
  stated: StartTerms,
  { onNow, isWanted, sleep }: StartWait,
): Promise<StartResult> {
  const { topology, options, holderIds, timers } = session;
  const startedMs = timers.clock.monotonicMs();
  const backoff = new Backoff(options.random);
  const fresh = (): { readonly protocol: JobProtocol; readonly terms: HoldTerms } => {
    const protocol = new JobProtocol(name, key, options.fenceTtlMs, stated, onNow);
    return { protocol, terms: { holder: protocol.newHolder(holderIds), leaseMs, fences: 1 } };
  };
  let hasUnanswered = false;
  session.begin();
  for (let asked = fresh(); ; ) {
    const { protocol, terms } = asked;
    const result = await topology.acquire(protocol, terms, options.callTimeoutMs);
    const { answer } = protocol;
    if (result.is === 'granted' && answer?.is === 'STARTED') {
      return { is: 'started', protocol, terms, grant: result, answer };
    }
    if (result.is === 'held' && answer !== null) {
      // An earlier copy of this start got no answer: it may still arrive, and nobody would run it.
      if (hasUnanswered) topology.abandon(protocol, terms, true);
      session.finish();
      return { is: 'answered', answer };
    }
    const canRetry = result.is === 'failed' && result.canRetry && topology.hasAnswered;
    if (result.is === 'granted' || !canRetry || !isWanted()) {
      const isLeft =
        result.is === 'granted' || (result.is === 'failed' ? result.mayBeGranted : hasUnanswered);
      if (isLeft) topology.abandon(protocol, terms);
      session.finish();
      const elapsedMs = timers.clock.monotonicMs() - startedMs;
      // A job is never answered with `settled`.
      const refusal = result.is === 'granted' || result.is === 'settled' ? null : result;
      return { is: 'failed', error: acquireError(protocol, refusal, elapsedMs) };
    }
    hasUnanswered = result.mayBeGranted;
    // Nothing of this holder is left, or it is being given back: the next start needs another.
    if (!hasUnanswered) asked = fresh();
    await sleep(backoff.nextMs());
  }
}

/** The slot is settled without a run of ours. */
export interface SettledSlot {
  readonly slotMs: number;
  readonly reason: SkipReason;
  readonly host: string;
}

/**
 * What follows for a slot from an answer that started nothing: it is settled, or asked for again after that many milliseconds, or (null)
 * the time is looked at anew. With more `attempts` than one, whoever waits takes over from a run that dies: it looks every
 * `lookMs`.
 */
export function afterAnswer(
  answer: Exclude<StartAnswer, { is: 'HELD' }>,
  slotMs: number,
  attempts: number,
  lookMs: number,
): SettledSlot | number | null {
  switch (answer.is) {
    case 'DONE':
      return { slotMs, reason: answer.state as SkipReason, host: answer.host };
    case 'PASSED':
      return { slotMs: answer.slotMs, reason: 'passed', host: '' };
    case 'RUNNING':
      if (attempts === 1) return { slotMs, reason: 'running', host: answer.host };
      return Math.min(answer.ttlMs + 2, lookMs);
    case 'RESTING':
      return answer.restMs + 1;
    default:
      return null;
  }
}
