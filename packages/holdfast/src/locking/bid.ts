/**
 * Under which holder the next attempt is made. A fresh one each time, unless an earlier attempt went unanswered: that
 * one may have been granted, so it is repeated under its own holder until it is granted or given up.
 */
import { type HoldTerms, NO_STRAYS, type Protocol, type Strays } from '../topologies/topology.ts';
import type { Session } from './session.ts';

/**
 * Fences are microseconds of the server's time: a block that is longer than its hold lasts runs ahead of the server's
 * clock. A hold lasts two round trips at least, so this many cost nothing. The server grants 1,000 at most.
 */
const SPARE_FENCES = 64;

export interface TakenBid {
  readonly terms: HoldTerms;
  readonly strays: Strays;
}

export class Bid {
  readonly #session: Session;
  readonly #protocol: Protocol;
  #terms: HoldTerms | null = null;
  /** An attempt under the present holder went unanswered: it may have been granted. */
  #mayExist = false;
  #strays: Strays = NO_STRAYS;

  constructor(session: Session, protocol: Protocol) {
    this.#session = session;
    this.#protocol = protocol;
  }

  /** What the next attempt states. `behind` callers of this process wait behind the one it is for. */
  next(leaseMs: number, behind: number): HoldTerms {
    // Under the same holder the same fences: a repeated grant must answer what the first one answered.
    this.#terms =
      this.#mayExist && this.#terms !== null ? { ...this.#terms, leaseMs } : this.#fresh(leaseMs, behind);
    return this.#terms;
  }

  #fresh(leaseMs: number, behind: number): HoldTerms {
    const holder = this.#session.newHolder(this.#protocol);
    // Where some wait more will come while it is held. Alone, there is nobody to hand over to.
    const spare = behind > 0 ? Math.max(behind, SPARE_FENCES) : 0;
    return { holder, leaseMs, fences: 1 + Math.min(this.#session.options.handovers, spare) };
  }

  /**
   * The attempt may have happened, or happen still. The server refuses it once its time is over; an unbounded one is
   * looked for as long as its lease would keep others out.
   */
  noteUnanswered(isUnbounded: boolean): void {
    this.#mayExist = true;
    const { timers, options } = this.#session;
    const { count, untilMs, leaseMs } = this.#strays;
    const longestMs = Math.max(leaseMs, this.#terms?.leaseMs ?? 0);
    const lastsMs = isUnbounded ? Math.max(options.callTimeoutMs, longestMs) : options.callTimeoutMs;
    this.#strays = {
      count: count + 1,
      untilMs: Math.max(untilMs, timers.clock.monotonicMs() + lastsMs),
      leaseMs: longestMs,
    };
  }

  /** It was granted: what it was. The next attempt is under another holder. */
  take(): TakenBid {
    const taken = { terms: this.#terms as HoldTerms, strays: this.#strays };
    this.#terms = null;
    this.#mayExist = false;
    this.#strays = NO_STRAYS;
    return taken;
  }

  /** It was granted and does not count. It is released before anybody hears of it. */
  undo(): void {
    const { terms, strays } = this.take();
    const left = { ...strays, count: strays.count + 1 };
    this.#session.topology.lateReleases.add(this.#protocol, terms, left);
  }

  /** Nobody wants it any more: what may have been granted is released. */
  withdraw(): void {
    const mayExist = this.#mayExist && this.#terms !== null;
    const { terms, strays } = this.take();
    if (mayExist) this.#session.topology.lateReleases.add(this.#protocol, terms, strays);
  }
}
