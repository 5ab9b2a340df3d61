/** One owner at a time; the others wait, are woken, give up, or are turned away. */
import { describe, expect } from 'vitest';
import {
  CHANNELS,
  type Lease,
  LockAbortedError,
  LockTimeoutError,
  type WokenMessage,
} from '../../../src/index.ts';
import { CriticalSection } from '../../support/locks/critical-section.ts';
import { type Kind, LOCK } from '../../support/locks/kind.ts';
import { wokenBy } from '../../support/locks/woken.ts';
import { command } from '../../support/proxies/fault-proxy.ts';
import { rejection } from '../../support/rejection.ts';
import { always, expectKeptOut } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ContractBench } from '../bench.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';

/** Far longer than any test: who gets the name before it ends was woken, not patient. */
const LONG_MS = 30_000;
const PROMPT_MS = 3_000;
/** For what becomes free a moment later, and would not before `LONG_MS` if it were left behind. */
const PATIENT_MS = 10_000;

/** Releases, and gives what the waiter then gets: by a message. In a quorum, where an unwoken waiter sleeps long, soon. */
async function wokenIn(
  bench: ContractBench,
  name: string,
  release: () => Promise<unknown>,
  waiting: Promise<Lease>,
): Promise<Lease> {
  if (!bench.isQuorum) return wokenBy(name, release, waiting);
  const releasedMs = performance.now();
  await release();
  const lease = await waiting;
  expect(performance.now() - releasedMs).toBeLessThan(PROMPT_MS);
  return lease;
}

export function waitingContract(test: ContractTest, kind: Kind): void {
  describe(`waiting for a ${kind.name}`, () => {
    test('sessions exclude each other, and callers of one session do too', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await kind.of(first, name).acquire();
      expectKeptOut(lease, await kind.of(second, name).tryAcquire());
      expectKeptOut(lease, await kind.of(first, name).tryAcquire());
      await lease.release();
      const next = await kind.of(second, name).acquire({ waitMs: PATIENT_MS });
      expectKeptOut(next, await kind.of(first, name).tryAcquire());
      expect(next.isHeld).toBe(true);
    });

    test('a waiter in another session is woken by the release', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await kind.of(first, name).acquire({ leaseMs: LONG_MS });
      const waiting = kind.of(second, name).acquire();
      await bench.untilWaiting(kind, name);
      const next = await wokenIn(bench, name, () => lease.release(), waiting);
      expect(next.isHeld).toBe(true);
    });

    test('a waiter in the same session gets it on release', async ({ bench }) => {
      const locks = await bench.session();
      const lock = kind.of(locks, bench.name());
      const lease = await lock.acquire({ leaseMs: LONG_MS });
      const waiting = lock.acquire();
      const releasedMs = performance.now();
      await lease.release();
      expect((await waiting).isHeld).toBe(true);
      expect(performance.now() - releasedMs).toBeLessThan(PROMPT_MS);
      expect(lease.isHeld).toBe(false);
    });

    test(
      'what a dead owner of another library left is free when its time is over, not before',
      async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const ttlMs = 400;
        const beganMs = performance.now();
        // The two clocks are read at different moments; they need not agree to the millisecond.
        const heldMs = ttlMs - 5;
        const deadOwner = {
          get isHeld() {
            return performance.now() - beganMs < heldMs;
          },
        };
        await kind.seize(bench.send, bench.foreignKey(name), ttlMs);
        expectKeptOut(deadOwner, await kind.of(locks, name).tryAcquire());
        const lease = await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
        always(() => expect(performance.now() - beganMs).toBeGreaterThan(heldMs));
        expect(performance.now() - beganMs).toBeLessThan(ttlMs + PROMPT_MS);
        expect(lease.isHeld).toBe(true);
      },
      PUNCTUAL,
    );

    test(
      'a wait that runs out says for how long and behind whom',
      async ({ bench }) => {
        const [first, second] = await Promise.all([bench.session(), bench.session()]);
        const name = bench.name();
        const lease = await kind.of(first, name).acquire({ leaseMs: LONG_MS });
        const beganMs = performance.now();
        const error = await rejection(kind.of(second, name).acquire({ waitMs: 150 }));
        const tookMs = performance.now() - beganMs;
        expect(error).toBeInstanceOf(LockTimeoutError);
        expect(error).toMatchObject({ name: 'LockTimeoutError', code: 'ELOCKTIMEOUT', lock: name });
        const { elapsedMs, holder, message } = error as LockTimeoutError;
        expect(elapsedMs).toBeGreaterThanOrEqual(149);
        expect(elapsedMs).toBeLessThanOrEqual(tookMs);
        expect(message).toContain(name);
        expect(holder?.ttlMs).toBeGreaterThan(LONG_MS / 2);
        const owner = await kind.owner(bench.send, bench.key(name));
        // A mutex's token is a secret: whoever has it can release.
        expect(holder?.owner).toBe(kind === LOCK ? owner : undefined);
        expect(message.includes(String(owner))).toBe(kind === LOCK);
        await bench.untilWaiting(kind, name, 0);
        await lease.release();
        expect(await bench.redis.exists(bench.key(name))).toBe(0);
      },
      PUNCTUAL,
    );

    test('a wait behind a caller of the same process runs out too', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      await kind.of(locks, name).acquire();
      const error = await rejection(kind.of(locks, name).acquire({ waitMs: 50 }));
      expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', lock: name });
      expect((error as LockTimeoutError).elapsedMs).toBeGreaterThanOrEqual(49);
    });

    test(
      'an owner without an expiry is told as such',
      async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        await kind.seize(bench.send, bench.foreignKey(name), LONG_MS);
        await bench.redis.persist(bench.key(name));
        const error = await rejection(kind.of(locks, name).acquire({ waitMs: 20 }));
        expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', holder: { ttlMs: -1 } });
      },
      PUNCTUAL,
    );

    test(
      'with waitMs 0 a free name is given and a held one refused at once',
      async ({ bench }) => {
        const [first, second] = await Promise.all([bench.session(), bench.session()]);
        const name = bench.name();
        const lease = await kind.of(first, name).acquire({ waitMs: 0 });
        for (const locks of [first, second]) {
          const beganMs = performance.now();
          const error = await rejection(kind.of(locks, name).acquire({ waitMs: 0 }));
          expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', lock: name });
          expect(performance.now() - beganMs).toBeLessThan(PROMPT_MS);
        }
        expect(lease.isHeld).toBe(true);
      },
      PUNCTUAL,
    );

    test('an abort ends a wait with the reason of the signal as its cause', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await kind.of(first, name).acquire();
      for (const locks of [first, second]) {
        const controller = new AbortController();
        const beganMs = performance.now();
        const waiting = rejection(kind.of(locks, name).acquire({ signal: controller.signal }));
        const askedMs = performance.now();
        if (locks === second) await bench.untilWaiting(kind, name);
        else await bench.redis.ping();
        const reason = new Error('the user left');
        const abortedMs = performance.now();
        controller.abort(reason);
        const error = await waiting;
        expect(error).toBeInstanceOf(LockAbortedError);
        expect(error).toMatchObject({ code: 'ELOCKABORTED', lock: name, cause: reason });
        const { elapsedMs } = error as LockAbortedError;
        // From the call to the abort, by the same clock; told in whole milliseconds at most.
        expect(elapsedMs).toBeGreaterThanOrEqual(Math.floor(abortedMs - askedMs));
        expect(elapsedMs).toBeLessThanOrEqual(Math.ceil(performance.now() - beganMs));
      }
      await bench.untilWaiting(kind, name, 0);
      await lease.release();
      expect(await bench.redis.exists(bench.key(name))).toBe(0);
    });

    test('an abort of the first in the queue passes the turn to the next', async ({ bench }) => {
      const [first, second] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const lease = await kind.of(first, name).acquire({ leaseMs: LONG_MS });
      const controller = new AbortController();
      const head = rejection(kind.of(second, name).acquire({ signal: controller.signal }));
      const next = kind.of(second, name).acquire();
      await bench.untilWaiting(kind, name);
      controller.abort();
      expect(await head).toBeInstanceOf(LockAbortedError);
      const served = await wokenIn(bench, name, () => lease.release(), next);
      expect(served.isHeld).toBe(true);
    });

    test('a grant that crosses an abort is passed on', async ({ bench }) => {
      const locks = await bench.session();
      const lock = kind.of(locks, bench.name());
      await (await lock.acquire()).release();
      const controller = new AbortController();
      const left = rejection(lock.acquire({ signal: controller.signal, leaseMs: LONG_MS }));
      const next = lock.acquire({ waitMs: PATIENT_MS });
      controller.abort();
      expect(await left).toBeInstanceOf(LockAbortedError);
      expect((await next).isHeld).toBe(true);
    });

    test('a grant that crosses the abort of the only caller is released', async ({ bench }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      await (await kind.of(locks, name).acquire()).release();
      const controller = new AbortController();
      const left = rejection(kind.of(locks, name).acquire({ signal: controller.signal, leaseMs: LONG_MS }));
      controller.abort();
      expect(await left).toBeInstanceOf(LockAbortedError);
      const lease = await kind.of(other, name).acquire({ waitMs: PATIENT_MS });
      expect(lease.isHeld).toBe(true);
    });

    test('a try is not refused for waiters that have left while they were about to listen', async ({
      bench,
    }) => {
      const [first, { locks, proxy }] = await Promise.all([bench.session(), bench.sessionBehindProxy()]);
      const name = bench.name();
      const lease = await kind.of(first, name).acquire();
      const controller = new AbortController();
      const isListening = proxy.delayReply(command('SUBSCRIBE'), 1_000);
      const left = rejection(kind.of(locks, name).acquire({ signal: controller.signal }));
      await isListening;
      controller.abort();
      expect(await left).toBeInstanceOf(LockAbortedError);
      await lease.release();
      const next = await kind.of(locks, name).tryAcquire();
      expect(next?.isHeld).toBe(true);
    });

    test(
      'waiters that all give up leave nothing behind',
      async ({ bench }) => {
        const [first, second] = await Promise.all([bench.session(), bench.session()]);
        const name = bench.name();
        const lease = await kind.of(first, name).acquire();
        const waits = Array.from({ length: 20 }, (_, index) =>
          rejection(kind.of(second, name).acquire({ waitMs: 20 + index })),
        );
        for (const error of await Promise.all(waits)) expect(error).toBeInstanceOf(LockTimeoutError);
        await bench.untilWaiting(kind, name, 0);
        await lease.release();
        expect(await bench.redis.exists(bench.key(name))).toBe(0);
        expect((await kind.of(second, name).acquire({ waitMs: PATIENT_MS })).isHeld).toBe(true);
      },
      PUNCTUAL,
    );

    test('every waiter of every session is served', async ({ bench }) => {
      const sessions = await Promise.all([bench.session(), bench.session(), bench.session()]);
      const name = bench.name();
      const section = new CriticalSection();
      const visit = (lease: Lease): Promise<unknown> => section.run(() => bench.redis.ping(), lease);
      const callers = sessions.flatMap((locks) =>
        Array.from({ length: 5 }, () => kind.of(locks, name).using(visit)),
      );
      await Promise.all(callers);
      expect(section.runs).toBe(15);
    });
  });
}

/** What only the messages of Redisson can do: the format of the mutex has none. */
export function redissonContract(test: ContractTest): void {
  describe('beside Redisson', () => {
    test('the release of a Redisson owner wakes the waiter', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const key = bench.foreignKey(name);
      const owner = await LOCK.seize(bench.send, key, LONG_MS);
      const waiting = locks.lock(name).acquire();
      await bench.untilWaiting(LOCK, name);
      expect(await LOCK.owner(bench.send, key)).toBe(owner);
      const release = () =>
        bench.redis.multi().del(key).publish(`redisson_lock__channel:{${key}}`, '0').exec();
      expect((await wokenIn(bench, name, release, waiting)).isHeld).toBe(true);
    });

    test('a message alone gives the lock to nobody', async ({ bench }) => {
      const locks = await bench.session();
      const name = bench.name();
      const key = bench.foreignKey(name);
      const owner = await LOCK.seize(bench.send, key, LONG_MS);
      const controller = new AbortController();
      const waiting = rejection(locks.lock(name).acquire({ signal: controller.signal }));
      await bench.untilWaiting(LOCK, name);
      const woken = bench.diagnostics<WokenMessage>(CHANNELS.woken);
      const hears = (): Promise<number> => bench.redis.publish(`redisson_lock__channel:{${key}}`, '0');
      for (let sent = 0; sent < 5; sent += 1) await waitFor(hears);
      await waitFor(() => woken.some(({ lock, reason }) => lock === name && reason === 'message'));
      // Sent behind the attempt that the message caused, so answered behind it.
      expect(await locks.inspect(name)).toMatchObject({ owner });
      expect(await LOCK.owner(bench.send, key)).toBe(owner);
      controller.abort();
      expect(await waiting).toBeInstanceOf(LockAbortedError);
    });
  });
}
