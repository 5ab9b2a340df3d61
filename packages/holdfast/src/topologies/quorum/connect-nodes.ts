/** Connecting to several servers: which of them can be asked, and which are worth waiting for. */
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { within } from '../../runtime/timers.ts';
import type { Joining, NodeHealth } from './node-health.ts';

/** At a first use, once a majority is up, the other servers get this long to join: that costs one deadline, once. */
const JOIN_MS = 50;

export class NodeConnector {
  readonly #healths: readonly NodeHealth[];
  readonly #majority: number;
  readonly #timers: TimerQueue;
  /** Servers that have had their moment to join. */
  readonly #awaited = new WeakSet<Joining>();
  #hasAnswered = false;

  constructor(healths: readonly NodeHealth[], majority: number, timers: TimerQueue) {
    this.#healths = healths;
    this.#majority = majority;
    this.#timers = timers;
  }

  /** Whether a majority has ever been up. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /**
   * Whether there is no server to wait for, as nearly always, whichever are down: nothing is built to find that out.
   * Servers that are down are asked again on the way.
   */
  isDone(): boolean {
    let up = 0;
    for (const health of this.#healths) {
      const joining = health.join(false);
      if (health.isUp) up += 1;
      else if (joining !== null && this.#isFresh(joining)) return false;
    }
    return this.#hasAnswered && up >= this.#majority;
  }

  /**
   * Lets servers come up that nobody has asked yet, or whose connection was lost. Servers that are down are asked again
   * too, but are waited for only when there is no majority without them, and not for long.
   */
  async connect(timeoutMs: number): Promise<void> {
    const isNeeded = !this.#isEnough;
    const joining = this.#healths.flatMap((health) => health.join(isNeeded) ?? []);
    const fresh = joining.filter((server) => this.#isFresh(server));
    const momentMs = Math.min(JOIN_MS, timeoutMs);
    if (joining.length > 0 && isNeeded) {
      const isFirst = joining.some(({ failure }) => failure === null);
      await within(this.#timers, this.#enough(joining), isFirst ? timeoutMs : momentMs, () => {});
    }
    if (this.#isEnough) this.#hasAnswered = true;
    if (fresh.length === 0 || !this.#isEnough) return;
    const joined = Promise.all(fresh.map((one) => one.joined));
    await within(this.#timers, joined, momentMs, () => {});
    for (const server of fresh) this.#awaited.add(server);
  }

  /** Whether nobody has asked the server yet, or its connection was lost; and it has not had its moment. */
  #isFresh(joining: Joining): boolean {
    return joining.failure === null && !this.#awaited.has(joining);
  }

  get #isEnough(): boolean {
    return this.#healths.filter(({ isUp }) => isUp).length >= this.#majority;
  }

  /** Resolves when a majority is up, or when no server is left to hope for. */
  async #enough(joining: readonly Joining[]): Promise<void> {
    const all = Promise.all(joining.map(({ joined }) => joined));
    const enough = new Promise<void>((resolve) => {
      for (const { joined } of joining) void joined.then(() => this.#isEnough && resolve());
    });
    await Promise.race([all, enough]);
  }
}
