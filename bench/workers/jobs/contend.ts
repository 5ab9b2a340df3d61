/** Waiters that acquire one key again and again. Replies when the window ends; callers that still wait end later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Histogram } from '../../measure/histogram.ts';
import { sum } from '../../measure/statistics.ts';
import type { OpenParticipant } from '../../participants/participant.ts';
import { GuardedCounter } from './guarded-counter.ts';
import type { ContendPlan, ContendResult, Job } from './job.ts';

/** A pause after an acquisition that failed, so that a library that fails at once does not spin. */
const GAVE_UP_PAUSE_MS = 1;

interface Waiter {
  /** Acquisitions in the window. */
  share: number;
  /** When the present wait began; null while the waiter does not wait. */
  sinceMs: number | null;
}

class Contention {
  readonly waits = new Histogram();
  readonly waiters: Waiter[];
  acquisitionsInAll = 0;
  gaveUp = 0;
  isCounting = false;
  isOver = false;

  readonly #opened: OpenParticipant;
  readonly #plan: ContendPlan;
  readonly #counter: GuardedCounter | null;

  constructor(opened: OpenParticipant, plan: ContendPlan, counter: GuardedCounter | null) {
    this.#opened = opened;
    this.#plan = plan;
    this.#counter = counter;
    this.waiters = Array.from({ length: plan.waiters }, () => ({ share: 0, sinceMs: null }));
  }

  async run(waiter: Waiter): Promise<void> {
    while (!this.isOver) {
      try {
        await this.#acquireOnce(waiter);
      } catch {
        waiter.sinceMs = null;
        this.gaveUp += 1;
        await sleep(GAVE_UP_PAUSE_MS);
      }
    }
  }

  async #acquireOnce(waiter: Waiter): Promise<void> {
    waiter.sinceMs = performance.now();
    const release = await this.#opened.take(this.#plan.key);
    const waitedMs = performance.now() - waiter.sinceMs;
    waiter.sinceMs = null;
    if (!this.isOver) {
      this.acquisitionsInAll += 1;
      if (this.isCounting) {
        waiter.share += 1;
        this.waits.add(waitedMs);
      }
      if (this.#plan.sectionMs > 0) await sleep(this.#plan.sectionMs);
      if (this.#counter !== null) await this.#counter.increment();
    }
    await release();
  }

  /** Counts every wait that has not ended with the time it has lasted: otherwise starved waiters would not show. */
  addOpenWaits(): void {
    const nowMs = performance.now();
    for (const { sinceMs } of this.waiters) if (sinceMs !== null) this.waits.add(nowMs - sinceMs);
  }
}

export const contend: Job<'contend'> = async (opened, plan, onClose): Promise<ContendResult> => {
  if (opened.contend !== undefined) return opened.contend(plan);
  const counter = plan.counterPath === null ? null : new GuardedCounter(plan.counterPath);
  const cpuBefore = process.cpuUsage();
  const contention = new Contention(opened, plan, counter);
  const runs = Promise.all(contention.waiters.map((waiter) => contention.run(waiter)));
  onClose(async () => {
    contention.isOver = true;
    await runs;
    counter?.close();
  });
  await sleep(plan.warmMs);
  contention.isCounting = true;
  const startedMs = performance.now();
  await sleep(plan.windowMs);
  const windowMs = performance.now() - startedMs;
  contention.isCounting = false;
  contention.isOver = true;
  contention.addOpenWaits();
  const { user, system } = process.cpuUsage(cpuBefore);
  const shares = contention.waiters.map(({ share }) => share);
  return {
    acquisitions: sum(shares),
    acquisitionsInAll: contention.acquisitionsInAll,
    windowMs,
    cpuMsInAll: (user + system) / 1000,
    shares,
    waits: contention.waits.toData(),
    gaveUp: contention.gaveUp,
    violations: counter?.violations ?? 0,
  };
};
