/**
 * Under which holder the next attempt is made. A fresh one each time, unless an earlier attempt went unanswered: that
 * one may have been granted, so it is repeated under its own holder until it is granted or given up.
 */
import type { HoldTerms, Protocol } from '../topologies/protocol.ts';
import type { Session } from './session.ts';

/**
 * Fences are microseconds of the server's time: a block that is longer than its hold lasts runs ahead of the server's
 * clock. A hold lasts two round trips at least, so this many cost nothing. The server grants 1,000 at most.
 */
const SPARE_FENCES = 64;

export class Bid {
  readonly #session: Session;
  readonly #protocol: Protocol;
  #terms: HoldTerms | null = null;
  /** An attempt under the present holder went unanswered: it may have been granted. */
  #mayExist = false;
  /** The longest lease that was asked for under the present holder. */
  #longestMs = 0;

  constructor(session: Session, protocol: Protocol) {
    this.#session = session;
    this.#protocol = protocol;
  }

  /** What the next attempt states. `behind` callers of this process wait behind the one it is for. */
  next(leaseMs: number, behind: number): HoldTerms {
    // Under the same holder the same fences: a repeated grant must answer what the first one answered.
    const isSame = this.#mayExist && this.#terms !== null;
    this.#longestMs = Math.max(isSame ? this.#longestMs : 0, leaseMs);
    this.#terms =
      this.#mayExist && this.#terms !== null ? { ...this.#terms, leaseMs } : this.#fresh(leaseMs, behind);
    return this.#terms;
  }

  #fresh(leaseMs: number, behind: number): HoldTerms {
    const holder = this.#protocol.newHolder(this.#session);
    // Where some wait more will come while it is held. Alone, there is nobody to hand over to.
    const spare = behind > 0 ? Math.max(behind, SPARE_FENCES) : 0;
    return { holder, leaseMs, fences: 1 + Math.min(this.#session.options.handovers, spare) };
  }

  /** Whether the attempt may have happened, or happen still. */
  noteFailed(mayBeGranted: boolean): void {
    this.#mayExist = mayBeGranted;
  }

  /** It was granted: what it was. The next attempt is under another holder. */
  take(): { terms: HoldTerms; longestMs: number } {
    const terms = this.#terms as HoldTerms;
    this.#terms = null;
    this.#mayExist = false;
    return { terms, longestMs: this.#longestMs };
  }

  /** Nobody wants it any more: what may have been granted is released. */
  withdraw(): void {
    const mayExist = this.#mayExist && this.#terms !== null;
    const { terms, longestMs } = this.take();
    if (mayExist)
      this.#session.topology.abandon(this.#protocol, { holder: terms.holder, leaseMs: longestMs });
  }
}
