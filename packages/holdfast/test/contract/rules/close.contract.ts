/** The two endings: close finishes and releases, destroy drops everything and lets leases run out. */
import { describe, expect } from 'vitest';
import { type Lease, LockClosedError, LockLostError, type Locks } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { gate } from '../../support/gate.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { handled, rejection } from '../../support/rejection.ts';
import { always } from '../../support/violation.ts';
import { elapse } from '../../support/wait-for.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';

const LONG_MS = 30_000;
const PROMPT_MS = 3_000;

async function drain(iterable: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of iterable);
}

const ENDINGS: readonly ((locks: Locks) => Promise<void>)[] = [
  (locks) => locks.close(),
  (locks) => locks.destroy(),
  (locks) => locks[Symbol.asyncDispose](),
];

/** Everything a session can be asked. */
function asks(kind: Kind, locks: Locks, name: string): Promise<unknown>[] {
  return [
    kind.of(locks, name).acquire(),
    kind.of(locks, name).tryAcquire(),
    kind.of(locks, name).using(() => {}),
    locks.inspect(name),
    drain(locks.list()),
    locks.forceRelease(name),
    locks.check(),
  ];
}

export function closeContract(test: ContractTest): void {
  for (const kind of KINDS) {
    describe(`closing a session with a ${kind.name}`, () => {
      test('waiters are turned away, what is held is lost and released', async ({ bench }) => {
        const [locks, other] = await Promise.all([bench.session(), bench.session()]);
        const [held, wanted] = [bench.name('held'), bench.name('wanted')];
        const lease = await kind.of(locks, held).acquire({ leaseMs: LONG_MS });
        await kind.of(other, wanted).acquire();
        const waiting = [held, wanted, wanted].map((name) => rejection(kind.of(locks, name).acquire()));
        await bench.untilWaiting(kind, wanted);
        const reason = aborted(lease.signal);
        await locks.close();
        // Whoever lost it before, by a lease that ran out in a stall, does not hold it now either.
        always(() => expect(lease).toMatchObject({ isHeld: false, remainingMs: 0 }));
        for (const error of await Promise.all(waiting)) {
          expect(error).toBeInstanceOf(LockClosedError);
          expect(error).toMatchObject({ code: 'ELOCKCLOSED' });
          expect([held, wanted]).toContain((error as LockClosedError).lock);
        }
        expect(await reason).toBeInstanceOf(LockLostError);
        expect(await reason).toMatchObject({ code: 'ELOCKLOST', lock: held, reason: 'closed' });
        expect(await lease.release()).toBe(false);
        expect(await bench.redis.exists(bench.key(held))).toBe(0);
        await bench.untilWaiting(kind, wanted, 0);
      });

      test('a body under way hears of the close and its outcome is not hidden', async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const entered = gate();
        const body = async (lease: Lease): Promise<string> => {
          entered.open();
          await aborted(lease.signal);
          return 'wound up';
        };
        const using = rejection(kind.of(locks, name).using(body));
        await entered.opened;
        await locks.close();
        const outcome = { status: 'fulfilled', value: 'wound up' };
        expect(await using).toMatchObject({ code: 'ELOCKLOST', reason: 'closed', outcome });
        expect(await bench.redis.exists(bench.key(name))).toBe(0);
      });

      test('with a grace an owner may finish, and nobody new comes in', async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const [entered, finish] = [gate(), gate()];
        const using = kind.of(locks, name).using(async (lease) => {
          entered.open();
          await finish.opened;
          return lease.isHeld;
        });
        await entered.opened;
        const waiting = rejection(kind.of(locks, name).acquire());
        const closing = locks.close({ graceMs: LONG_MS });
        expect(await waiting).toBeInstanceOf(LockClosedError);
        expect(await rejection(kind.of(locks, bench.name('new')).acquire())).toBeInstanceOf(LockClosedError);
        const finishedMs = performance.now();
        finish.open();
        expect(await using).toBe(true);
        await closing;
        expect(performance.now() - finishedMs).toBeLessThan(PROMPT_MS);
        expect(await bench.redis.exists(bench.key(name))).toBe(0);
      });

      test(
        'a grace that runs out takes what is still held',
        async ({ bench }) => {
          const name = bench.name();
          const locks = await bench.session();
          const lease = await kind.of(locks, name).acquire({ leaseMs: 500 });
          const beganMs = performance.now();
          await locks.close({ graceMs: 800 });
          // Renewed meanwhile: the lease is shorter than the grace.
          expect(performance.now() - beganMs).toBeGreaterThan(795);
          expect(lease.signal.reason).toMatchObject({ reason: 'closed' });
          expect(await bench.redis.exists(bench.key(name))).toBe(0);
        },
        PUNCTUAL,
      );

      test('a grant that crosses the close is not left to its lease', async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        await (await kind.of(locks, name).acquire()).release();
        const acquiring = rejection(kind.of(locks, name).acquire({ leaseMs: LONG_MS }));
        await locks.close();
        expect(await acquiring).toBeInstanceOf(LockClosedError);
        // Long enough for the server to have run what was on its way when the session closed.
        await elapse(PROMPT_MS / 10);
        await bench.untilFree(name, LONG_MS / 3);
      });

      test('a release that crosses the close is done', async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
        const releasing = lease.release();
        await locks.close();
        expect(await releasing).toBe(true);
        expect(await bench.redis.exists(bench.key(name))).toBe(0);
      });

      test('a closed session answers nothing any more', async ({ bench }) => {
        const [closed, destroyed] = await Promise.all([bench.session(), bench.session()]);
        await closed.close();
        await destroyed.destroy();
        for (const locks of [closed, destroyed]) {
          const errors = await Promise.all(asks(kind, locks, bench.name()).map(rejection));
          expect(errors.map((error) => (error as LockClosedError).code)).toEqual(
            errors.map(() => 'ELOCKCLOSED'),
          );
        }
        expect(await bench.keys()).toEqual([]);
      });

      test('destroy leaves the key to its time, and tells the owner', async ({ bench }) => {
        const [locks, other] = await Promise.all([bench.session(), bench.session()]);
        const name = bench.name();
        const lease = await kind.of(locks, name).acquire({ leaseMs: 1_500 });
        const waiting = rejection(kind.of(locks, name).acquire());
        const owner = await kind.owner(bench.send, bench.key(name));
        const { signal } = lease;
        await locks.destroy();
        // Whichever way it was lost, the owner knows by now. Only the reason depends on a stall.
        always(() => expect([signal.aborted, lease.isHeld]).toEqual([true, false]));
        expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'closed' });
        expect(await waiting).toBeInstanceOf(LockClosedError);
        expect(await kind.owner(bench.send, bench.key(name))).toBe(owner);
        expect(await lease.release()).toBe(false);
        // Not renewed any more: it is free after its lease at the latest.
        expect((await kind.of(other, name).acquire({ waitMs: 10_000 })).isHeld).toBe(true);
      });
    });
  }

  describe('closing a session with a lock that is entered again', () => {
    test('during the grace an owner may enter again what it holds, and nothing else', async ({ bench }) => {
      const locks = await bench.session();
      const lock = locks.lock(bench.name());
      const entered = gate();
      const closed = gate();
      const using = handled(
        lock.using(async (outer) => {
          entered.open();
          await closed.opened;
          expect(await rejection(locks.lock(bench.name('other')).acquire())).toBeInstanceOf(LockClosedError);
          return lock.using((inner) => inner.fence === outer.fence && inner.isHeld);
        }),
      );
      await entered.opened;
      const closing = locks.close({ graceMs: LONG_MS });
      closed.open();
      expect(await using).toBe(true);
      await closing;
      expect(await bench.redis.exists(bench.key(lock.name))).toBe(0);
    });
  });

  describe('the client of a closed session', () => {
    test('the caller’s client stays usable, also for another session', async ({ bench }) => {
      const caller = await bench.caller();
      for (const end of ENDINGS) {
        const locks = bench.sessionOn(caller);
        await (await locks.lock(bench.name()).acquire()).release();
        await end(locks);
        expect(await caller.ping()).toBe('PONG');
      }
    });

    test('both endings may be repeated and mixed', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      const [released, left] = [bench.name(), bench.name()];
      await first.lock(released).acquire();
      await Promise.all([first.close(), first.close(), first.close({ graceMs: 10 })]);
      await first.close();
      await first.destroy();
      expect(await bench.redis.exists(bench.key(released))).toBe(0);
      // Whether it is released or left to its lease depends on which of the two is done first.
      await second.lock(left).acquire({ leaseMs: 1_000 });
      await Promise.all([second.close(), second.destroy(), second.close()]);
      await bench.untilFree(left);
    });

    test('a session that was never used closes, whichever way it ends', async ({ bench }) => {
      const caller = await bench.caller();
      for (const end of ENDINGS) {
        const locks = bench.sessionOn(caller);
        await end(locks);
        expect(await rejection(locks.inspect(bench.name()))).toBeInstanceOf(LockClosedError);
      }
      expect(await caller.ping()).toBe('PONG');
    });
  });
}
