/**
 * When a lease ends by the rules, when its owner was told, and for how long the event loop stood still in between.
 * All times are of this process's monotonic clock.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'vitest';
import {
  type AcquireOptions,
  type Lease,
  type Lock,
  LockLostError,
  type Locks,
  type LossReason,
  type Mutex,
  type RenewTrace,
} from '../../../src/index.ts';
import type { StateResult } from '../../../src/topologies/topology.ts';
import type { FaultProxy } from '../../support/fault-proxy.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Bench, type ClientKind, MATRIX, type Subject } from '../acquire/support.ts';

/** How much earlier than the server an owner must stop believing: written down again, not taken from the source. */
export function driftMs(leaseMs: number): number {
  return leaseMs * 0.01 + 2;
}

/**
 * How late a timer may fire on an event loop that turns. Below the drift of a lease of a second, so that a loss
 * told within it is told before the server can let anybody else in.
 */
const TIMER_SLACK_MS = 9;

/** A lease ends when the first of two clocks says so, and the wall clock counts in whole milliseconds. */
const WALL_CLOCK_MS = 1;

const TICK_MS = 2;
/** A loop that turns meets its ticks within this. */
const STALL_MS_MIN = 4;

/** Notes when the event loop of this process stood still: on a busy machine it does, and no timer can help it. */
class LoopWatch {
  readonly #stalls: { readonly fromMs: number; readonly toMs: number }[] = [];
  #tickMs = performance.now();

  constructor() {
    setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** Its last tick: whatever runs now began after it, however long the process has been interrupted since. */
  get tickMs(): number {
    return this.#tickMs;
  }

  /** How much of that time the loop did not turn. */
  stalledMs(fromMs: number, toMs: number): number {
    const open = { fromMs: this.#tickMs, toMs: performance.now() };
    let stalledMs = 0;
    for (const stall of [...this.#stalls, open]) {
      stalledMs += Math.max(0, Math.min(stall.toMs, toMs) - Math.max(stall.fromMs, fromMs));
    }
    return stalledMs;
  }

  #tick(): void {
    const nowMs = performance.now();
    if (nowMs - this.#tickMs > STALL_MS_MIN) this.#stalls.push({ fromMs: this.#tickMs, toMs: nowMs });
    this.#tickMs = nowMs;
  }
}

const loop = new LoopWatch();

/** One kind of lock on one client, with a session and a proxy to itself. */
export interface Row {
  readonly client: ClientKind;
  readonly subject: Subject;
  readonly label: string;
  readonly proxy: FaultProxy;
  readonly locks: Locks;
  readonly lock: Lock | Mutex;
}

/**
 * Every kind on every client. All are made before any is used: making a client of node-redis keeps the event loop
 * from turning for longer than a short lease can bear.
 */
export async function openRows(bench: Bench, port: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { client, subject } of MATRIX) {
    const proxy = await bench.proxy(port);
    const locks = await bench.session(proxy.port, { client });
    const lock = subject.of(locks, bench.name());
    // So that what is measured later does not contain the making of a connection.
    await (await lock.acquire()).release();
    rows.push({ client, subject, label: `${subject.kind} on ${client}`, proxy, locks, lock });
  }
  return rows;
}

interface Sent {
  readonly afterMs: number;
  readonly beforeMs: number;
}

interface Told {
  readonly atMs: number;
  readonly reason: LossReason;
  readonly error: LockLostError;
  /** Of the time between the deadline and the word, how much the loop did not turn. */
  readonly stalledMs: number;
}

/** A lease with a record of what the rules say about it: its deadline, and whether it was claimed past that. */
export class WatchedLease {
  readonly lease: Lease;
  /** Renewals that got through. */
  renewals = 0;
  #told: Told | null = null;
  #heldAtMs = 0;
  /** When the last request that the server granted was sent: between these two. */
  #sent: Sent;
  #leaseMs: number;
  readonly #sampling: NodeJS.Timeout;

  constructor(lease: Lease, leaseMs: number, sent: Sent) {
    this.lease = lease;
    this.#leaseMs = leaseMs;
    this.#sent = sent;
    this.#sampling = setInterval(() => this.#sample(), TICK_MS).unref();
    lease.signal.addEventListener('abort', () => this.#hear());
  }

  /** When it must not be claimed any more unless another renewal gets through. */
  get deadlineMs(): number {
    return this.#sent.beforeMs + this.#leaseMs - driftMs(this.#leaseMs);
  }

  /** The same at the earliest: we do not know to the microsecond when the request was sent. */
  get deadlineFromMs(): number {
    return this.#sent.afterMs + this.#leaseMs - driftMs(this.#leaseMs) - WALL_CLOCK_MS;
  }

  get told(): Told | null {
    return this.#told;
  }

  /** A request that states the lease got through. It counts if the lease was not over by then. */
  stated(sent: Sent): void {
    if (this.#told !== null || performance.now() >= this.deadlineMs) return;
    this.#sent = sent;
    this.renewals += 1;
  }

  /** A request that states another lease was sent, and for all we know it got through. */
  mayHaveStated(leaseMs: number, sent: Sent): void {
    this.#leaseMs = leaseMs;
    this.#sent = sent;
  }

  async lost(): Promise<Told> {
    return await waitFor(() => this.#told, { what: `${this.lease.name} to be lost` });
  }

  /** The rule: told by the deadline, by our own clock, and never claimed after it. */
  expectToldInTime(label: string): void {
    const { atMs, stalledMs } = this.#told ?? { atMs: Number.POSITIVE_INFINITY, stalledMs: 0 };
    expect(atMs - stalledMs - this.deadlineMs, `${label}: told so late`).toBeLessThan(TIMER_SLACK_MS);
    always(() => {
      expect(this.#heldAtMs - this.deadlineMs, `${label}: claimed past its deadline`).toBeLessThanOrEqual(0);
      expect(this.lease.isHeld, `${label}: claimed although lost`).toBe(false);
      expect(this.lease.remainingMs, label).toBe(0);
    });
    expect(this.#told?.error, label).toBeInstanceOf(LockLostError);
  }

  /** And not before: a lease that nobody took is kept to its end. */
  expectNotToldEarly(label: string): void {
    expect(this.#told?.atMs, `${label}: told too early`).toBeGreaterThanOrEqual(this.deadlineFromMs);
  }

  stop(): void {
    clearInterval(this.#sampling);
  }

  #sample(): void {
    const nowMs = performance.now();
    if (this.lease.isHeld) this.#heldAtMs = nowMs;
  }

  #hear(): void {
    const atMs = performance.now();
    // The signal's reason is typed as anything; the rule says what it is, and `expectToldInTime` checks it.
    const error = this.lease.signal.reason as LockLostError;
    this.#told = { atMs, error, reason: error.reason, stalledMs: loop.stalledMs(this.deadlineMs, atMs) };
  }
}

/** Acquires a lock that nobody holds, and watches over the lease to the end of the test. */
export async function acquireWatched(
  bench: Bench,
  lock: Lock | Mutex,
  options: AcquireOptions & { readonly leaseMs: number },
): Promise<WatchedLease> {
  const afterMs = performance.now();
  const acquiring = lock.acquire(options);
  // The request of a lone caller is on its way when `acquire` returns: t0 has been.
  const sent = { afterMs, beforeMs: performance.now() };
  const watched = new WatchedLease(await acquiring, options.leaseMs, sent);
  const renewals = new WeakMap<object, Sent>();
  const begin = (message: unknown): void => {
    // The clock was read for it just before the channel tells, in the same turn of the loop.
    renewals.set(message as RenewTrace, { afterMs: loop.tickMs, beforeMs: performance.now() });
  };
  const end = (message: unknown): void => {
    const { locks, result } = message as RenewTrace;
    const outcome = (result as readonly StateResult[] | undefined)?.[locks.indexOf(lock.name)];
    const renewal = renewals.get(message as RenewTrace);
    if (outcome?.is === 'kept' && renewal !== undefined) watched.stated(renewal);
  };
  subscribe('tracing:holdfast:renew:start', begin);
  subscribe('tracing:holdfast:renew:asyncStart', end);
  bench.onEnd(() => {
    unsubscribe('tracing:holdfast:renew:start', begin);
    unsubscribe('tracing:holdfast:renew:asyncStart', end);
    watched.stop();
  });
  return watched;
}
