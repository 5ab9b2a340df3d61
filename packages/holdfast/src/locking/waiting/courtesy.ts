/**
 * Where there is no line of waiters (a quorum), the first to ask after a release gets the lock. Processes near the servers hear of
 * each release first, and two of them can pass a lock to each other for ever. So now and then all of them let chance decide: whoever
 * asks again after a release waits for a random while, and sometimes a process that is far away comes first.
 *
 * All must do so after the same release, and nothing in a message says which. The servers' time does, which all know: it is the first
 * release of each period. Whoever takes part knows when the time before that release began: the owner was granted the lock then,
 * and the others were refused.
 */
import type { Random } from '../../runtime/random.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { Topology } from '../../topologies/topology.ts';
import { InterruptibleSleep } from './interruptible-sleep.ts';

export interface CourtesyServices {
  readonly timers: TimerQueue;
  readonly topology: Topology;
  readonly options: { readonly random: Random };
}

/** One release in so long: with short pauses that few processes share, 3 % of the time is lost. */
const PERIOD_MS = 2_000;

/** The longest pause, in turn: a short one for a process that is not far away, a long one among many that are near. */
const PAUSES_MS_MAX: readonly number[] = [50, 100, 200, 400];

/** The time as a quorum has it is not known before servers have answered; where there is a line nobody asks for it. */
function periodAt(topology: Topology, monotonicMs: number): number {
  return Math.floor((topology.serverTimeMs?.(monotonicMs) ?? 0) / PERIOD_MS);
}

/** Lets others ask first. No message ends such a pause, not even that of our own release; `stop` does. */
export class CourtesyPause {
  readonly #sleep: InterruptibleSleep;

  constructor(timers: TimerQueue) {
    this.#sleep = new InterruptibleSleep(timers);
  }

  /** Not where the caller to be asked for has only `leftMs` to wait: then it would not ask at all. */
  async pause(pauseMs: number, leftMs: number): Promise<void> {
    if (pauseMs > 0 && pauseMs < leftMs) await this.#sleep.sleep(pauseMs);
  }

  stop(): void {
    this.#sleep.stop();
  }
}

/** How long to let others ask first, after a release that ends what began at that monotonic time. */
export function courtesyMs({ topology, timers, options }: CourtesyServices, sinceMs: number): number {
  const period = periodAt(topology, timers.clock.monotonicMs());
  if (period === 0 || periodAt(topology, sinceMs) === period) return 0;
  return options.random.fraction() * (PAUSES_MS_MAX[period % PAUSES_MS_MAX.length] ?? 0);
}
