/**
 * Watches every hold of the session: renews those that ask for it, in batches, and declares the loss of those whose
 * time has run out. One timer for all of them. Who owns a hold, and what its loss means, is not decided here.
 *
 * A hold is due at its next renewal or at its deadline, whichever comes first. Holds that are due soon are renewed in
 * the same batch (`earlyMs`), so that a thousand leases settle into a few full batches; the next renewal of each batch
 * comes after a slightly different time (`jitter`), so that batches drift apart. The times are in `renewal-pace.ts`.
 */
import type { ResolvedLocksOptions } from '../options/options.ts';
import { assert } from '../runtime/assert.ts';
import { Heap } from '../runtime/heap.ts';
import { type Instant, instantNow } from '../runtime/instant.ts';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';
import { telemetry } from '../telemetry/publish.ts';
import { warnAbandoned } from '../telemetry/warnings.ts';
import type { Statement, StatementBatch } from '../topologies/protocol.ts';
import type { StateResult, Topology } from '../topologies/topology.ts';
import { ClockJump } from './clock-jump.ts';
import { quoted } from './failures.ts';
import type { Hold } from './hold.ts';
import { earlyMs, renewalIntervalMs, renewalTimeoutMs, retryMs } from './renewal-pace.ts';

/** Holds in one script call: with more, the server is busy for long enough to be felt by other callers. */
export const BATCH_MAX = 128;

/** How often the wall clock is compared with the monotonic one: a sleep of the machine is noticed this soon. */
const CLOCK_CHECK_MS = 1_000;

function isForbidden(result: StateResult): boolean {
  return result.is === 'failed' && result.servers.every(({ text }) => text.startsWith('NOPERM'));
}

function canRenew({ renews, isStating }: Hold): boolean {
  return renews && !isStating;
}

function renewalOf(hold: Hold, leaseMs: number): Statement {
  const { protocol, holder } = hold;
  return { protocol, holder, leaseMs, known: hold, batch: protocol.renewal };
}

/** In case a topology rejects. None does, as clients that throw are caught below; but no lease may depend on that. */
function noAnswers(): readonly StateResult[] {
  return [];
}

/** What is stated for one hold. */
interface SingleStatement {
  readonly statement: Statement;
  /** The server may have a shorter lease than before once the statement is sent. */
  readonly canShorten: boolean;
  onKept(sentAt: Instant): void;
}

export class Renewal {
  readonly #timers: TimerQueue;
  readonly #topology: Topology;
  readonly #options: ResolvedLocksOptions;
  readonly #heap = new Heap<Hold>();
  readonly #deadline = new Deadline(() => this.#fire(), false);
  #deadlineDueMs = 0;
  readonly #clockJump: ClockJump;

  constructor(timers: TimerQueue, topology: Topology, options: ResolvedLocksOptions) {
    this.#timers = timers;
    this.#topology = topology;
    this.#options = options;
    this.#clockJump = new ClockJump(timers.clock);
  }

  /** How many holds are watched. */
  get size(): number {
    return this.#heap.size;
  }

  /** Starts watching a hold that was granted just now. `inMs` is when it is renewed first, if not at the usual time. */
  watch(hold: Hold, now: Instant, inMs?: number): void {
    if (this.#heap.size === 0) this.#clockJump.startFrom(now);
    const endMs = now.monotonicMs + hold.remainingAt(now);
    hold.renewAtMs =
      inMs === undefined ? endMs - hold.leaseMs + renewalIntervalMs(hold.leaseMs) : now.monotonicMs + inMs;
    this.#place(hold, now);
  }

  /** Stops watching the hold. The timer stays armed, and may find nothing to do. */
  forget(hold: Hold): void {
    this.#heap.remove(hold);
  }

  /** A new owner has another lease than the hold: the lease takes effect with the next renewal, which may come sooner. */
  adopt(hold: Hold, leaseMs: number, renews: boolean): void {
    if (hold.leaseMs === leaseMs && hold.renews === renews) return;
    hold.leaseMs = leaseMs;
    hold.renews = renews;
    hold.renewAtMs = Math.min(hold.renewAtMs, this.#timers.clock.monotonicMs() + renewalIntervalMs(leaseMs));
    this.#place(hold);
  }

  /** The hold is said to have been taken away: looks now whether it is still ours. */
  suspect(hold: Hold): void {
    hold.takenFor ??= '';
    hold.renewAtMs = 0;
    if (hold.renews) this.#place(hold);
    else if (hold.protocol.reentry !== undefined) void this.recount(hold);
  }

  /** States a new lease for one hold, now. Null: the hold ended first. The caller decides what a failure means. */
  extend(hold: Hold, leaseMs: number): Promise<StateResult | null> {
    return this.#state(hold, () => ({
      statement: renewalOf(hold, leaseMs),
      canShorten: true,
      onKept: (sentAt) => {
        hold.leaseMs = leaseMs;
        hold.stated(sentAt, leaseMs);
        hold.renewAtMs = sentAt.monotonicMs + renewalIntervalMs(leaseMs);
      },
    }));
  }

  /**
   * States how often a hold is entered. A lease that is renewed is made no shorter by that, a fixed lease stays as it is.
   * Null: the hold ended first.
   */
  recount(hold: Hold): Promise<StateResult | null> {
    return this.#state(hold, () => {
      const { protocol, holder, owners, leaseMs, renews } = hold;
      assert(protocol.reentry !== undefined, () => `a ${protocol.kind} can be entered again`);
      const terms = { holder, leaseMs, isFixed: !renews, known: hold };
      return {
        statement: protocol.reentry.recount(terms, owners.length),
        canShorten: false,
        onKept: (sentAt) => {
          if (renews) hold.statedAtLeast(sentAt, leaseMs);
        },
      };
    });
  }

  /** Sends one statement about one hold, once no other is under way. `make` is called then, because the hold may have changed. */
  async #state(hold: Hold, make: () => SingleStatement): Promise<StateResult | null> {
    while (hold.isStating) await hold.statementEnd();
    if (!hold.isLive) return null;
    const { clock } = this.#timers;
    const sentAt = instantNow(clock);
    const { statement, canShorten, onKept } = make();
    hold.beginStatement(sentAt, statement.leaseMs, canShorten);
    this.#place(hold, sentAt);
    const stating = this.#topology.state([statement], this.#timeoutMs([hold]));
    const [result = null] = await stating.catch(noAnswers);
    if (result?.is === 'kept' && hold.isValid(clock)) onKept(sentAt);
    hold.endStatement();
    this.#settle(hold, result);
    return result;
  }

  /** Stops watching all holds. Nobody is notified. */
  stop(): void {
    for (let hold = this.#heap.peek(); hold !== undefined; hold = this.#heap.peek()) this.#heap.remove(hold);
    this.#timers.cancel(this.#deadline);
  }

  /** Puts the hold into the heap, by its next renewal or its deadline, whichever comes first. */
  #place(hold: Hold, now: Instant = instantNow(this.#timers.clock)): void {
    // By both clocks: after a sleep of the machine the end is nearer than the monotonic deadline says.
    const endMs = now.monotonicMs + hold.remainingAt(now);
    const dueMs = canRenew(hold) ? Math.min(hold.renewAtMs, endMs) : endMs;
    this.#heap.put(hold, dueMs);
    if (!this.#deadline.isSet || dueMs < this.#deadlineDueMs) this.#arm();
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
      if (isEarly && (due.length === 0 || firstDueMs - nowMs > earlyMs(hold.leaseMs))) break;
      if (isEarly && !canRenew(hold)) break;
      this.#heap.remove(hold);
      due.push(hold);
    }
    const lost: Hold[] = [];
    const abandoned: Hold[] = [];
    const batches = new Map<StatementBatch, Hold[]>();
    for (const hold of due) {
      if (hold.remainingMs(clock) <= 0) lost.push(hold);
      else {
        if (hold.renews && hold.abandonIfUnreachable()) abandoned.push(hold);
        this.#sort(hold, nowMs, batches);
      }
    }
    for (const holds of batches.values()) {
      for (let i = 0; i < holds.length; i += BATCH_MAX) this.#send(holds.slice(i, i + BATCH_MAX));
    }
    this.#arm();
    // Last: this runs callers' callbacks.
    for (const { protocol } of abandoned) {
      telemetry.abandoned(protocol);
      warnAbandoned(quoted(protocol));
    }
    for (const hold of lost) if (hold.isLive) hold.lose(hold.endsAs);
  }

  /** After a jump of the wall clock (the machine slept) every hold is looked at, due or not. */
  #takeJumped(): Hold[] {
    const taken: Hold[] = [];
    if (!this.#clockJump.hasHappened()) return taken;
    for (let hold = this.#heap.peek(); hold !== undefined; hold = this.#heap.peek()) {
      this.#heap.remove(hold);
      // The next renewal was planned by a clock that stood still.
      hold.renewAtMs = 0;
      taken.push(hold);
    }
    return taken;
  }

  /** Puts a hold that is to be renewed now into its batch, and any other back into the heap. */
  #sort(hold: Hold, nowMs: number, batches: Map<StatementBatch, Hold[]>): void {
    if (!canRenew(hold) || hold.renewAtMs - earlyMs(hold.leaseMs) > nowMs) {
      this.#place(hold);
      return;
    }
    const batch = batches.get(hold.protocol.renewal);
    if (batch === undefined) batches.set(hold.protocol.renewal, [hold]);
    else batch.push(hold);
  }

  #send(due: readonly Hold[]): void {
    // A subscriber that heard of the batch before this one may have released a hold of this one, or extended it.
    const holds = due.filter((hold) => hold.isLive && canRenew(hold));
    if (holds.length === 0) return;
    const { clock } = this.#timers;
    const sentAt = instantNow(clock);
    const jitter = this.#options.random.fraction();
    // The leases that are sent now: a hand-over may change `hold.leaseMs` before the answer comes.
    const leasesMs = holds.map(({ leaseMs }) => leaseMs);
    const statements = holds.map((hold) => renewalOf(hold, hold.leaseMs));
    for (const hold of holds) {
      hold.beginStatement(sentAt, hold.leaseMs, true);
      this.#place(hold, sentAt);
    }
    const timeoutMs = this.#timeoutMs(holds);
    const sending = telemetry.renew(holds, clock, () => this.#topology.state(statements, timeoutMs));
    const settle = (results: readonly StateResult[]): void => {
      if (holds.length > 1 && results.every(isForbidden)) {
        this.#split(holds);
        return;
      }
      // All deadlines first: telling one loss runs callers' callbacks, which may take longer than the others have.
      for (const [i, hold] of holds.entries()) {
        hold.endStatement();
        if (results[i]?.is !== 'kept' || !hold.isValid(clock)) continue;
        const leaseMs = leasesMs[i] as number;
        hold.stated(sentAt, leaseMs);
        hold.renewAtMs = sentAt.monotonicMs + renewalIntervalMs(leaseMs, jitter);
      }
      for (const [i, hold] of holds.entries()) this.#settle(hold, results[i] ?? null);
    };
    void sending.catch(noAnswers).then(settle);
  }

  /** For one key that our Redis user may not touch, the server refuses the whole call: halves keep the others alive. */
  #split(holds: readonly Hold[]): void {
    for (const hold of holds) hold.endStatement();
    const live = holds.filter((hold) => hold.isLive);
    const middle = Math.ceil(live.length / 2);
    for (const half of [live.slice(0, middle), live.slice(middle)]) this.#send(half);
  }

  /** After an answer: `gone` and time declare a loss; any failure, for whatever reason, is retried in time. */
  #settle(hold: Hold, result: StateResult | null): void {
    if (!hold.isLive) return;
    const leftMs = hold.remainingMs(this.#timers.clock);
    if (result?.is === 'gone') {
      hold.takenFor = result.words ?? hold.takenFor;
      hold.lose(hold.goneAs);
    } else if (leftMs <= 0) {
      hold.lose(hold.endsAs);
    } else {
      if (result?.is !== 'kept') {
        hold.renewAtMs = this.#timers.clock.monotonicMs() + retryMs(hold.leaseMs, leftMs);
      }
      this.#place(hold);
    }
  }

  #timeoutMs(holds: readonly Hold[]): number {
    const { clock } = this.#timers;
    let leastMs = Number.POSITIVE_INFINITY;
    for (const hold of holds) leastMs = Math.min(leastMs, hold.remainingMs(clock));
    return renewalTimeoutMs(leastMs, this.#options.callTimeoutMs);
  }
}
