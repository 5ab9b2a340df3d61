/** Things that happen to a process at the very moment at which the line makes it the owner. */
import type { Fault } from './fault-selection.ts';
import type { Prng } from './prng.ts';
import type { SimulatedProcess } from './process.ts';
import type { Timeline } from './timeline.ts';

/** Before the message arrives, when it does, and until the lease is extended. */
const CROSSING_MS_MAX = 30;
const FROZEN_MS: readonly number[] = [400, 1_000, 1_500, 3_000];
const CLOSES_MAX = 1;

export interface CrossedWorld {
  readonly timeline: Timeline;
  note(who: string, what: string): void;
  struck(): void;
  /** The callers of that process that wait for that name change their minds. */
  abortWaits(process: SimulatedProcess, name: string): void;
}

export class GrantCrossing {
  readonly #world: CrossedWorld;
  readonly #faults: ReadonlySet<Fault>;
  readonly #prng: Prng;
  #closes = 0;
  isOver = false;

  constructor(world: CrossedWorld, faults: ReadonlySet<Fault>, prng: Prng) {
    this.#world = world;
    this.#faults = faults;
    this.#prng = prng;
  }

  /** A ticket of that process has become the owner just now. */
  granted(process: SimulatedProcess, name: string): void {
    if (this.isOver) return;
    const prng = this.#prng;
    if (this.#faults.has('freeze at grant') && prng.chance(0.1))
      this.#soon(() => this.#freeze(process, prng.pick(FROZEN_MS)));
    if (this.#faults.has('abort at grant') && prng.chance(0.2))
      this.#soon(() => this.#world.abortWaits(process, name));
    if (this.#faults.has('close at grant') && this.#closes < CLOSES_MAX && prng.chance(0.05)) {
      this.#closes += 1;
      this.#soon(() => this.#close(process));
    }
  }

  #soon(run: () => void): void {
    const inMs = this.#prng.pick([0, 0.3, 0.6, 1, 5, 19, CROSSING_MS_MAX]) + this.#prng.fraction() / 8;
    this.#world.timeline.after(inMs, () => {
      if (this.isOver) return;
      this.#world.struck();
      run();
    });
  }

  #freeze({ name, machine }: SimulatedProcess, ms: number): void {
    if (machine.state !== 'running') return;
    this.#world.note(name, `freezes for ${ms} ms behind a grant`);
    machine.pause();
    this.#world.timeline.after(ms, () => machine.resume());
  }

  #close(process: SimulatedProcess): void {
    if (process.machine.state !== 'running' || process.hasLeft) return;
    this.#world.note(process.name, 'closes behind a grant');
    process.close(this.#prng.pick([1, 50, 600]));
  }
}
