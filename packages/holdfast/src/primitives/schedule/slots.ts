/** The moments at which a job is due. A slot is an instant, so that every replica computes the same, whatever its clock says. */
import { LockConfigError } from '../../errors.ts';
import { checkFits, type ResolvedSchedule, type ResolvedSlots } from '../../options/schedule-options.ts';
import { describe } from '../../runtime/describe.ts';
import { type CronPattern, loadCroner } from './croner.ts';

export interface Slots {
  /** The schedule in words: replicas of one job should agree on it. */
  readonly spec: string;
  /** The newest slot that is not after that moment; null: there is none. */
  newestAt(ms: number): number | null;
  /** The first slot after that moment; null: there is none. */
  after(ms: number): number | null;
}

/** A slot that starts later than this is of no use to most jobs. */
const LATE_MS_DEFAULT = 60_000;

/** How far to look back for the newest slot, shortest first, so that a pattern of seconds is not walked through for a year. */
const LOOK_BACK_MS: readonly number[] = [
  60_000,
  3_600_000,
  86_400_000,
  8 * 86_400_000,
  32 * 86_400_000,
].concat([1, 4, 12].map((years) => years * 366 * 86_400_000));

/** Gaps of a pattern that are compared with `atLeastMs`. */
const GAPS_MAX = 100;

/** Throws when the slots do not go with the rest of the options, or never come. */
export function slotsOf(schedule: Pick<ResolvedSchedule, 'slots' | 'atLeastMs' | 'lateMs'>): Slots {
  const { slots } = schedule;
  if ('everyMs' in slots) return new EverySlots(slots);
  const pattern = new CronSlots(slots);
  if (schedule.atLeastMs > 0) checkFits(schedule, pattern.shortestGapMs());
  return pattern;
}

/** How long after its time a slot may start. */
export function lateMsOf(lateMs: number | null, slotMs: number, nextMs: number | null): number {
  if (lateMs !== null) return lateMs;
  return nextMs === null ? LATE_MS_DEFAULT : Math.min(LATE_MS_DEFAULT, Math.floor((nextMs - slotMs) / 2));
}

class EverySlots implements Slots {
  readonly spec: string;
  readonly #everyMs: number;
  readonly #offsetMs: number;

  constructor({ everyMs, offsetMs }: Extract<ResolvedSlots, { everyMs: number }>) {
    this.spec = `every ${everyMs} ms + ${offsetMs}`;
    this.#everyMs = everyMs;
    this.#offsetMs = offsetMs;
  }

  newestAt(ms: number): number {
    return Math.floor((ms - this.#offsetMs) / this.#everyMs) * this.#everyMs + this.#offsetMs;
  }

  after(ms: number): number {
    return this.newestAt(ms) + this.#everyMs;
  }
}

class CronSlots implements Slots {
  readonly spec: string;
  readonly #pattern: CronPattern;
  /** The last answer: slots are asked for in order, and a walk costs time. */
  #known: { readonly slotMs: number; readonly nextMs: number } | null = null;

  constructor({ cron, timeZone }: Extract<ResolvedSlots, { cron: string }>) {
    this.spec = `cron ${cron} ${timeZone}`;
    const { Cron } = loadCroner();
    try {
      this.#pattern = new Cron(cron, { timezone: timeZone });
      // Throws for a time zone that is none.
      if (this.#pattern.nextRun(new Date(0)) !== null) return;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const expected = 'a cron pattern and a time zone that croner understands';
      throw new LockConfigError(
        `expected ${expected}, got ${describe(cron)} in ${describe(timeZone)} (${why})`,
        {
          cause: error,
        },
      );
    }
    throw new LockConfigError(`expected a cron pattern that matches some day, got ${describe(cron)}`);
  }

  newestAt(ms: number): number | null {
    const known = this.#known;
    if (known !== null && ms >= known.slotMs && ms < known.nextMs) return known.slotMs;
    for (const backMs of LOOK_BACK_MS) {
      let slotMs = this.after(Math.max(0, ms - backMs - 1));
      if (slotMs === null) return null;
      if (slotMs > ms) continue;
      for (let nextMs = this.after(slotMs); ; nextMs = this.after(slotMs)) {
        if (nextMs === null || nextMs > ms) {
          this.#known = { slotMs, nextMs: nextMs ?? Number.POSITIVE_INFINITY };
          return slotMs;
        }
        slotMs = nextMs;
      }
    }
    return null;
  }

  after(ms: number): number | null {
    return this.#pattern.nextRun(new Date(ms))?.getTime() ?? null;
  }

  /** Found from the first gaps after 1970, because patterns repeat. */
  shortestGapMs(): number {
    let shortestMs = Number.POSITIVE_INFINITY;
    let slotMs = this.after(0);
    for (let i = 0; i < GAPS_MAX && slotMs !== null; i += 1) {
      const nextMs = this.after(slotMs);
      if (nextMs !== null) shortestMs = Math.min(shortestMs, nextMs - slotMs);
      slotMs = nextMs;
    }
    return shortestMs;
  }
}
