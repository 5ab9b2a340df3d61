/**
 * Rounds of: somebody acquires on three of five servers, one of those three is killed and restarted empty, somebody
 * else tries for as long as the first one holds. One restart serves many names, each with three voters of its own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Lease, LockError, type Locks, type LocksOptions } from '../../../src/index.ts';
import { MUTEX } from '../../support/locks/kind.ts';
import { seeded } from '../../support/seeded.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { QuorumBench } from './support.ts';

const NAMES = 40;
/** Longer than a kill and a start take, short because each restart must be outlived before the next. */
const LEASE_MS_MIN = 600;
/** Where a start takes longer than that. */
const LEASE_MS_MAX = 4_800;
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
  #leaseMs = LEASE_MS_MIN;

  constructor(quorum: QuorumBench, options: LocksOptions, seed: number) {
    this.#quorum = quorum;
    this.#fraction = seeded(seed);
    const { restartGuardMs } = options;
    const clients = { leaseMs: LEASE_MS_MIN, outageMs: 0, nodeTimeoutMs: 200 };
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
    // One without an answer is repeated in the background, and what it leaves is seen below.
    await Promise.all(holds.map((hold) => hold.release().catch(nobody)));
    await this.#untilEmpty();
    // Too short for this machine as it is: nobody held any more when the server was back.
    if (rounds === 0) this.#leaseMs = Math.min(2 * this.#leaseMs, LEASE_MS_MAX);
    return { doubles, rounds };
  }

  /** Each with the votes of the victim and of two others. */
  async #acquire(victim: number): Promise<Lease[]> {
    const others = [0, 1, 2, 3, 4].filter((i) => i !== victim);
    const leases = await Promise.all(
      Array.from({ length: NAMES }, async (): Promise<Lease[]> => {
        const name = this.#quorum.name();
        const mutex = this.#first.mutex(name);
        const lease = await mutex.acquire({ renew: false, leaseMs: this.#leaseMs }).catch(nobody);
        if (lease === null) return [];
        const spared = others[this.#any(4)];
        const without = others.filter((i) => i !== spared).slice(0, 2);
        if (!(await this.#hasAllVotes(name))) {
          await lease.release().catch(nobody);
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

  /** Votes that were given back may still be on their way out, and end with their leases at the latest. */
  async #untilEmpty(): Promise<void> {
    const sizes = () => Promise.all(this.#quorum.servers.map(({ port }) => ask(port, ['DBSIZE'])));
    await waitFor(async () => (await sizes()).every((size) => size === 0), { what: 'the last votes to go' });
  }

  async #isDouble(hold: Lease): Promise<boolean> {
    if (!hold.isHeld) return false;
    const mutex = this.#second.mutex(hold.name);
    // With the same lease, so that it guards against the loss of one of that length.
    const lease = await mutex.tryAcquire({ renew: false, leaseMs: this.#leaseMs }).catch(nobody);
    if (lease === null) return false;
    const isDouble = hold.isHeld && lease.isHeld;
    await lease.release().catch(nobody);
    return isDouble;
  }

  #any(count: number): number {
    return Math.floor(this.#fraction() * count);
  }
}

/** Too few servers voted, or answered in time: that is the guard at work, or a machine that stalls. */
function nobody(error: unknown): null {
  if (error instanceof LockError) return null;
  throw error;
}
