/** What callers do: take locks in every way there is, work under them, change their minds. */
import { type FencedLease, type Lease, LockError, type Locks } from '../../src/index.ts';
import type { Judge, Tenure } from './checks/judge.ts';
import type { ProtectedResource } from './checks/protected-resource.ts';
import type { Prng } from './world/prng.ts';
import type { SimulatedProcess } from './world/process.ts';

export interface WorkTerms {
  readonly names: readonly string[];
  readonly kind: 'lock' | 'mutex';
  readonly leasesMs: readonly number[];
  readonly worksMs: readonly number[];
  readonly pausesMs: readonly number[];
  readonly slowCallbacks: boolean;
  /** The option `lingerMs` of each caller's acquisitions, one after the other, and around again; null: that of `Locks`. */
  readonly callerLingersMs: readonly (number | null)[];
  /** How often each caller works while things go wrong. */
  readonly rounds: number;
}

/** Who works, with what, and who watches. */
export interface WorkContext {
  readonly terms: WorkTerms;
  readonly judge: Judge;
  readonly resource: ProtectedResource;
  /** Whether faults and their consequences are over, and work is done once more. */
  isQuiet(): boolean;
  /** Whether no new work is begun. */
  isOver(): boolean;
  note(who: string, what: string): void;
  /** Does something after a while of true time. */
  after(ms: number, run: () => void): void;
}

type AnyLock = ReturnType<Locks['lock']> | ReturnType<Locks['mutex']>;

const WAITS_MS: readonly number[] = [0, 50, 500, 3_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];

const LOOK_EVERY_MS = 300;
const QUIET_ROUNDS = 4;

export class Caller {
  readonly process: SimulatedProcess;
  readonly #context: WorkContext;
  readonly #random: Prng;
  readonly #linger: { readonly lingerMs?: number };
  #controller = new AbortController();
  /** What it waits for just now. */
  waitsFor: string | null = null;
  isDone = false;

  /** `place`: which of the callers of its process it is. */
  constructor(process: SimulatedProcess, place: number, context: WorkContext, random: Prng) {
    const { callerLingersMs } = context.terms;
    const lingerMs = callerLingersMs[place % callerLingersMs.length] ?? null;
    this.#linger = lingerMs === null ? {} : { lingerMs };
    this.process = process;
    this.#context = context;
    this.#random = random;
  }

  async work(): Promise<void> {
    for (let round = 0; round < this.#context.terms.rounds; round += 1) await this.#round();
    while (!this.#context.isQuiet()) await this.process.sleep(LOOK_EVERY_MS);
    for (let round = 0; round < QUIET_ROUNDS; round += 1) await this.#round();
    this.isDone = true;
  }

  /** It changes its mind, if it can. */
  abort(): void {
    this.#controller.abort();
  }

  async #round(): Promise<void> {
    const { terms } = this.#context;
    await this.process.sleep(this.#random.pick(terms.pausesMs));
    if (!this.#context.isOver()) {
      const name = this.#random.pick(terms.names);
      try {
        await this.#acquireAndWork(name);
      } catch (error) {
        // Outages, time-outs, losses and aborts are what the world is made of.
        if (!(error instanceof LockError)) throw error;
        this.#context.note(this.process.name, `${error.code} ${name}`);
      }
      this.waitsFor = null;
    }
  }

  #lock(name: string): AnyLock {
    const { locks } = this.process;
    return this.#context.terms.kind === 'lock' ? locks.lock(name) : locks.mutex(name);
  }

  async #acquireAndWork(name: string): Promise<void> {
    const random = this.#random;
    const lock = this.#lock(name);
    const leaseMs = random.pick(this.#context.terms.leasesMs);
    const renew = random.chance(0.6);
    const controller = new AbortController();
    this.#controller = controller;
    // A caller without a signal asks at once, in its own name, where nobody is before it.
    const canAbort = random.chance(0.6);
    const options = { leaseMs, renew, ...(canAbort ? { signal: controller.signal } : {}) };
    if (random.chance(0.2)) {
      void this.process.sleep(random.between(0, 400)).then(() => controller.abort());
    }
    const way = random.between(0, 9);
    this.waitsFor = name;
    if (way === 0) {
      const lease = await lock.tryAcquire(options);
      if (lease !== null) await this.#hold(lease, name, renew);
    } else if (way <= 4) {
      const lease = await lock.acquire({ ...options, ...this.#linger, waitMs: random.pick(WAITS_MS) });
      await this.#hold(lease, name, renew);
    } else {
      const body = async (lease: Lease): Promise<void> => {
        const tenure = this.#granted(lease, name, null, renew);
        await this.#work(tenure);
        if (random.chance(0.3) && this.#context.terms.kind === 'lock') await this.#enterAgain(lock, tenure);
        this.#context.judge.released(tenure);
      };
      await lock.using(body, { ...options, ...this.#linger, waitMs: random.pick(WAITS_MS) });
    }
  }

  async #enterAgain(lock: AnyLock, outer: Tenure): Promise<void> {
    await lock.using(async (lease) => {
      const tenure = this.#granted(lease, outer.name, outer, false);
      await this.#work(tenure);
      this.#context.judge.released(tenure);
    });
  }

  async #hold(lease: Lease, name: string, renews: boolean): Promise<void> {
    const tenure = this.#granted(lease, name, null, renews);
    await this.#work(tenure);
    if (this.#random.chance(0.15))
      await lease.extend(this.#random.pick(this.#context.terms.leasesMs)).catch(onlyLockErrors);
    this.#context.judge.released(tenure);
    await lease.release();
  }

  #granted(lease: Lease, name: string, within: Tenure | null, renews: boolean): Tenure {
    this.waitsFor = null;
    const tenure = this.#context.judge.granted(lease, this.process, name, within, renews);
    const { terms } = this.#context;
    if (terms.slowCallbacks && !this.#context.isQuiet() && this.#random.chance(0.1)) this.#block();
    return tenure;
  }

  /** A caller that keeps the event loop busy. */
  #block(): void {
    const { machine } = this.process;
    machine.pause();
    this.#context.note(this.process.name, 'is busy');
    this.#context.after(this.#random.between(1, 900), () => machine.resume());
  }

  /** Reads, thinks, and writes back if the lease still says that it may. */
  async #work(tenure: Tenure): Promise<void> {
    const { resource, terms } = this.#context;
    const { lease, name } = tenure;
    const value = resource.read(name);
    const workMs = this.#random.pick(terms.worksMs);
    if (workMs > 0) await this.process.sleep(workMs);
    if (lease.isHeld) resource.write(name, value + 1);
    const { fence } = lease as FencedLease;
    // Also when the lease is lost: that is the write which a fence must keep out.
    if (fence !== undefined) resource.writeFenced(name, fence);
  }
}

function onlyLockErrors(error: unknown): void {
  if (!(error instanceof LockError)) throw error;
}
