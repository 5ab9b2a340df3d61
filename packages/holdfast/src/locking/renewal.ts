/**
 * Watches every hold of the session: renews those that ask for it, in batches, and declares the loss of those
 * whose time has run out. One deadline for all of them.
 *
 * A hold is due for whichever comes first: its next renewal or its deadline. Whatever is due soon travels along
 * (`EARLY_SHARE`), so that a thousand leases settle into a few full batches; each batch comes back after a
 * slightly different time (`JITTER_SHARE`), so that batches drift apart.
 */

import type { ResolvedLocksOptions } from '../options/options.ts';
import { assert } from '../runtime/assert.ts';
import { Heap } from '../runtime/heap.ts';
import { type Instant, instantNow } from '../runtime/instant.ts';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';
import { telemetry } from '../telemetry/channels.ts';
import { warnAbandoned } from '../telemetry/warnings.ts';
import type { Statement, StatementBatch } from '../topologies/protocol.ts';
import type { StateResult, Topology } from '../topologies/topology.ts';
import { quoted } from './failures.ts';
import type { Hold } from './hold.ts';

/** Two renewals may fail before a lease is in danger. */
const RENEWALS_PER_LEASE = 3;

/** Elements in one script call: past this the server is busy for long enough to be felt by others. */
export const BATCH_MAX = 128;

/** A hold may be renewed this share of its interval before its time, to fill a batch. */
const EARLY_SHARE = 0.25;

/** The next renewal of a batch comes up to this share of the interval sooner. */
const JITTER_SHARE = 0.1;

/** After a renewal without an answer the next try waits this share of the lease, or of what is left, within bounds. */
const RETRY_SHARE = 1 / 30;
const RETRY_SHARE_LEFT = 1 / 3;
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 1_000;

/** A renewal may take half of what is left, so that another one fits; below this no network answers. */
const TIMEOUT_MS_MIN = 5;

/** How often the two clocks are compared while something is held: a machine that slept is noticed this soon. */
const CLOCK_CHECK_MS = 1_000;

/** A wall clock that gains less than this between two checks is being disciplined, not jumping. */
const CLOCK_JUMP_MS = 50;

function intervalMs(hold: Hold): number {
  return hold.leaseMs / RENEWALS_PER_LEASE;
}

function statementOf(hold: Hold, leaseMs: number): Statement {
  const { protocol, holder } = hold;
  return { protocol, holder, leaseMs, claim: hold, batch: protocol.renewal };
}

function isForbidden(result: StateResult): boolean {
  return result.is === 'failed' && result.servers.every(({ text }) => text.startsWith('NOPERM'));
}

export class Renewal {
  readonly #timers: TimerQueue;
  readonly #topology: Topology;
  readonly #options: ResolvedLocksOptions;
  readonly #heap = new Heap<Hold>();
  readonly #deadline = new Deadline(() => this.#fire(), false);
  #deadlineDueMs = 0;
  /** Wall minus monotonic at the last check. */
  #clockGapMs = 0;

  constructor(timers: TimerQueue, topology: Topology, options: ResolvedLocksOptions) {
    this.#timers = timers;
    this.#topology = topology;
    this.#options = options;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** Starts watching a hold that was granted or handed over just now. */
  watch(hold: Hold, now: Instant): void {
    if (this.#heap.size === 0) this.#clockGapMs = now.wallMs - now.monotonicMs;
    const endMs = now.monotonicMs + hold.remainingAt(now);
    hold.renewAtMs = endMs - hold.leaseMs + this.#nextIntervalMs(hold.leaseMs, 0);
    this.#place(hold, now);
  }

  /** Stops for good. Cheap: the deadline is left to find nothing. */
  forget(hold: Hold): void {
    this.#heap.remove(hold);
  }

  /** Puts the hold where its changed deadline or renewal time belongs. */
  refresh(hold: Hold): void {
    this.#place(hold, instantNow(this.#timers.clock));
  }

  #place(hold: Hold, now: Instant): void {
    const renewAtMs = hold.renews && hold.keeping === null ? hold.renewAtMs : Number.POSITIVE_INFINITY;
    // By both clocks: after a sleep of the machine the end is nearer than the monotonic deadline says.
    const endMs = now.monotonicMs + hold.remainingAt(now);
    const dueMs = Math.min(renewAtMs, endMs);
    this.#heap.put(hold, dueMs);
    if (!this.#deadline.isSet || dueMs < this.#deadlineDueMs) this.#arm();
  }

  /** The hold has a new owner with another lease: its renewal comes no later than planned, sooner if that needs it. */
  hasten(hold: Hold): void {
    hold.renewAtMs = Math.min(hold.renewAtMs, this.#timers.clock.monotonicMs() + intervalMs(hold));
    this.refresh(hold);
  }

  /** States a new lease for one hold, now. The caller decides what a failure means. */
  async restate(hold: Hold, leaseMs: number): Promise<StateResult | null> {
    const result = await hold.keep(() => {
      const sentAt = instantNow(this.#timers.clock);
      hold.willState(sentAt, leaseMs);
      this.refresh(hold);
      const item = statementOf(hold, leaseMs);
      return this.#topology.state([item], this.#timeoutMs([hold])).then((results) => {
        const result = results[0] as StateResult;
        if (result.is === 'kept' && hold.isValid(this.#timers.clock)) {
          hold.leaseMs = leaseMs;
          hold.hasStated(sentAt, leaseMs);
          hold.renewAtMs = sentAt.monotonicMs + this.#nextIntervalMs(leaseMs, 0);
        }
        return result;
      });
    });
    if (hold.isLive) this.#afterKeep(hold, result);
    return result;
  }

  /** States how often a hold is entered. A lease that is renewed is made no shorter, a fixed one stays as it is. */
  async recount(hold: Hold): Promise<StateResult | null> {
    const result = await hold.keep(() => {
      const sentAt = instantNow(this.#timers.clock);
      // What was sent, not what the hold has by then: a hand-over may have changed it meanwhile.
      const { leaseMs, renews } = hold;
      hold.longestMs = Math.max(hold.longestMs, leaseMs);
      const { reentry } = hold.protocol;
      assert(reentry !== undefined, () => 'only kinds with re-entry are counted');
      const facts = { holder: hold.holder, leaseMs, isFixed: !renews, claim: hold };
      return this.#topology
        .state([reentry.recount(facts, hold.count)], this.#timeoutMs([hold]))
        .then((results) => {
          const result = results[0] as StateResult;
          const isKept = result.is === 'kept' && hold.isValid(this.#timers.clock);
          if (isKept && renews) hold.hasStatedAtLeast(sentAt, leaseMs);
          return result;
        });
    });
    if (hold.isLive) this.#afterKeep(hold, result);
    return result;
  }

  /** Drops everything without a word. */
  stop(): void {
    for (let hold = this.#heap.peek(); hold !== undefined; hold = this.#heap.peek()) this.#heap.remove(hold);
    this.#timers.cancel(this.#deadline);
  }

  #arm(): void {
    if (this.#heap.size === 0) return;
    this.#deadlineDueMs = Math.min(this.#heap.firstDueMs, this.#timers.clock.monotonicMs() + CLOCK_CHECK_MS);
    this.#timers.setAt(this.#deadline, this.#deadlineDueMs);
  }

  #fire(): void {
    const { clock } = this.#timers;
    const nowMs = clock.monotonicMs();
    const due = this.#takeJumped();
    for (let hold = this.#heap.peek(); hold !== undefined; hold = this.#heap.peek()) {
      const { firstDueMs } = this.#heap;
      const isEarly = firstDueMs > nowMs;
      if (isEarly && (due.length === 0 || firstDueMs - nowMs > intervalMs(hold) * EARLY_SHARE)) break;
      if (isEarly && !(hold.renews && hold.keeping === null)) break;
      this.#heap.remove(hold);
      due.push(hold);
    }
    const lost: Hold[] = [];
    const batches = new Map<StatementBatch, Hold[]>();
    for (const hold of due) {
      if (hold.remainingMs(clock) <= 0) lost.push(hold);
      else this.#sort(hold, nowMs, batches);
    }
    for (const holds of batches.values()) {
      for (let i = 0; i < holds.length; i += BATCH_MAX) this.#send(holds.slice(i, i + BATCH_MAX));
    }
    this.#arm();
    // Last: this runs callers' callbacks.
    for (const hold of lost) if (hold.isLive) hold.session.holdLost(hold, hold.endsAs);
  }

  /** After a jump of the wall clock (the machine slept) every hold is looked at, due or not. */
  #takeJumped(): Hold[] {
    const gapMs = this.#readClockGap();
    const hasJumped = gapMs - this.#clockGapMs > CLOCK_JUMP_MS;
    this.#clockGapMs = gapMs;
    const taken: Hold[] = [];
    if (!hasJumped) return taken;
    for (let hold = this.#heap.peek(); hold !== undefined; hold = this.#heap.peek()) {
      this.#heap.remove(hold);
      // Its next renewal was planned by a clock that stood still.
      hold.renewAtMs = 0;
      taken.push(hold);
    }
    return taken;
  }

  #sort(hold: Hold, nowMs: number, batches: Map<StatementBatch, Hold[]>): void {
    if (hold.renews && hold.isAbandoned()) {
      hold.abandon();
      telemetry.abandoned(hold);
      warnAbandoned(quoted(hold.protocol));
    }
    const canRenew = hold.renews && hold.keeping === null;
    const earliestMs = hold.renewAtMs - intervalMs(hold) * EARLY_SHARE;
    if (!canRenew || earliestMs > nowMs) {
      this.refresh(hold);
      return;
    }
    const batch = batches.get(hold.protocol.renewal);
    if (batch === undefined) batches.set(hold.protocol.renewal, [hold]);
    else batch.push(hold);
  }

  #send(holds: readonly Hold[]): void {
    const sentAt = instantNow(this.#timers.clock);
    const intervalShare = this.#options.random.fraction();
    const items = holds.map((hold) => statementOf(hold, hold.leaseMs));
    const sending = telemetry.renew(items, () => this.#topology.state(items, this.#timeoutMs(holds)));
    for (const hold of holds) {
      hold.willState(sentAt, hold.leaseMs);
      hold.keeping = sending;
      this.refresh(hold);
    }
    const settle = (results: readonly StateResult[]): void => {
      const { clock } = this.#timers;
      if (holds.length > 1 && results.every(isForbidden)) {
        this.#split(holds);
        return;
      }
      // All deadlines first: telling one loss runs callers' callbacks, which may take longer than the others have.
      for (const [i, hold] of holds.entries()) {
        hold.keeping = null;
        if (results[i]?.is !== 'kept' || !hold.isValid(clock)) continue;
        const { leaseMs } = items[i] as (typeof items)[number];
        hold.hasStated(sentAt, leaseMs);
        // By what was stated: a new owner's longer lease takes effect with the next renewal only.
        hold.renewAtMs = sentAt.monotonicMs + this.#nextIntervalMs(leaseMs, intervalShare);
      }
      for (const [i, hold] of holds.entries()) if (hold.isLive) this.#afterKeep(hold, results[i] ?? null);
    };
    // It never rejects: a client that throws has been caught at its border. Were it to, no lease may hang on that.
    void sending.then(settle, () => settle([]));
  }

  /** One key that our user may not touch refuses the whole call: the others must not pay for it. */
  #split(holds: readonly Hold[]): void {
    for (const hold of holds) hold.keeping = null;
    const live = holds.filter((hold) => hold.isLive);
    const middle = Math.ceil(live.length / 2);
    for (const half of [live.slice(0, middle), live.slice(middle)]) if (half.length > 0) this.#send(half);
  }

  /** `gone` and time declare a loss; anything unclear is tried again while time remains. */
  #afterKeep(hold: Hold, result: StateResult | null): void {
    if (result?.is === 'gone') {
      hold.session.holdLost(hold, 'gone');
    } else if (hold.remainingMs(this.#timers.clock) <= 0) {
      hold.session.holdLost(hold, hold.endsAs);
    } else {
      if (result?.is !== 'kept') hold.renewAtMs = this.#timers.clock.monotonicMs() + this.#retryMs(hold);
      this.refresh(hold);
    }
  }

  #nextIntervalMs(leaseMs: number, share: number): number {
    return (leaseMs / RENEWALS_PER_LEASE) * (1 - JITTER_SHARE * share);
  }

  #retryMs(hold: Hold): number {
    const shareMs = Math.min(
      hold.leaseMs * RETRY_SHARE,
      hold.remainingMs(this.#timers.clock) * RETRY_SHARE_LEFT,
    );
    return Math.min(Math.max(shareMs, RETRY_MS_MIN), RETRY_MS_MAX);
  }

  #timeoutMs(holds: readonly Hold[]): number {
    let leastMs = Number.POSITIVE_INFINITY;
    for (const hold of holds) leastMs = Math.min(leastMs, hold.remainingMs(this.#timers.clock));
    return Math.min(Math.max(leastMs / 2, TIMEOUT_MS_MIN), this.#options.callTimeoutMs);
  }

  #readClockGap(): number {
    const { clock } = this.#timers;
    return clock.wallMs() - clock.monotonicMs();
  }
}
