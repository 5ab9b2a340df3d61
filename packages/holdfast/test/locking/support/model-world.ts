/**
 * Plays one random history on the shipped client code under a fake clock, and looks after every event whether
 * what was promised is still true. The server is the scripted one: this is a test of the client code alone.
 */

import { LockAbortedError, LockError } from '../../../src/errors.ts';
import type { FencedLease } from '../../../src/locking/lease.ts';
import type { History, Luck, Name, Step } from './histories.ts';
import { NAMES, PROCESSES } from './histories.ts';
import { orderedConnection } from './ordered-connection.ts';
import { CountedRandom, Stage, type StageProcess } from './stage.ts';

const CALL_TIMEOUT_MS = 400;

/** How long after waking up a machine that slept may take to look at its clocks. */
const WAKING_MS = 1_001;

/** What is on its way arrives within three seconds; then come a call's limit, a back-off and one more call. */
const ORPHAN_MS = 6_000;

interface Held {
  readonly lease: FencedLease;
  readonly who: number;
  readonly name: Name;
  /** Those who entered again under one owner are no strangers to each other. */
  readonly root: FencedLease;
  readonly signal: AbortSignal;
  isReleased: boolean;
  /** When it ends unless it is renewed, as it said last. */
  untilMs: number;
}

interface Wait {
  readonly controller: AbortController;
  isOver: boolean;
}

export class ModelWorld {
  readonly #stage = new Stage();
  readonly #processes: StageProcess[];
  readonly #history: History;
  readonly #held: Held[] = [];
  readonly #waits: Wait[] = [];
  readonly #meddled = new Set<Name>();
  readonly #lastFence = new Map<Name, number>();
  readonly #background: Promise<unknown>[] = [];
  readonly #luck: () => Luck;
  #wokenMs = 0;
  #isEnding = false;

  constructor(history: History) {
    this.#history = history;
    let calls = 0;
    this.#luck = () => history.luck[calls++ % history.luck.length] as Luck;
    let drawn = 0;
    const random = new CountedRandom(() => {
      drawn = (drawn * 16_807 + 11) % 2_147_483_647;
      return drawn / 2_147_483_647;
    });
    const { handovers, handoverMs } = history;
    const options = { random, handovers, handoverMs, callTimeoutMs: CALL_TIMEOUT_MS, outageMs: 3_000 };
    this.#processes = Array.from({ length: PROCESSES }, () => this.#stage.process(options));
  }

  async play(): Promise<void> {
    for (const process of this.#processes) {
      // From its first answer on a process knows the server's clock, and leaves no orphans.
      await (await process.lock('first').acquire()).release();
      process.client.decide = orderedConnection(this.#stage.clock, this.#luck);
    }
    for (const step of this.#history.steps) {
      await this.#take(step);
      this.#look();
    }
    await this.#end();
  }

  get #nowMs(): number {
    return this.#stage.clock.monotonicMs();
  }

  /** One of the leases that are held, or now and then one that is lost and that its owner has not given back yet. */
  #choose(at: number): Held | undefined {
    const open = this.#held.filter(({ isReleased }) => !isReleased);
    const held = open.filter(({ lease }) => lease.isHeld);
    const choice = at % 5 === 0 || held.length === 0 ? open : held;
    return choice[at % (choice.length || 1)];
  }

  async #take(step: Step): Promise<void> {
    const { clock, server } = this.#stage;
    const one = 'at' in step ? this.#choose(step.at) : undefined;
    switch (step.does) {
      case 'acquire':
      case 'try':
        for (let i = 0; i < step.callers; i += 1) this.#acquire(step);
        break;
      case 'enter again':
        if (one !== undefined) this.#enterAgain(one);
        break;
      case 'release':
        if (one !== undefined) this.#release(one);
        break;
      case 'extend':
        if (one !== undefined) this.#background.push(one.lease.extend(step.leaseMs).catch(onlyLockErrors));
        break;
      case 'abort': {
        const waiting = this.#waits.filter(({ isOver }) => !isOver);
        waiting[step.at % (waiting.length || 1)]?.controller.abort();
        break;
      }
      case 'pass':
        return this.#pass(step.ms);
      case 'sleep':
        clock.suspend(step.ms);
        server.jump(step.ms);
        this.#wokenMs = this.#nowMs;
        break;
      case 'delete':
        if (server.delete(step.name)) this.#meddled.add(step.name);
        break;
      case 'close':
        this.#background.push((this.#processes[step.who] as StageProcess).session.close(100));
        break;
      case 'destroy':
        this.#background.push((this.#processes[step.who] as StageProcess).session.destroy());
        break;
    }
    await clock.settle();
  }

  #acquire({ does, who, name, waitMs, leaseMs, renew }: Extract<Step, { waitMs: number }>): void {
    const lock = (this.#processes[who] as StageProcess).lock(name);
    const controller = new AbortController();
    const options = { leaseMs, renew, signal: controller.signal };
    const asked: Promise<FencedLease | null> =
      does === 'try' ? lock.tryAcquire(options) : lock.acquire({ ...options, waitMs });
    this.#await(asked, controller, (lease) => this.#granted(lease, who, name, lease));
  }

  #enterAgain({ lease: within, who, name, root }: Held): void {
    const controller = new AbortController();
    const lock = (this.#processes[who] as StageProcess).lock(name);
    const asked = lock.acquire({ within, waitMs: 500, signal: controller.signal });
    this.#await(asked, controller, (lease) => {
      // The owner above may have released meanwhile: then it came by the front door, with a fence of its own.
      this.#granted(lease, who, name, lease.fence === root.fence ? root : lease);
    });
  }

  #await(
    asked: Promise<FencedLease | null>,
    controller: AbortController,
    granted: (lease: FencedLease) => void,
  ): void {
    const wait: Wait = { controller, isOver: false };
    this.#waits.push(wait);
    const settled = asked.then((lease) => {
      wait.isOver = true;
      if (lease !== null) granted(lease);
    });
    this.#background.push(
      settled.catch((error: unknown) => {
        wait.isOver = true;
        onlyLockErrors(error);
        expectTrue(
          !(error instanceof LockAbortedError) || controller.signal.aborted,
          'only its own abort aborts',
        );
      }),
    );
  }

  #granted(lease: FencedLease, who: number, name: Name, root: FencedLease): void {
    const held = { lease, who, name, root, signal: lease.signal, isReleased: false, untilMs: this.#nowMs };
    this.#held.push(held);
    if (root === lease && !this.#meddled.has(name)) {
      const last = this.#lastFence.get(name) ?? 0;
      expectTrue(lease.fence > last, `fences grow: ${lease.fence} came after ${last}`);
      this.#lastFence.set(name, lease.fence);
    }
    this.#look();
    if (this.#isEnding) this.#release(held);
  }

  #release(held: Held): void {
    held.isReleased = true;
    this.#background.push(held.lease.release().catch(onlyLockErrors));
    expectTrue(!held.lease.isHeld, 'nothing is held after its release');
  }

  /** What must be true at every moment. */
  #look(): void {
    for (const name of NAMES) if (!this.#meddled.has(name)) this.#lookAtOwners(name);
    for (const held of this.#held) this.#lookAtLease(held);
  }

  #lookAtOwners(name: Name): void {
    const now = this.#held.filter((held) => held.name === name && held.lease.isHeld);
    const roots = new Set(now.map(({ root }) => root));
    expectTrue(roots.size <= 1, `one owner at a time for ${name}, found ${roots.size}`);
    const [first] = now;
    if (first === undefined) return;
    const { session } = this.#processes[first.who] as StageProcess;
    const owner = this.#stage.server.owner(name);
    expectTrue(
      owner?.startsWith(session.id) === true,
      `who holds ${name} has it on the server, found ${owner}`,
    );
  }

  #lookAtLease(held: Held): void {
    const { lease, signal, isReleased } = held;
    if (lease.isHeld) {
      expectTrue(!signal.aborted, 'a lease that is held is not told lost');
      held.untilMs = this.#nowMs + lease.remainingMs;
    } else if (!isReleased && !signal.aborted) {
      const lateMs = this.#nowMs - Math.max(held.untilMs + 1, this.#wokenMs + WAKING_MS);
      expectTrue(lateMs < 0, `the owner of ${held.name} is told in time, and is ${lateMs} ms late`);
    }
  }

  async #pass(ms: number): Promise<void> {
    const { clock } = this.#stage;
    const endMs = this.#nowMs + ms;
    while (this.#nowMs < endMs) {
      const leftMs = endMs - this.#nowMs;
      await clock.advance(Math.min(clock.nextTimerMs ?? leftMs, leftMs));
      this.#look();
    }
  }

  /** Everything works again, everybody lets go: nothing may be left. */
  async #end(): Promise<void> {
    this.#isEnding = true;
    for (const { client } of this.#processes) client.heal();
    for (const held of this.#held) if (!held.isReleased) this.#release(held);
    await this.#pass(ORPHAN_MS);
    this.#lookForOrphans();
    await this.#pass(30_000);
    await this.#stage.clock.advance(60_000);
    const waiting = this.#waits.filter(({ isOver }) => !isOver).length;
    expectTrue(waiting === 0, `nobody waits at the end, found ${waiting}`);
    await Promise.all(this.#background);
    const { server, clock } = this.#stage;
    const left = {
      keys: server.keys.length,
      channels: server.channels.publicNames.length,
      timers: clock.pendingTimers,
      deadlines: sum(this.#processes, ({ timers }) => timers.size),
      holds: sum(this.#processes, ({ session }) => session.holds),
      renewals: sum(this.#processes, ({ session }) => session.renewal.size),
      lateReleases: sum(this.#processes, ({ openReleases }) => openReleases),
    };
    expectTrue(
      Object.values(left).every((count) => count === 0),
      `nothing is left, found ${JSON.stringify(left)}`,
    );
  }

  /** A lock that nobody of ours holds or seeks does not stay for its lease. Who is closed may leave one. */
  #lookForOrphans(): void {
    for (const key of this.#stage.server.keys) {
      const owner = this.#stage.server.owner(key) ?? '';
      const process = this.#processes.find(({ session }) => owner.startsWith(session.id));
      const ttlMs = this.#stage.server.ttlMs(key);
      expectTrue(process?.session.state !== 'open', `no orphan lock, found ${key} for ${ttlMs} ms more`);
    }
  }
}

function sum(processes: readonly StageProcess[], count: (process: StageProcess) => number): number {
  return processes.reduce((total, process) => total + count(process), 0);
}

function onlyLockErrors(error: unknown): void {
  if (!(error instanceof LockError)) throw error;
}

function expectTrue(belief: boolean, message: string): void {
  if (!belief) throw new Error(message);
}
