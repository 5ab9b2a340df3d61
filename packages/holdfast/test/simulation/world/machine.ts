/**
 * The computer that a client process runs on: clocks of its own, and an event loop that can stand still.
 *
 * - `running`: timers fire and messages are taken at their time. Out: `paused`, `suspended`, `dead`.
 * - `paused`: the process stands still and time goes on; afterwards everything comes at once, late. Out: `running`, `dead`.
 * - `suspended`: the machine sleeps, and its monotonic clock with it; the wall clock goes on. Out: `running`, `dead`.
 * - `dead`: nothing happens any more. Final.
 */
import type { Clock, Timer } from '../../../src/index.ts';
import type { Prng } from './prng.ts';
import type { Timeline } from './timeline.ts';

export type MachineState = 'running' | 'paused' | 'suspended' | 'dead';

class MachineTimer implements Timer {
  readonly dueMs: number;
  readonly fire: () => void;
  readonly #timers: Set<MachineTimer>;

  constructor(dueMs: number, fire: () => void, timers: Set<MachineTimer>) {
    this.dueMs = dueMs;
    this.fire = fire;
    this.#timers = timers;
    timers.add(this);
  }

  cancel(): void {
    this.#timers.delete(this);
  }

  ref(): void {}

  unref(): void {}
}

export interface MachineOptions {
  /** How fast its clocks run against true time. */
  readonly rate: number;
  /** What its wall clock shows at the beginning. */
  readonly wallMs: number;
}

export class Machine implements Clock {
  readonly #timeline: Timeline;
  readonly #prng: Prng;
  readonly #rate: number;
  readonly #timers = new Set<MachineTimer>();
  readonly #inbox: (() => void)[] = [];
  #wallOffsetMs: number;
  #asleepMs = 0;
  #asleepSinceMs = 0;
  #wokenMs = 0;
  #upsetMs = Number.NEGATIVE_INFINITY;
  #state: MachineState = 'running';

  constructor(timeline: Timeline, prng: Prng, { rate, wallMs }: MachineOptions) {
    this.#timeline = timeline;
    this.#prng = prng;
    this.#rate = rate;
    this.#wallOffsetMs = wallMs;
  }

  get state(): MachineState {
    return this.#state;
  }

  /** Since when it runs without a break, by its own monotonic clock. */
  get wokenMs(): number {
    return this.#wokenMs;
  }

  /** When its clocks last parted, by the monotonic one: it slept, or somebody set the other. */
  get upsetMs(): number {
    return this.#upsetMs;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  monotonicMs(): number {
    const nowMs = this.#state === 'suspended' ? this.#asleepSinceMs : this.#timeline.nowMs;
    return 1_000 + (nowMs - this.#asleepMs) * this.#rate;
  }

  wallMs(): number {
    return this.#wallOffsetMs + this.#timeline.nowMs * this.#rate;
  }

  /** Somebody sets its wall clock. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
    this.#upsetMs = this.monotonicMs();
  }

  startTimer(delayMs: number, fire: () => void): Timer {
    const timer = new MachineTimer(this.monotonicMs() + delayMs, fire, this.#timers);
    this.#arm(timer);
    return timer;
  }

  /** Runs it in this process: now, or when it goes on, or never. */
  perform(run: () => void): void {
    if (this.#state === 'running') run();
    else if (this.#state !== 'dead') this.#inbox.push(run);
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused';
  }

  suspend(): void {
    if (this.#state !== 'running') return;
    this.#asleepSinceMs = this.#timeline.nowMs;
    this.#state = 'suspended';
  }

  /** Goes on. What came meanwhile is taken now, timers and messages in one order or the other. */
  resume(): void {
    if (this.#state === 'dead' || this.#state === 'running') return;
    const hasSlept = this.#state === 'suspended';
    if (hasSlept) this.#asleepMs += this.#timeline.nowMs - this.#asleepSinceMs;
    this.#state = 'running';
    if (hasSlept) this.#upsetMs = this.monotonicMs();
    this.#wokenMs = this.monotonicMs();
    const messages = this.#inbox.splice(0);
    const takeMessages = (): void => {
      for (const run of messages) this.#timeline.after(0, () => this.perform(run));
    };
    const armTimers = (): void => {
      for (const timer of [...this.#timers].sort((a, b) => a.dueMs - b.dueMs)) this.#arm(timer);
    };
    const steps = this.#prng.chance(0.5) ? [takeMessages, armTimers] : [armTimers, takeMessages];
    for (const step of steps) step();
  }

  die(): void {
    this.#state = 'dead';
    this.#inbox.length = 0;
  }

  #arm(timer: MachineTimer): void {
    const waitMs = Math.max(0, (timer.dueMs - this.monotonicMs()) / this.#rate);
    this.#timeline.after(waitMs, () => {
      if (this.#state !== 'running' || !this.#timers.has(timer)) return;
      // It was armed before the machine slept, and is armed again since.
      if (timer.dueMs - this.monotonicMs() > 0.001) return;
      timer.cancel();
      timer.fire();
    });
  }
}
