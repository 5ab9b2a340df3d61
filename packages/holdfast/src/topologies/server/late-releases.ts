/**
 * Releases that could not be confirmed: acquires that may have happened after their caller gave up, releases
 * without an answer, holds whose time ran out while a renewal was under way. Each is sent again until the server
 * answers, or until the lease has certainly run out there.
 *
 * Nothing of this keeps the process alive but a call that is under way: the lease on the server is the last resort.
 */

import { Backoff } from '../../runtime/backoff.ts';
import { driftMs } from '../../runtime/instant.ts';
import type { Random } from '../../runtime/random.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { telemetry } from '../../telemetry/channels.ts';
import {
  type CleanUp,
  NO_STRAYS,
  type Protocol,
  type ReleaseResult,
  type ReleaseTerms,
  type Strays,
} from '../old-topology.ts';

/** An outage with more open releases than this leaves the oldest to their leases. */
export const LATE_RELEASES_MAX = 4_096;

/** How many are sent at once, so that a server that comes back is not greeted by a storm. */
const IN_FLIGHT_MAX = 16;

interface LateRelease {
  readonly protocol: Protocol;
  readonly terms: ReleaseTerms;
  /** When the server has certainly let it go, by our monotonic clock. */
  readonly untilMs: number;
  strays: Strays;
  /** What the best answer so far was. */
  outcome: 'released' | 'gone';
}

/** Where they are released: one server. */
export interface ReleaseServer {
  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult>;
}

export interface LateReleasesOptions {
  readonly callTimeoutMs: number;
  readonly random: Random;
}

export class LateReleases implements CleanUp {
  readonly #timers: TimerQueue;
  readonly #server: ReleaseServer;
  readonly #options: LateReleasesOptions;
  readonly #backoff: Backoff;
  readonly #open = new Map<string, LateRelease>();
  readonly #deadline = new Deadline(() => void this.#send(), false);
  readonly #first = new Set<Promise<void>>();
  #sending: Promise<void> | null = null;
  #isStopped = false;

  constructor(timers: TimerQueue, server: ReleaseServer, options: LateReleasesOptions) {
    this.#timers = timers;
    this.#server = server;
    this.#options = options;
    this.#backoff = new Backoff(options.random);
  }

  get size(): number {
    return this.#open.size;
  }

  add(protocol: Protocol, terms: ReleaseTerms, given: Strays = NO_STRAYS): void {
    if (this.#isStopped) return;
    // Told twice of one holder: what is known of its unanswered requests is not forgotten.
    const known = this.#open.get(terms.holder)?.strays ?? NO_STRAYS;
    const strays = known.untilMs > given.untilMs ? known : given;
    // That request is refused by the server once the call has timed out, so the lease starts by then at the latest.
    const longestMs = Math.max(terms.leaseMs, strays.leaseMs);
    const untilMs =
      this.#timers.clock.monotonicMs() + this.#options.callTimeoutMs + longestMs + driftMs(longestMs);
    const late: LateRelease = { protocol, terms, untilMs, strays, outcome: 'gone' };
    this.#open.set(terms.holder, late);
    if (this.#open.size > LATE_RELEASES_MAX) {
      const oldest = this.#open.values().next().value as LateRelease;
      this.#close(oldest, 'dropped');
    }
    // Its first release goes out at once, whatever the others are waiting for: our own next caller may be behind it.
    const first = this.#release(late).then(() => {
      this.#first.delete(first);
      this.#sendLater();
    });
    this.#first.add(first);
  }

  async flush(): Promise<void> {
    if (this.#open.size === 0) return;
    let deadline: Deadline | undefined;
    const limit = new Promise<void>((resolve) => {
      deadline = new Deadline(resolve, true);
      this.#timers.setIn(deadline, this.#options.callTimeoutMs);
    });
    const round = async (): Promise<void> => {
      await Promise.all([...this.#first, this.#sending]);
      if (this.#open.size > 0) await this.#send();
    };
    await Promise.race([round(), limit]);
    if (deadline !== undefined) this.#timers.cancel(deadline);
  }

  stop(): void {
    this.#isStopped = true;
    this.#open.clear();
    this.#timers.cancel(this.#deadline);
  }

  #send(): Promise<void> {
    this.#timers.cancel(this.#deadline);
    this.#sending ??= this.#round().finally(() => {
      this.#sending = null;
      this.#sendLater();
    });
    return this.#sending;
  }

  #sendLater(): void {
    if (this.#open.size === 0 || this.#sending !== null || this.#deadline.isSet) return;
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
    const sentMs = this.#timers.clock.monotonicMs();
    if (sentMs >= late.untilMs) return this.#close(late, 'expired');
    const { callTimeoutMs } = this.#options;
    const result = await this.#server.release(late.protocol, late.terms, callTimeoutMs);
    if (result.is === 'failed') return;
    const { count, untilMs } = late.strays;
    const left = result.is === 'released' ? count - 1 : count;
    late.strays = { ...late.strays, count: left };
    if (result.is === 'released') late.outcome = 'released';
    // One may have come behind this release, or be on its way still: only a release sent later proves it gone.
    if (left > 0 && sentMs < untilMs) return;
    this.#backoff.reset();
    this.#close(late, late.outcome);
  }

  #close(late: LateRelease, outcome: 'released' | 'gone' | 'expired' | 'dropped'): void {
    // The holder may have been added anew while this release was on its way: that one knows of more.
    if (this.#open.get(late.terms.holder) !== late) return;
    this.#open.delete(late.terms.holder);
    // A quiet one undoes a vote, which is part of every lost election.
    if (late.terms.isQuiet !== true) telemetry.lateRelease(late.protocol, outcome);
  }
}
