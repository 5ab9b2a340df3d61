/** The roll-call of several servers: who can be asked, and whom it is worth waiting for. */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { Joining, NodeStanding } from './node-health.ts';

/** At a first use, once a majority is there, the others get this long to join: it costs one deadline, once. */
const MUSTER_MS = 50;

export class Muster {
  readonly #standings: readonly NodeStanding[];
  readonly #majority: number;
  readonly #timers: TimerQueue;
  /** Those that have had their moment to join. */
  readonly #awaited = new WeakSet<Joining>();
  #hasAnswered = false;

  constructor(standings: readonly NodeStanding[], majority: number, timers: TimerQueue) {
    this.#standings = standings;
    this.#majority = majority;
    this.#timers = timers;
  }

  /** Whether a majority has ever been up. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /**
   * Whether there is nobody to wait for, as nearly always, and whoever is down: nothing is built to find that out.
   * Those that are down are asked again on the way.
   */
  isOver(): boolean {
    let up = 0;
    for (const standing of this.#standings) {
      const joining = standing.muster(false);
      if (standing.isUp) up += 1;
      else if (joining !== null && this.#isFresh(joining)) return false;
    }
    return this.#hasAnswered && up >= this.#majority;
  }

  /**
   * Lets those come up that nobody has asked yet, or whose connection was lost. Those that are down are asked again
   * too, but are waited for only when there is no majority without them, and not for long.
   */
  async call(timeoutMs: number): Promise<void> {
    const isNeeded = !this.#isEnough;
    const joining = this.#standings.flatMap((standing) => standing.muster(isNeeded) ?? []);
    const fresh = joining.filter((one) => this.#isFresh(one));
    const momentMs = Math.min(MUSTER_MS, timeoutMs);
    if (joining.length > 0 && isNeeded) {
      const isFirst = joining.some(({ failure }) => failure === null);
      await this.#within(this.#enough(joining), isFirst ? timeoutMs : momentMs);
    }
    if (this.#isEnough) this.#hasAnswered = true;
    if (fresh.length === 0 || !this.#isEnough) return;
    await this.#within(Promise.all(fresh.map(({ joined }) => joined)), momentMs);
    for (const one of fresh) this.#awaited.add(one);
  }

  /** Nobody has asked it yet, or its connection was lost; and it has not had its moment. */
  #isFresh(joining: Joining): boolean {
    return joining.failure === null && !this.#awaited.has(joining);
  }

  get #isEnough(): boolean {
    return this.#standings.filter(({ isUp }) => isUp).length >= this.#majority;
  }

  /** Resolves when a majority is up, or when nobody is left to hope for. */
  async #enough(joining: readonly Joining[]): Promise<void> {
    const all = Promise.all(joining.map(({ joined }) => joined));
    const enough = new Promise<void>((resolve) => {
      for (const { joined } of joining) void joined.then(() => this.#isEnough && resolve());
    });
    await Promise.race([all, enough]);
  }

  /** Waits for that, though not for longer than this. */
  async #within(waiting: Promise<unknown>, limitMs: number): Promise<void> {
    const deadline = new Deadline(() => end(), true);
    let end = (): void => {};
    const limit = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#timers.setIn(deadline, limitMs);
    await Promise.race([waiting, limit]);
    this.#timers.cancel(deadline);
  }
}
