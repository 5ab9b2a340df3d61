/**
 * Brings messages to one receiver, one at a time and in order. The courier works for the leader: each step in Redis
 * carries its fence, so a courier of a leader that was replaced stops at its next step.
 *
 * In this folder: couriers, how one try ended, rate limits, and the waiting of both. Only `alerts/` imports from
 * here.
 */
import type { Clock } from 'holdfast';
import type { Receiver } from '../config/settings.ts';
import type { Notice } from '../machine/notice.ts';
import { type AlertStore, StaleLeaderError } from '../state/store.ts';
import type { Delivery, Outcome } from '../state/stored.ts';
import { type Attempt, judgeAttempt, type Verdict } from './attempt.ts';
import { Nap } from './nap.ts';
import { RateLimit } from './rate-limit.ts';

/** The limit of a try and time to settle it: a message whose courier died is tried again after this long. */
export const HIDDEN_MS = 15_000;

/** A new message wakes the courier; this is for a wake-up that was lost. */
const IDLE_MS = 30_000;

/** After an error of the state. */
const STATE_RETRY_MS = 500;

export interface CourierTerms {
  readonly receiver: Receiver;
  readonly store: AlertStore;
  readonly fence: number;
  readonly clock: Clock;
  /** For how long a message is hidden while it is being sent. */
  readonly hiddenMs: number;
  /** 0 to 1, for the jitter of delays. */
  chance(): number;
  send(notice: Notice): Promise<Attempt>;
  /** Told after each try. */
  onOutcome(outcome: Outcome, retryMs: number | null): void;
  log(line: string): void;
}

export class Courier {
  readonly #terms: CourierTerms;
  readonly #nap: Nap;
  readonly #rate: RateLimit;
  #sending: string | null = null;

  constructor(terms: CourierTerms) {
    this.#terms = terms;
    this.#nap = new Nap(terms.clock);
    this.#rate = new RateLimit(terms.clock);
  }

  /** The id of the delivery that is being sent now. */
  get sending(): string | null {
    return this.#sending;
  }

  /** To be called when the outbox has a new message. */
  wake(): void {
    this.#nap.wake();
  }

  /** Works until the signal aborts or another leader has taken over. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#next(signal);
      } catch (error) {
        if (error instanceof StaleLeaderError) return;
        await this.#nap.sleep(STATE_RETRY_MS, signal);
      }
    }
  }

  async #next(signal: AbortSignal): Promise<void> {
    const { store, fence, receiver } = this.#terms;
    const restMs = this.#rate.waitMs;
    if (restMs > 0) return await this.#nap.sleep(restMs, signal);
    const claim = await store.claim(fence, receiver.name, this.#terms.hiddenMs);
    if (claim.is === 'empty') return await this.#nap.sleep(IDLE_MS, signal);
    if (claim.is === 'wait') return await this.#nap.sleep(Math.min(claim.ms, IDLE_MS), signal);
    if (signal.aborted) return;
    this.#rate.count();
    const { delivery, tries, nowMs } = claim;
    this.#sending = delivery.id;
    try {
      const attempt = await this.#terms.send(delivery.notice);
      const ageMs = nowMs - delivery.queuedAtMs;
      const verdict = judgeAttempt(attempt, tries, ageMs, this.#terms.chance());
      await this.#settle(delivery, tries, nowMs, verdict, signal);
    } finally {
      this.#sending = null;
    }
  }

  /** Repeated until the state answers: what was sent and is not settled is sent a second time. */
  async #settle(
    delivery: Delivery,
    tries: number,
    atMs: number,
    verdict: Verdict,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, fence, receiver, clock, hiddenMs } = this.#terms;
    const retryMs = verdict.is === 'retry' ? verdict.afterMs : null;
    const outcome: Outcome = {
      receiver: receiver.name,
      id: delivery.id,
      state: verdict.is === 'retry' ? 'retrying' : verdict.is,
      atMs,
      tries,
      error: verdict.is === 'sent' ? null : verdict.error,
      rule: delivery.notice.rule,
      kind: delivery.notice.kind,
      keys: delivery.notice.alerts.map(({ key }) => key),
    };
    const limitMs = clock.monotonicMs() + hiddenMs;
    for (;;) {
      try {
        await store.settle(fence, outcome, retryMs);
        break;
      } catch (error) {
        if (error instanceof StaleLeaderError || signal.aborted || clock.monotonicMs() > limitMs) throw error;
        await new Nap(clock).sleep(STATE_RETRY_MS, signal);
      }
    }
    this.#terms.onOutcome(outcome, retryMs);
    if (verdict.is === 'dead')
      this.#terms.log(`a message to ${receiver.name} is given up after ${tries} tries: ${verdict.error}`);
  }
}
