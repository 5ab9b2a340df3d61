/**
 * Judges how holds ended that one lane misses. A look says that a hold is gone; INFO and the audit trail, asked after that look,
 * say whether the server or an operator took it. At most one such question a second, for all that ended meanwhile.
 */

import { repeat } from '../pace.ts';
import type { ServerWatch } from '../servers/server-watch.ts';
import { judge, type Verdict } from './inference.ts';
import type { Gone } from './known-names.ts';

const SETTLE_EVERY_MS = 1_000;
/** How many ends wait for a judgement at most. Beyond it the oldest count as unknown: their server has not answered for long. */
const PENDING_MAX = 10_000;
/** How long an end waits for a judgement at most: after that nothing can be said of it. */
const PENDING_MS_MAX = 60_000;

/** How the looks at one server bound the end of a hold. Times are of that server's clock. */
export interface SeenEnd {
  readonly name: string;
  readonly holder: string;
  readonly server: string;
  readonly seenMs: number;
  readonly goneMs: number;
}

export interface SettlerTerms {
  readonly now: () => number;
  /** Reads what the audit trail has new; never rejects. */
  readonly readAudit: () => Promise<void>;
  /** Whether an operator took it, by the trail. Asked once for each end. */
  readonly takeForced: (end: SeenEnd) => boolean;
  readonly settled: (gone: Gone, verdict: Verdict) => void;
}

export class Settler {
  readonly #watch: ServerWatch;
  readonly #terms: SettlerTerms;
  readonly #stop = new AbortController();
  #pending: Gone[] = [];

  constructor(watch: ServerWatch, terms: SettlerTerms) {
    this.#watch = watch;
    this.#terms = terms;
  }

  start(): void {
    void repeat(
      () => SETTLE_EVERY_MS,
      () => this.settle(),
      this.#stop.signal,
    );
  }

  close(): void {
    this.#stop.abort();
  }

  add(gone: Gone): void {
    this.#pending.push(gone);
    if (this.#pending.length <= PENDING_MAX) return;
    const oldest = this.#pending.shift();
    if (oldest !== undefined) this.#terms.settled(oldest, { end: 'unknown', sure: 'likely', cause: null });
  }

  async settle(): Promise<void> {
    if (this.#pending.length === 0) return;
    await this.#watch.askInfo();
    await this.#terms.readAudit();
    const { now, takeForced, settled } = this.#terms;
    const { factsAt, forbidden } = this.#watch;
    const rest: Gone[] = [];
    for (const gone of this.#pending) {
      const isTold = factsAt !== null && factsAt >= gone.goneAt;
      if (isTold || forbidden.has('info')) {
        const disturbance = this.#watch.disturbanceSince(gone.seenAt);
        const { hold, goneMs } = gone;
        const { name, holder, seenMs } = hold;
        const forced = takeForced({ name, holder, server: this.#watch.id, seenMs, goneMs });
        settled(gone, judge({ ...hold.ending(goneMs), disturbance, forced }));
      } else if (now() - gone.goneAt > PENDING_MS_MAX) {
        settled(gone, { end: 'unknown', sure: 'likely', cause: null });
      } else rest.push(gone);
    }
    this.#pending = rest;
  }
}
