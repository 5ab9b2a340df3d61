/** Processes of ours on one scripted server, in one thread, under one fake clock. */

import { Session } from '../../../src/locking/session.ts';
import { type LocksOptions, resolveLocksOptions } from '../../../src/options/options.ts';
import { Lock } from '../../../src/primitives/lock/lock.ts';
import { LockProtocol } from '../../../src/primitives/lock/protocol.ts';
import { Mutex } from '../../../src/primitives/mutex/mutex.ts';
import { MutexProtocol } from '../../../src/primitives/mutex/protocol.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { Deadline, TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { SingleTopology } from '../../../src/topologies/single.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { ScriptedClient } from './scripted-client.ts';
import { ScriptedServer } from './scripted-server.ts';

/** Random numbers that repeat: `fraction` is what the test says, everything else counts. */
export class CountedRandom implements Random {
  static #made = 0;
  readonly #fraction: () => number;

  constructor(fraction: () => number = () => 0.5) {
    this.#fraction = fraction;
  }

  uuid(): string {
    return `00000000-0000-8000-8000-${this.#next().padStart(12, '0')}`;
  }

  token(): string {
    return this.#next().padStart(32, '0');
  }

  fraction(): number {
    return this.#fraction();
  }

  #next(): string {
    CountedRandom.#made += 1;
    return CountedRandom.#made.toString(16);
  }
}

/** One process: its session and what it is made of, opened up. */
export class StageProcess {
  readonly client: ScriptedClient;
  readonly timers: TimerQueue;
  readonly topology: SingleTopology;
  readonly session: Session;

  constructor(clock: FakeClock, server: ScriptedServer, options: LocksOptions) {
    const resolved = resolveLocksOptions({ clock, random: new CountedRandom(), ...options });
    this.client = new ScriptedClient(clock, server);
    this.timers = new TimerQueue(clock);
    this.topology = new SingleTopology(this.client, this.timers, resolved);
    this.session = new Session({
      id: resolved.random.uuid(),
      topology: this.topology,
      timers: this.timers,
      options: resolved,
      record: null,
    });
  }

  /** Releases that are repeated in the background until they are proved. */
  get openReleases(): number {
    return this.topology.holders.size;
  }

  /** A while that this process lets pass, in the async context of its caller. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.timers.setIn(new Deadline(resolve, true), delayMs));
  }

  lock(name: string): Lock {
    return new Lock(this.session, this.lockProtocol(name));
  }

  mutex(name: string): Mutex {
    return new Mutex(this.session, new MutexProtocol(name, name));
  }

  lockProtocol(name: string): LockProtocol {
    return new LockProtocol(name, name, this.session.options.fenceTtlMs);
  }
}

export class Stage {
  readonly clock: FakeClock = new FakeClock();
  readonly server: ScriptedServer = new ScriptedServer(this.clock);

  process(options: LocksOptions = {}): StageProcess {
    return new StageProcess(this.clock, this.server, options);
  }

  /** A process that has heard from its server before, and so knows its clock. Nothing of that is on record. */
  async acquaintedProcess(options: LocksOptions = {}): Promise<StageProcess> {
    const process = this.process(options);
    await (await process.lock('first').acquire()).release();
    process.client.calls.length = 0;
    this.server.grants.length = 0;
    return process;
  }

  /** Runs the clock until the work is done, at most so long. Time stops at the moment it settles. */
  async until<Result>(work: Promise<Result>, limitMs = 60_000): Promise<Result> {
    const endMs = this.clock.monotonicMs() + limitMs;
    let isSettled = false;
    const settled = work.finally(() => (isSettled = true)).catch(() => {});
    await this.clock.settle();
    while (!isSettled) {
      const stepMs = this.clock.nextTimerMs;
      if (stepMs === undefined || this.clock.monotonicMs() + stepMs > endMs) {
        throw new Error(`nothing settled it within ${limitMs} ms`);
      }
      await this.clock.advance(stepMs);
    }
    await settled;
    return work;
  }
}
