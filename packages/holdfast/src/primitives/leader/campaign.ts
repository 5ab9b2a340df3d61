/** Seeks the lock of a leader until it is ours or somebody says stop, through outages of any length. */
import type { FencedLease } from '../../locking/lease.ts';
import type { Session } from '../../locking/session.ts';
import { InterruptibleSleep } from '../../locking/waiting/interruptible-sleep.ts';
import { Backoff, type BackoffRange } from '../../runtime/backoff.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { Lock } from '../lock/lock.ts';
import type { LeaderProtocol } from './protocol.ts';

/** The wait was ended by us: told to stop, or the session closes. */
const ENDED = new Set<unknown>(['ELOCKABORTED', 'ELOCKCLOSED']);
/** Nobody can lead while the server is away: the campaign goes on when the server is back. */
const PASSING = new Set<unknown>(['ELOCKUNAVAILABLE', 'ELOCKUNKNOWN', 'ELOCKTIMEOUT']);

export class Campaign {
  readonly #session: Session;
  readonly #lock: Lock;
  readonly #leaseMs: number;
  readonly #stop: AbortSignal;
  readonly #outages: Backoff;
  readonly #pauses: Backoff;

  constructor(
    session: Session,
    protocol: LeaderProtocol,
    { leaseMs, backoff }: { readonly leaseMs: number; readonly backoff: BackoffRange },
    stop: AbortSignal,
  ) {
    const { random } = session.options;
    this.#session = session;
    this.#lock = new Lock(session, protocol);
    this.#leaseMs = leaseMs;
    this.#stop = stop;
    this.#outages = new Backoff(random, backoff);
    this.#pauses = new Backoff(random, backoff);
  }

  /** The lease of a term; null: told to stop. Rejects on what no wait will heal. */
  async win(): Promise<FencedLease | null> {
    this.#outages.reset();
    while (!this.#stop.aborted) {
      try {
        return await this.#lock.acquire({ leaseMs: this.#leaseMs, lingerMs: 0, signal: this.#stop });
      } catch (error) {
        const { code } = error as { readonly code?: unknown };
        if (ENDED.has(code) || error === this.#stop.reason) return null;
        // A server that has never answered is a wrong address more often than an outage.
        if (!PASSING.has(code) || !this.#session.topology.hasAnswered) throw error;
        await this.#sleep(this.#outages.nextMs());
      }
    }
    return null;
  }

  /** Lets others lead first. Longer after each term, unless a term was a long one (`isFresh`). */
  async pause(isFresh: boolean): Promise<void> {
    if (isFresh) this.#pauses.reset();
    await this.#sleep(this.#pauses.nextMs());
  }

  async #sleep(delayMs: number): Promise<void> {
    if (this.#stop.aborted) return;
    const sleep = new InterruptibleSleep(this.#session.timers);
    const stopHearing = onAbort(this.#stop, () => sleep.stop());
    await sleep.sleep(delayMs);
    stopHearing();
  }
}
