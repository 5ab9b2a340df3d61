/** One embedded node and any number of replicas on a clock that a test moves. */
import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { onTestFinished } from 'vitest';
import { Locks } from '../../../src/locks.ts';
import type { LocksOptions } from '../../../src/options/options.ts';
import type { Clock } from '../../../src/runtime/clock.ts';

/** A whole hour, so that slots are easy to read. */
export const START_MS: number = Date.UTC(2030, 0, 1);

/** The world's time, seen by a clock on the wall that is wrong by `offsetMs`. */
export class SkewedClock implements Clock {
  readonly #clock: ManualClock;
  offsetMs: number;

  constructor(clock: ManualClock, offsetMs: number) {
    this.#clock = clock;
    this.offsetMs = offsetMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.offsetMs;
  }

  startTimer(delayMs: number, fire: () => void): ReturnType<Clock['startTimer']> {
    return this.#clock.startTimer(delayMs, fire);
  }
}

export class World {
  readonly clock: ManualClock = new ManualClock(START_MS);
  /** The server's own clock: `offsetMs` steps it. */
  readonly serverClock: SkewedClock = new SkewedClock(this.clock, 0);
  readonly node: EmbeddedNode = new EmbeddedNode({ clock: this.serverClock });

  /** The Lua of the node is loaded in real time: nothing may wait for it on the clock of the test. */
  static async open(): Promise<World> {
    const world = new World();
    await world.node.command('PING');
    return world;
  }

  /** A process. Its clock on the wall is wrong by `skewMs`. */
  replica(options: LocksOptions & { skewMs?: number } = {}): Locks {
    const { skewMs = 0, ...rest } = options;
    const locks = new Locks(this.node.client(), {
      application: false,
      clock: new SkewedClock(this.clock, skewMs),
      ...rest,
    });
    onTestFinished(() => locks.destroy());
    return locks;
  }

  get serverMs(): number {
    return this.serverClock.wallMs();
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Lets time pass until the promise has settled. */
  async until<Result>(promise: Promise<Result>, limitMs = 600_000): Promise<Result> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    for (let passedMs = 0; !isSettled && passedMs < limitMs; passedMs += 50) await this.advance(50);
    if (!isSettled) throw new Error(`nothing settled within ${limitMs} ms`);
    return promise;
  }
}
