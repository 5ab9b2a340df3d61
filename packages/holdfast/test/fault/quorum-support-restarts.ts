/**
 * Rounds of: somebody acquires on three of five servers, one of those three is killed and restarted empty, somebody
 * else tries for as long as the first one holds. One restart serves many names, each with three voters of its own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Lease, LockError, type Locks, type LocksOptions } from '../../src/index.ts';
import { ask } from '../support/raw-redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { MUTEX, seeded } from './acquire-support.ts';
import type { QuorumBench } from './quorum-support.ts';

const NAMES = 40;
/** Longer than a kill and a start take, short because each restart must be outlived before the next. */
const LEASE_MS = 600;
/** Somewhere in the lease. */
const KILL_AFTER_MS_MAX = 100;

export interface Outcome {
  /** Names whose first owner still held when somebody else was told so too. */
  readonly doubles: number;
  /** Names that were tried while their first owner held, with the restarted server back. */
  readonly rounds: number;
}

export class RestartTrial {
  readonly #quorum: QuorumBench;
  readonly #fraction: () => number;
  readonly #first: Locks;
  readonly #second: Locks;

  constructor(quorum: QuorumBench, options: LocksOptions, seed: number) {
    this.#quorum = quorum;
    this.#fraction = seeded(seed);
    const { restartGuardMs } = options;
    const clients = { leaseMs: LEASE_MS, outageMs: 0, nodeTimeoutMs: 200 };
    const settings = restartGuardMs === undefined ? clients : { ...clients, restartGuardMs };
    this.#first = quorum.guarded(settings);
    this.#second = quorum.guarded(settings);
  }

  /** One restart. */
  async run(): Promise<Outcome> {
    // Every server votes for both, so that nothing is left of the last restart.
    for (const locks of [this.#first, this.#second]) await this.#quorum.assemble(locks, MUTEX);
    const victim = this.#any(5);
    const holds = await this.#acquire(victim);
    await sleep(this.#any(KILL_AFTER_MS_MAX));
    const server = this.#quorum.server(victim);
    if (this.#fraction() < 0.5) await server.kill();
    else await ask(server.port, ['SHUTDOWN', 'NOSAVE', 'NOW']).catch(() => waitFor(() => !server.isRunning));
    await server.restart();
    const rounds = holds.filter(({ isHeld }) => isHeld).length;
    let doubles = 0;
    while (holds.some(({ isHeld }) => isHeld)) {
      const tried = await Promise.all(holds.map((hold) => this.#isDouble(hold)));
      doubles += tried.filter((isDouble) => isDouble).length;
    }
    await Promise.all(holds.map((hold) => hold.release()));
    return { doubles, rounds };
  }

  /** Each with the votes of the victim and of two others. */
  async #acquire(victim: number): Promise<Lease[]> {
    const others = [0, 1, 2, 3, 4].filter((i) => i !== victim);
    const leases = await Promise.all(
      Array.from({ length: NAMES }, async (): Promise<Lease[]> => {
        const name = this.#quorum.name();
        const mutex = this.#first.mutex(name);
        const lease = await mutex.acquire({ renew: false });
        const spared = others[this.#any(4)];
        const without = others.filter((i) => i !== spared).slice(0, 2);
        if (!(await this.#hasAllVotes(name))) {
          await lease.release();
          return [];
        }
        // As if those had never been reached.
        await this.#quorum.remove(name, without);
        return [lease];
      }),
    );
    return leases.flat();
  }

  /**
   * The last ones may be on their way. Where they do not come, the grant may stand on the very votes that are about to
   * be removed, and a second owner would be our own doing.
   */
  #hasAllVotes(name: string): Promise<boolean> {
    return waitFor(async () => (await this.#quorum.voters(MUTEX, name)).length === 5, { limitMs: 100 }).catch(
      () => false,
    );
  }

  async #isDouble(hold: Lease): Promise<boolean> {
    if (!hold.isHeld) return false;
    try {
      const lease = await this.#second.mutex(hold.name).tryAcquire({ renew: false });
      if (lease === null) return false;
      const isDouble = hold.isHeld && lease.isHeld;
      await lease.release();
      return isDouble;
    } catch (error) {
      // Too few servers may vote: that is the guard at work.
      if (error instanceof LockError) return false;
      throw error;
    }
  }

  #any(count: number): number {
    return Math.floor(this.#fraction() * count);
  }
}
