/** Waiters that take one key again and again. Answers when the window is over; those who still wait come after. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant } from '../contestant.ts';
import { Histogram } from '../histogram.ts';
import { sum } from '../statistics.ts';
import { Guard } from './guard.ts';
import type { ContendPlan, ContendResult, Job } from './job.ts';

/** A library that gives up at once must not spin. */
const GAVE_UP_PAUSE_MS = 1;

interface Waiter {
  share: number;
  /** When the wait began that it is in, if it is in one. */
  sinceMs: number | null;
}

class Contest {
  readonly waits = new Histogram();
  readonly waiters: Waiter[];
  acquisitionsInAll = 0;
  gaveUp = 0;
  isCounting = false;
  isOver = false;

  readonly #contestant: Contestant;
  readonly #plan: ContendPlan;
  readonly #guard: Guard | null;

  constructor(contestant: Contestant, plan: ContendPlan, guard: Guard | null) {
    this.#contestant = contestant;
    this.#plan = plan;
    this.#guard = guard;
    this.waiters = Array.from({ length: plan.waiters }, () => ({ share: 0, sinceMs: null }));
  }

  async run(waiter: Waiter): Promise<void> {
    while (!this.isOver) {
      try {
        await this.#turn(waiter);
      } catch {
        waiter.sinceMs = null;
        this.gaveUp += 1;
        await sleep(GAVE_UP_PAUSE_MS);
      }
    }
  }

  async #turn(waiter: Waiter): Promise<void> {
    waiter.sinceMs = performance.now();
    const release = await this.#contestant.take(this.#plan.key);
    const waitedMs = performance.now() - waiter.sinceMs;
    waiter.sinceMs = null;
    if (!this.isOver) {
      this.acquisitionsInAll += 1;
      if (this.isCounting) {
        waiter.share += 1;
        this.waits.add(waitedMs);
      }
      if (this.#plan.sectionMs > 0) await sleep(this.#plan.sectionMs);
      if (this.#guard !== null) await this.#guard.section();
    }
    await release();
  }

  /** Who still waits has waited at least so long: without this the starved would not show. */
  addOpenWaits(): void {
    const nowMs = performance.now();
    for (const { sinceMs } of this.waiters) if (sinceMs !== null) this.waits.add(nowMs - sinceMs);
  }
}

export const contend: Job<'contend'> = async (contestant, plan, leave): Promise<ContendResult> => {
  const guard = plan.counterPath === null ? null : new Guard(plan.counterPath);
  const contest = new Contest(contestant, plan, guard);
  const runs = Promise.all(contest.waiters.map((waiter) => contest.run(waiter)));
  leave({
    async end() {
      contest.isOver = true;
      await runs;
      guard?.close();
    },
  });
  await sleep(plan.warmMs);
  contest.isCounting = true;
  const startedMs = performance.now();
  await sleep(plan.windowMs);
  const windowMs = performance.now() - startedMs;
  contest.isCounting = false;
  contest.isOver = true;
  contest.addOpenWaits();
  const shares = contest.waiters.map(({ share }) => share);
  return {
    acquisitions: sum(shares),
    acquisitionsInAll: contest.acquisitionsInAll,
    windowMs,
    shares,
    waits: contest.waits.toData(),
    gaveUp: contest.gaveUp,
    violations: guard?.violations ?? 0,
  };
};
