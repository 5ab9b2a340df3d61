/** All callers of a world. */
import { Caller, type WorkContext } from './workload.ts';
import type { Prng } from './world/prng.ts';
import type { SimulatedProcess } from './world/process.ts';

export class Callers {
  readonly #context: WorkContext;
  readonly #all: Caller[] = [];

  constructor(context: WorkContext) {
    this.#context = context;
  }

  /** Those whose process has not crashed. */
  get living(): readonly Caller[] {
    return this.#all.filter(({ process }) => process.isAlive);
  }

  /** The names that somebody waits for. */
  get awaited(): ReadonlySet<string> {
    return new Set(this.living.flatMap(({ waitsFor }) => waitsFor ?? []));
  }

  start(process: SimulatedProcess, count: number, prng: Prng): void {
    for (let i = 0; i < count; i += 1) {
      const caller = new Caller(process, i, this.#context, prng.fork());
      this.#all.push(caller);
      caller.work().catch((error: unknown) => {
        this.#context.judge.condemn('served', `${process.name} threw ${String(error)}`);
      });
    }
  }

  isWaiting(process: SimulatedProcess, name: string): boolean {
    return this.#all.some((caller) => caller.process === process && caller.waitsFor === name);
  }

  /** The callers of that process that wait for that name change their minds. */
  abort(process: SimulatedProcess, name: string): void {
    for (const caller of this.#all)
      if (caller.process === process && caller.waitsFor === name) caller.abort();
  }
}
