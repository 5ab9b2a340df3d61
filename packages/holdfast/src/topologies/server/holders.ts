/**
 * Safety rule 5 in one class: a request without an answer may have happened. `Holders` wraps a decider (a server, the
 * router of a cluster, a node of a quorum). Nothing else knows which holders may be left on a server unnoticed, and
 * nothing else repeats a release.
 *
 * Every way in which a hold can be left behind on a server, and what ends it:
 *
 *  1. An acquire gets no answer, and its caller repeats it under the same holder until it is granted. Each unanswered
 *     acquire is counted. When the hold is released, a release goes out again until no counted acquire can arrive any
 *     more: one of them may be in a buffer of a dead connection, behind the release that was answered.
 *  2. An acquire gets no answer, and its caller gives up: `abandon`. Released until each counted acquire was seen
 *     released, or until a release that was sent after the last of them could arrive has been answered.
 *  3. An acquire arrives late. It carries the server time after which it is refused, so it can arrive for as long as a
 *     call may take. The first call to a server cannot carry a time: it is looked for as long as its lease would keep
 *     others out.
 *  4. A grant does not count: it came after its lease, or too few replicas have it. It is given back here at once, and
 *     its holder is never used again.
 *  5. A grant crosses the departure of its last caller: `abandon`, as 2.
 *  6. A release gets no answer, or the server cannot be reached: the release is repeated.
 *  7. A hold is lost by time: a renewal without an answer may have kept it on the server. `abandon`, as 2.
 *  8. The server says that a hold is gone. Nothing is released, unless an acquire of 1 may still arrive: `isGone`.
 *  9. A vote is given up while its acquire is under way. The release follows the acquire on its connection; the acquire is
 *     not written a second time (`isWanted`), and if it ends without an answer after that, it is released as 2.
 * 10. A node of a quorum is down when its vote is released: the release waits until the node is back. A node that was
 *     never asked for the holder is not called for it.
 * 11. What has not been proved when its lease has certainly run out on the server is over (`expired`). Beyond
 *     `LATE_RELEASES_MAX` the oldest is left to its lease (`dropped`), and so is everything after `stop`. The lease on the
 *     server is the last resort, and nothing here keeps the process alive but a call that is under way.
 *
 * The usual case, a grant at the first try that is released with an answer, is not recorded here. Votes always are.
 */
import { Backoff } from '../../runtime/backoff.ts';
import type { Instant } from '../../runtime/instant.ts';
import type { Random } from '../../runtime/random.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { within } from '../../runtime/timers.ts';
import type { LateReleaseMessage } from '../../telemetry/channels.ts';
import { telemetry } from '../../telemetry/publish.ts';
import type { HoldTerms, Protocol } from '../protocol.ts';
import type { AcquireResult, ReleaseResult, ReleaseTerms } from '../topology.ts';
import { type Decider, type Decision, failed } from './decision.ts';
import {
  type LateRelease,
  lateRelease,
  leftOf,
  mayArrive,
  NO_TRACE,
  type Trace,
  withUnanswered,
} from './holder-trace.ts';

/** An outage with more open releases than this leaves the oldest to their leases. */
export const LATE_RELEASES_MAX = 4_096;

/** How many releases are repeated at once, so that a server that comes back is not met by a storm. */
const IN_FLIGHT_MAX = 16;

export interface HoldersOptions {
  readonly callTimeoutMs: number;
  readonly random: Random;
}

export class Holders {
  readonly #timers: TimerQueue;
  readonly #decider: Decider;
  readonly #options: HoldersOptions;
  /**
   * Whether a grant is one vote of a quorum. A vote by itself keeps nobody out, so the release of a vote that
   * no majority has joined wakes nobody. A node may be down for long, so every holder that it was asked for is recorded: only those get a release.
   */
  readonly #isVote: boolean;
  /** Holders that are still wanted: those with unanswered acquires, and of votes every one that was asked for. */
  readonly #wanted = new Map<string, Trace>();
  /** Holders that are not wanted any more and may still be on the server. */
  readonly #open = new Map<string, LateRelease>();
  readonly #backoff: Backoff;
  readonly #deadline = new Deadline(() => void this.#repeat(), false);
  /** First releases that are under way; `flush` waits for them. */
  readonly #first = new Set<Promise<void>>();
  #repeating: Promise<void> | null = null;
  #isStopped = false;

  constructor(timers: TimerQueue, decider: Decider, options: HoldersOptions, isVote = false) {
    this.#timers = timers;
    this.#decider = decider;
    this.#options = options;
    this.#isVote = isVote;
    this.#backoff = new Backoff(options.random);
  }

  /** How many releases are open. */
  get size(): number {
    return this.#open.size;
  }

  /** `sentAt` is one moment for all servers that are asked at once, before the first of them is. */
  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number, sentAt?: Instant): Promise<AcquireResult> {
    const isWanted = this.#isVote ? this.#want(terms.holder) : undefined;
    const deciding = this.#decider.acquire(protocol, terms, timeoutMs, isWanted, sentAt);
    return deciding.then((decision) => this.#settle(protocol, terms, decision));
  }

  #settle(protocol: Protocol, terms: HoldTerms, decision: Decision): AcquireResult {
    switch (decision.is) {
      case 'granted':
        if (this.#wanted.size > 0) this.#noteGrant(terms.holder);
        return decision;
      case 'held':
      case 'conflict':
      case 'settled':
        return decision;
      case 'refused':
        // This acquire was not granted. An earlier one of the holder may have been, or its ticket may be.
        return failed(decision, terms.isInLine === true || this.#hasUnanswered(terms.holder));
      case 'unanswered':
        this.#noteUnanswered(protocol, terms, decision.isBounded);
        return failed(decision, true);
      case 'void':
        this.#giveBack(protocol, terms);
        return failed(decision, false);
    }
  }

  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const trace = this.#forget(terms.holder);
    // Asked before sending: an acquire that arrives behind this release is not undone by it.
    const isOpen = trace !== undefined && mayArrive(trace, this.#nowMs());
    const releasing = this.#decider.release(protocol, terms, timeoutMs, false);
    return releasing.then((result) => {
      if (result.is === 'failed') {
        const wasAsked = trace !== undefined || !this.#isVote;
        if (wasAsked) this.#releaseLater(protocol, terms, trace, leftOf(trace ?? NO_TRACE));
      } else if (isOpen) {
        // The hold is over. A vote that is granted behind this release keeps nobody out, so nobody is woken at its end.
        this.#releaseLater(protocol, quietIf(this.#isVote, terms), trace, trace.unanswered);
      }
      return result;
    });
  }

  abandon(protocol: Protocol, terms: ReleaseTerms, isGone = false): void {
    const trace = this.#forget(terms.holder);
    // A node that was never asked for this vote cannot have it.
    if (trace === undefined && this.#isVote) return;
    if (!isGone) this.#releaseLater(protocol, terms, trace, leftOf(trace ?? NO_TRACE));
    else if (trace !== undefined && mayArrive(trace, this.#nowMs()))
      this.#releaseLater(protocol, terms, trace, trace.unanswered);
  }

  /** The server has said that it does not have the holder: nothing is to be released, unless an acquire may arrive. */
  noteGone(holder: string): void {
    if (this.#wanted.get(holder) === NO_TRACE) this.#wanted.delete(holder);
  }

  /** Sends what is open once more and waits for that round, though not for longer than a call may take. */
  async flush(): Promise<void> {
    if (this.#open.size === 0) return;
    const round = async (): Promise<void> => {
      await Promise.all([...this.#first, this.#repeating]);
      if (this.#open.size > 0) await this.#repeat();
    };
    await within(this.#timers, round(), this.#options.callTimeoutMs, () => {});
  }

  /** Leaves everything to the leases on the server. */
  stop(): void {
    this.#isStopped = true;
    this.#open.clear();
    this.#wanted.clear();
    this.#timers.cancel(this.#deadline);
  }

  /** Records the holder as wanted. Returns the question to ask before its acquire is written again. */
  #want(holder: string): () => boolean {
    if (!this.#wanted.has(holder)) this.#wanted.set(holder, NO_TRACE);
    return () => this.#wanted.has(holder);
  }

  #hasUnanswered(holder: string): boolean {
    return (this.#wanted.get(holder)?.unanswered ?? 0) > 0;
  }

  #forget(holder: string): Trace | undefined {
    if (this.#wanted.size === 0) return undefined;
    const trace = this.#wanted.get(holder);
    this.#wanted.delete(holder);
    return trace;
  }

  #noteGrant(holder: string): void {
    const trace = this.#wanted.get(holder);
    if (trace !== undefined && trace.unanswered > 0) this.#wanted.set(holder, { ...trace, isGranted: true });
  }

  #noteUnanswered(protocol: Protocol, terms: HoldTerms, isBounded: boolean): void {
    const { holder, leaseMs, ticket } = terms;
    const known = this.#wanted.get(holder);
    const { callTimeoutMs } = this.#options;
    const longestMs = Math.max(known?.leaseMs ?? 0, leaseMs);
    const lastsMs = isBounded ? callTimeoutMs : Math.max(callTimeoutMs, longestMs);
    const counted = withUnanswered(known ?? NO_TRACE, leaseMs, this.#nowMs(), lastsMs);
    // A ticket may be granted at any time: that grant and each acquire without an answer are released separately.
    const trace = ticket === undefined ? counted : { ...counted, isGranted: true };
    // Given up while the acquire was under way: the release that was sent then may be ahead of the acquire.
    const isGivenUp = this.#isVote ? known === undefined : this.#open.has(holder);
    if (isGivenUp) this.#releaseLater(protocol, quietIf(this.#isVote, { holder, leaseMs }), trace, 1);
    else if (!this.#isStopped) this.#wanted.set(holder, trace);
  }

  /** Releases a grant that does not count (`void`): its caller is told that the acquire failed. */
  #giveBack(protocol: Protocol, { holder, leaseMs }: HoldTerms): void {
    const trace = this.#forget(holder);
    const left = (trace?.unanswered ?? 0) + 1;
    this.#releaseLater(protocol, quietIf(this.#isVote, { holder, leaseMs }), trace, left);
  }

  /** Releases in the background, until `left` acquires have been seen released or none can arrive any more. */
  #releaseLater(protocol: Protocol, terms: ReleaseTerms, trace: Trace = NO_TRACE, left: number): void {
    if (this.#isStopped) return;
    const startsByMs = this.#nowMs() + this.#options.callTimeoutMs;
    const late = lateRelease(protocol, terms, trace, left, startsByMs, this.#open.get(terms.holder));
    this.#open.set(terms.holder, late);
    if (this.#open.size > LATE_RELEASES_MAX) {
      const oldest = this.#open.values().next().value as LateRelease;
      this.#close(oldest, 'dropped');
    }
    // The first release goes out at once, whatever the others are waiting for: our own next caller may be behind it.
    const first = this.#release(late).then(() => {
      this.#first.delete(first);
      this.#repeatLater();
    });
    this.#first.add(first);
  }

  #repeat(): Promise<void> {
    this.#timers.cancel(this.#deadline);
    this.#repeating ??= this.#round().finally(() => {
      this.#repeating = null;
      this.#repeatLater();
    });
    return this.#repeating;
  }

  #repeatLater(): void {
    if (this.#open.size === 0 || this.#repeating !== null || this.#deadline.isSet) return;
    this.#timers.setIn(this.#deadline, this.#backoff.nextMs());
  }

  async #round(): Promise<void> {
    const queue = [...this.#open.values()];
    const workers = queue.splice(0, IN_FLIGHT_MAX).map(async (first) => {
      for (let late: LateRelease | undefined = first; late !== undefined; late = queue.shift()) {
        await this.#release(late);
      }
    });
    await Promise.all(workers);
  }

  async #release(late: LateRelease): Promise<void> {
    if (this.#open.get(late.terms.holder) !== late) return;
    const sentMs = this.#nowMs();
    if (sentMs >= late.expiresMs) return this.#close(late, 'expired');
    const { protocol, terms } = late;
    const result = await this.#decider.release(protocol, terms, this.#options.callTimeoutMs, true);
    if (result.is === 'failed') return;
    if (result.is === 'released') {
      late.outcome = 'released';
      late.left -= 1;
    }
    // An acquire may have come behind this release, or be on its way: only a release that is sent later proves it gone.
    if (late.left > 0 && sentMs < late.arrivesUntilMs) return;
    this.#backoff.reset();
    this.#close(late, late.outcome);
  }

  #nowMs(): number {
    return this.#timers.clock.monotonicMs();
  }

  #close(late: LateRelease, outcome: LateReleaseMessage['outcome']): void {
    // The holder may have been given up again meanwhile: then another record has replaced this one, and is still open.
    if (this.#open.get(late.terms.holder) !== late) return;
    this.#open.delete(late.terms.holder);
    // Undoing votes is part of every lost election, and nothing to tell of.
    if (late.terms.isQuiet !== true) telemetry.lateRelease(late.protocol, outcome);
  }
}

function quietIf(isQuiet: boolean, { holder, leaseMs }: ReleaseTerms): ReleaseTerms {
  return { holder, leaseMs, isQuiet };
}
