/**
 * Leader election on an ordinary lock with its line: whoever has the lock leads, and the fence is the term.
 *
 * - `campaigning`: waits in the line of the lock, also through outages. Out: `leading`, `stopped`.
 * - `leading`: the body runs. Out: `stopping`.
 * - `stopping`: the body has ended, or was told to end and is waited for. Out: `pausing`, `campaigning`, `stopped`.
 * - `pausing`: lets others lead. Out: `campaigning`, `stopped`.
 * - `stopped`: before `run` and after it.
 */
import { LeaderStuckError, LockAbortedError, LockClosedError, LockConfigError } from '../../errors.ts';
import { leaveToLease } from '../../locking/hold-life.ts';
import { type FencedLease, LeaseHandle } from '../../locking/lease.ts';
import type { Session } from '../../locking/session.ts';
import {
  checkRunOptions,
  type LeaderRunOptions,
  type ResolvedLeaderOptions,
} from '../../options/leader-options.ts';
import { describe } from '../../runtime/describe.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { inMs, quote } from '../../runtime/printable.ts';
import { type LeaderEvent, tellLeader } from '../../telemetry/jobs.ts';
import { warnReturned } from '../../telemetry/warnings.ts';
import { KeepAlive } from '../keep-alive.ts';
import { Listeners } from '../listeners.ts';
import { Campaign } from './campaign.ts';
import type { LeaderProtocol } from './protocol.ts';
import { type LeaderBody, Term, type TermOutcome } from './term.ts';

/** Who leads, as the server says. */
export interface LeaderInfo {
  /** The UUID of the leader's session. */
  readonly session: string;
  /** Whether that is this `Locks`. */
  readonly isMe: boolean;
  /** At least the number of the term: no leader so far had a larger one. Undefined where the counter was lost. */
  readonly fence: number | undefined;
  /** How long until another may lead unless the leader renews its lease. */
  readonly ttlMs: number;
  /** How many processes wait to lead. */
  readonly waiters: number;
}

/** What the listeners of a leader are given. */
export interface LeaderEvents {
  /** This process leads. Told before the body begins. */
  readonly elected: { readonly fence: number };
  /** The lock was lost. The signal of the body has aborted, and another process may lead. */
  readonly lost: { readonly fence: number; readonly reason: unknown };
  /** The body has ended and the lock is released. `error` is what the body threw, if it threw. */
  readonly resigned: { readonly fence: number; readonly error?: unknown };
  /** The body did not end within `graceMs`. `run` rejects with `LeaderStuckError`; the process should end. */
  readonly stuck: { readonly fence: number };
}

/** A term of at least this long was work, and not a body that returns at once. */
const LONG_TERM_MS = 60_000;

export class Leader {
  readonly name: string;
  readonly #session: Session;
  readonly #protocol: LeaderProtocol;
  readonly #options: ResolvedLeaderOptions;
  readonly #look: () => Promise<LeaderInfo | null>;
  readonly #listeners = new Listeners<LeaderEvents>();
  #state: 'campaigning' | 'leading' | 'stopping' | 'pausing' | 'stopped' = 'stopped';
  #term: Term | null = null;
  #lease: FencedLease | null = null;
  /** The fence of a body that was stuck and has not ended yet: no other may begin beside it. */
  #stuckFence: number | null = null;
  /** Resolves when the present term is over, released or stuck. */
  #termOver: Promise<unknown> = Promise.resolve();

  /** `look` asks the server who leads. */
  constructor(
    session: Session,
    protocol: LeaderProtocol,
    options: ResolvedLeaderOptions,
    look: () => Promise<LeaderInfo | null>,
  ) {
    this.name = protocol.name;
    this.#session = session;
    this.#protocol = protocol;
    this.#options = options;
    this.#look = look;
  }

  /** Whether this process leads now, by its own clocks, and was not told to stop. */
  get isLeader(): boolean {
    return this.#state === 'leading' && this.#term?.isOver === false && this.#lease?.isHeld === true;
  }

  /** Calls the listener at each such event. Returns how to stop. */
  on<Name extends keyof LeaderEvents>(
    event: Name,
    listener: (event: LeaderEvents[Name]) => void,
  ): () => void {
    return this.#listeners.add(event, listener);
  }

  /** Resolves to who leads, in any process; null when nobody does. */
  current(): Promise<LeaderInfo | null> {
    return this.#look();
  }

  /**
   * Campaigns until this process leads, runs the body, and campaigns again, until the signal aborts or the `Locks` closes.
   * Rejects with what the body throws of itself, and with `LeaderStuckError` when the body does not end in time; from then on
   * at once, until that body has ended.
   */
  async run(body: LeaderBody, options: LeaderRunOptions = {}): Promise<void> {
    if (typeof body !== 'function') {
      throw new LockConfigError(`expected the body of a leader to be a function, got ${describe(body)}`);
    }
    const signal = checkRunOptions(options);
    this.#session.assertOpen(this.name);
    if (this.#state !== 'stopped') {
      const message = `leader ${quote(this.name)}: run was called while it runs; make another leader for another body`;
      throw new LockConfigError(message, { lock: this.name });
    }
    if (this.#stuckFence !== null) throw this.#stuck(this.#stuckFence);
    const stop = new AbortController();
    const halt = (): void => {
      stop.abort(signal?.aborted === true ? signal.reason : this.#closed());
      this.#term?.end('stopped', stop.signal.reason);
    };
    const stopHearing = signal === undefined ? () => {} : onAbort(signal, halt);
    if (signal?.aborted === true) halt();
    const keepAlive = new KeepAlive(this.#session.timers);
    const running = this.#run(body, stop.signal);
    const leave = this.#session.serve({
      close: async () => {
        halt();
        await running.catch(() => {});
      },
      halt,
    });
    keepAlive.start();
    try {
      await running;
    } finally {
      this.#state = 'stopped';
      keepAlive.stop();
      leave();
      stopHearing();
    }
  }

  /** Tells the body to end, releases when it has, and lets others lead first. Resolves when that is done. */
  async stepDown(): Promise<void> {
    const message = `leader ${quote(this.name)}: stepped down`;
    this.#term?.end('stepped down', new LockAbortedError(message, { lock: this.name }));
    await this.#termOver;
  }

  async #run(body: LeaderBody, stop: AbortSignal): Promise<void> {
    const campaign = new Campaign(this.#session, this.#protocol, this.#options, stop);
    const { clock } = this.#session.timers;
    for (;;) {
      this.#state = 'campaigning';
      const lease = await campaign.win();
      if (lease === null) return;
      const electedMs = clock.monotonicMs();
      const leading = this.#lead(lease, body, stop);
      this.#termOver = leading.catch(() => {});
      const { end, error } = await leading;
      if (end === 'threw') throw error;
      if (stop.aborted || (end === 'returned' && this.#options.afterReturn === 'stop')) return;
      if (end === 'returned') warnReturned(`leader ${quote(this.name)}`);
      if (end === 'lost') continue;
      this.#state = 'pausing';
      await campaign.pause(clock.monotonicMs() - electedMs >= LONG_TERM_MS);
    }
  }

  async #lead(lease: FencedLease, body: LeaderBody, stop: AbortSignal): Promise<TermOutcome> {
    const { fence } = lease;
    const { timers } = this.#session;
    const owner = LeaseHandle.ownerOf(lease, this.#session);
    // Renewed until it is released, whatever happens to the lease object.
    owner?.keep();
    const term = new Term(lease, timers, this.#options.graceMs);
    this.#term = term;
    this.#lease = lease;
    this.#state = 'leading';
    this.#tell('elected', { fence });
    const stopHearing = onAbort(lease.signal, () => {
      // The body first: a listener may take its time.
      term.end('lost', lease.signal.reason);
      this.#tell('lost', { fence, reason: lease.signal.reason });
    });
    // The campaign may have been won while it was told to stop, or a listener has just said so.
    if (stop.aborted) term.end('stopped', stop.reason);
    const outcome = await term.run(body);
    this.#state = 'stopping';
    stopHearing();
    try {
      if (outcome.isStuck) {
        if (owner !== undefined) leaveToLease(this.#session, owner.hold);
        this.#stuckFence = fence;
        void term.bodyEnded.then(() => {
          this.#stuckFence = null;
        });
        this.#tell('stuck', { fence });
        throw this.#stuck(fence);
      }
      if (lease.signal.aborted) return { ...outcome, end: outcome.end === 'threw' ? 'threw' : 'lost' };
      // Without an answer the release is repeated in the background: this process has stopped in any case.
      await lease.release().catch(() => false);
      this.#tell('resigned', outcome.error === undefined ? { fence } : { fence, error: outcome.error });
      return outcome;
    } finally {
      this.#term = null;
      this.#lease = null;
    }
  }

  #tell<Name extends LeaderEvent>(event: Name, message: LeaderEvents[Name]): void {
    tellLeader(this.name, this.#session.id, event, message);
    this.#listeners.tell(event, message);
  }

  #closed(): LockClosedError {
    return new LockClosedError(`leader ${quote(this.name)}: this Locks has been closed`, { lock: this.name });
  }

  #stuck(fence: number): LeaderStuckError {
    const message = `leader ${quote(this.name)}: the body did not end within ${inMs(this.#options.graceMs)} after its signal had aborted; end the process`;
    return new LeaderStuckError(message, { lock: this.name, fence });
  }
}
