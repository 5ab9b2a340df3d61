/** How a hold passes between callers of one session: in order, within bounds, with nothing lost on the way. */
import { describe, expect } from 'vitest';
import type { AcquireOptions, Lease, Locks } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { CriticalSection } from '../../support/locks/critical-section.ts';
import { expectGrowing, fenceOf } from '../../support/locks/fences.ts';
import { type Kind, LOCK } from '../../support/locks/kind.ts';
import { always } from '../../support/violation.ts';
import { during, elapse } from '../../support/wait-for.ts';
import type { ContractBench } from '../bench.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';

/** So long that only the number of hand-overs bounds a hold. */
const NO_TIME_BOUND_MS = 60_000;
const FIXED_LEASE = { leaseMs: 20_000, renew: false };

/** Lets this many callers in at once; gives the owner in Redis that each of them found, in turn. */
async function ownersOf(
  kind: Kind,
  bench: ContractBench,
  locks: Locks,
  callers: number,
  stayMs = 0,
): Promise<(string | null)[]> {
  const name = bench.name();
  const owners: (string | null)[] = [];
  const first = await kind.of(locks, name).acquire();
  const visits = Array.from({ length: callers }, () =>
    kind.of(locks, name).using(async () => {
      owners.push(await kind.owner(bench.send, bench.key(name)));
      if (stayMs > 0) await elapse(stayMs);
    }),
  );
  await first.release();
  await Promise.all(visits);
  return owners;
}

interface Queued {
  readonly name: string;
  readonly first: Lease;
  /** Served when the first is released. */
  readonly next: Promise<Lease>;
  /** Who owns it in Redis while the first has it. */
  readonly owner: string | null;
}

/** One owner, and a next one to whom its hold can be handed over: both have waited when the hold was granted. */
async function queueUp(
  kind: Kind,
  bench: ContractBench,
  options: AcquireOptions,
  nextOptions: AcquireOptions,
): Promise<Queued> {
  const locks = await bench.session({ handovers: 64, handoverMs: NO_TIME_BOUND_MS });
  const name = bench.name();
  const lock = kind.of(locks, name);
  const before = await lock.acquire(options);
  const queue = [lock.acquire(options), lock.acquire(nextOptions)] as const;
  await before.release();
  const first = await queue[0];
  return { name, first, next: queue[1], owner: await kind.owner(bench.send, bench.key(name)) };
}

function longestRun(owners: readonly unknown[]): number {
  let longest = 0;
  let run = 0;
  for (const [index, owner] of owners.entries()) {
    run = index > 0 && owner === owners[index - 1] ? run + 1 : 1;
    longest = Math.max(longest, run);
  }
  return longest;
}

export function handoverContract(test: ContractTest, kind: Kind): void {
  describe(`handing over a ${kind.name}`, () => {
    test('callers of one session are served one at a time, in the order they came', async ({ bench }) => {
      const locks = await bench.session({ handovers: 64 });
      const lock = kind.of(locks, bench.name());
      const section = new CriticalSection();
      const served: number[] = [];
      let tickets = 0;
      const caller = async (): Promise<void> => {
        for (let turn = 0; turn < 5; turn += 1) {
          tickets += 1;
          const ticket = tickets;
          await lock.using((lease) =>
            section.run(() => {
              served.push(ticket);
            }, lease),
          );
        }
      };
      await Promise.all(Array.from({ length: 50 }, caller));
      expect(section.runs).toBe(250);
      expect(served).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
    });

    test('two callers that come to an idle one at the same moment are served by one hold', async ({
      bench,
    }) => {
      const locks = await bench.session({ handovers: 64, handoverMs: NO_TIME_BOUND_MS });
      const name = bench.name();
      const owners: (string | null)[] = [];
      const visit = (): Promise<void> =>
        kind.of(locks, name).using(async () => {
          owners.push(await kind.owner(bench.send, bench.key(name)));
        });
      await Promise.all([visit(), visit()]);
      expect(owners).toHaveLength(2);
      expect(owners).not.toContain(null);
      expect(owners[1]).toBe(owners[0]);
    });

    test('a hold is handed over at most `handovers` times', async ({ bench }) => {
      const locks = await bench.session({ handovers: 3, handoverMs: NO_TIME_BOUND_MS });
      const owners = await ownersOf(kind, bench, locks, 12);
      expect(owners).toHaveLength(12);
      expect(owners).not.toContain(null);
      // The one whom the hold was granted to and three more.
      expect(longestRun(owners)).toBe(4);
    });

    test('a hold is not handed over once it is `handoverMs` old', async ({ bench }) => {
      const locks = await bench.session({ handovers: 64, handoverMs: 20 });
      const owners = await ownersOf(kind, bench, locks, 4, 40);
      expect(new Set(owners).size).toBe(4);
    });

    test('with handovers 0 every owner is one in Redis', async ({ bench }) => {
      const locks = await bench.session({ handovers: 0, handoverMs: NO_TIME_BOUND_MS });
      const owners = await ownersOf(kind, bench, locks, 6);
      expect(new Set(owners).size).toBe(6);
    });

    test('another session gets its turns while this one keeps contending', async ({ bench }) => {
      const options = { handovers: 8, handoverMs: 20 };
      const [busy, other] = await Promise.all([bench.session(options), bench.session(options)]);
      const name = bench.name();
      let isOver = false;
      let busyTurns = 0;
      const contend = async (): Promise<void> => {
        while (!isOver) {
          await kind.of(busy, name).using(async () => {
            busyTurns += 1;
            await bench.redis.ping();
          });
        }
      };
      const contending = Promise.all(Array.from({ length: 10 }, contend));
      for (let turn = 0; turn < 5; turn += 1) {
        const lease = await kind.of(other, name).acquire({ waitMs: 15_000 });
        await lease.release();
      }
      isOver = true;
      await contending;
      expect(busyTurns).toBeGreaterThan(0);
    });

    test('a caller with a fixed lease gets the whole of it', async ({ bench }) => {
      const { name, first, next, owner } = await queueUp(kind, bench, { leaseMs: 5_000 }, FIXED_LEASE);
      expect(await first.release()).toBe(true);
      const { remainingMs } = await next;
      const ttlMs = await bench.redis.pttl(bench.key(name));
      expect(await kind.owner(bench.send, bench.key(name))).toBe(owner);
      expect(ttlMs).toBeLessThanOrEqual(20_000);
      expect(ttlMs).toBeGreaterThan(17_000);
      expect(remainingMs).toBeLessThanOrEqual(20_000 * 0.99 - 2);
      expect(remainingMs).toBeGreaterThan(17_000);
    });

    test('a caller with a short fixed lease has no more than that, and the next is not kept waiting', async ({
      bench,
    }) => {
      const other = await bench.session();
      const short = { leaseMs: 1_000, renew: false };
      const { name, first, next, owner } = await queueUp(kind, bench, { leaseMs: 60_000 }, short);
      await first.release();
      const lease = await next;
      expect(lease.remainingMs).toBeLessThanOrEqual(988);
      expect(await kind.owner(bench.send, bench.key(name))).toBe(owner);
      const last = await kind.of(other, name).acquire({ waitMs: 15_000 });
      expect(last.isHeld).toBe(true);
      always(() => expect(lease.isHeld).toBe(false));
      expect(await lease.release()).toBe(false);
      expect(last.isHeld).toBe(true);
    });

    test(
      'a caller with a longer lease than the one before keeps it',
      async ({ bench }) => {
        const { name, first, next, owner } = await queueUp(kind, bench, { leaseMs: 500 }, { leaseMs: 5_000 });
        const key = bench.key(name);
        await first.release();
        const lease = await next;
        expect(await kind.owner(bench.send, key)).toBe(owner);
        await during(900, () => expect(lease.isHeld).toBe(true));
        expect(await bench.redis.pttl(key)).toBeGreaterThan(500);
        expect(await lease.release()).toBe(true);
      },
      PUNCTUAL,
    );

    test('an owner that has handed over has nothing left to give back', async ({ bench }) => {
      const { name, first, next, owner } = await queueUp(kind, bench, {}, {});
      expect(await first.release()).toBe(true);
      const lease = await next;
      always(() => expect(first).toMatchObject({ isHeld: false, remainingMs: 0 }));
      expect(await first.release()).toBe(false);
      expect(lease.isHeld).toBe(true);
      expect(await kind.owner(bench.send, bench.key(name))).toBe(owner);
      expect(first.signal.aborted).toBe(false);
      if (kind === LOCK) expectGrowing([fenceOf(first), fenceOf(lease)]);
    });

    test('a loss under a hold that was handed over is the present owner’s alone', async ({ bench }) => {
      const { name, first, next } = await queueUp(kind, bench, { leaseMs: 1_500 }, { leaseMs: 1_500 });
      await first.release();
      const lease = await next;
      await bench.redis.del(bench.key(name));
      expect(await aborted(lease.signal)).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
      expect(first.signal.aborted).toBe(false);
    });
  });
}
