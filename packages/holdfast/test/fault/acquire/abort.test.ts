/** A caller that changes its mind, at every moment there is, leaves nothing behind. */
import { describe, expect, test } from 'vitest';
import { LockAbortedError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilFree, untilListening, waiting as waitingIn } from '../../support/locks/held.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { command } from '../../support/proxies/fault-proxy.ts';
import { atOnce, rejection } from '../../support/rejection.ts';
import { ask, asStrings } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 60_000;
/** Enough to come later than what is done as soon as the server has answered. */
const SLOW_MS = 100;
const REASON = new Error('changed my mind');

/** How many sessions listen where they would hear that they are owners. */
async function mailboxes(): Promise<number> {
  return asStrings(await ask(redis.port, ['PUBSUB', 'CHANNELS', 'holdfast_session:*'])).length;
}

function expectAborted(error: unknown, name: string): void {
  expect(error).toBeInstanceOf(LockAbortedError);
  expect(error).toMatchObject({ code: 'ELOCKABORTED', lock: name, cause: REASON });
}

describe.each(MATRIX)('$client, $kind.name: an abort', ({ client, kind }) => {
  test('before anything was sent sends nothing and tells the reason', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client });
    const name = bench.name();
    const signal = AbortSignal.abort(REASON);
    let hasRun = false;
    const body = (): void => {
      hasRun = true;
    };
    expect(await rejection(kind.of(locks, name).acquire({ signal }))).toBe(REASON);
    expect(await rejection(kind.of(locks, name).tryAcquire({ signal }))).toBe(REASON);
    expect(await rejection(kind.of(locks, name).using(body, { signal }))).toBe(REASON);
    expect(hasRun).toBe(false);
    expect(proxy.history).toEqual([]);
  });

  test('while it waits ends the wait at once, and nothing is granted to it later', async () => {
    const owner = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const controller = new AbortController();
    let hasRun = false;
    const body = (): void => {
      hasRun = true;
    };
    const waiting = rejection(kind.of(locks, name).using(body, { signal: controller.signal }));
    await untilListening(redis.port, kind, name);
    controller.abort(REASON);
    expectAborted(await atOnce(waiting), name);
    await untilListening(redis.port, kind, name, { count: 0 });
    proxy.clearHistory();
    expect(await lease.release()).toBe(true);
    expect(await held(redis.port, kind, name)).toBeNull();
    expect(await kind.of(owner, name).using(() => 'free')).toBe('free');
    expect(proxy.history.filter(kind.acquires)).toEqual([]);
    expect(hasRun).toBe(false);
  });

  test('while its attempt is under way does not wait for the answer, and a grant that crosses it is released', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, kind);
    for (const verb of ['acquire', 'tryAcquire'] as const) {
      const name = bench.name();
      const controller = new AbortController();
      const slow = proxy.delayReply(kind.acquires, SLOW_MS);
      const acquiring = rejection(kind.of(locks, name)[verb]({ signal: controller.signal }));
      await slow;
      // However long the look takes, the answer comes after it.
      proxy.freeze();
      controller.abort(REASON);
      expectAborted(await atOnce(acquiring), name);
      expect(await held(redis.port, kind, name)).not.toBeNull();
      proxy.thaw();
      await untilFree(redis.port, kind, name);
    }
  });

  test('while its attempt is under way leaves the grant to the next caller of the process', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, kind);
    const name = bench.name();
    const controller = new AbortController();
    const slow = proxy.delayReply(kind.acquires, SLOW_MS);
    proxy.clearHistory();
    const first = rejection(kind.of(locks, name).acquire({ signal: controller.signal }));
    const second = kind.of(locks, name).acquire();
    const third = kind.of(locks, name).acquire();
    await slow;
    controller.abort(REASON);
    expectAborted(await first, name);
    const lease = await second;
    expect(lease.isHeld).toBe(true);
    // One request served it: that of the caller who left.
    expect(proxy.history.filter(kind.acquires)).toHaveLength(1);
    expect(await lease.release()).toBe(true);
    expect(await (await third).release()).toBe(true);
    await untilFree(redis.port, kind, name);
  });

  test('of the first in the queue lets the next one wait on, and be served', async () => {
    const owner = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const locks = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const controller = new AbortController();
    const first = rejection(kind.of(locks, name).acquire({ signal: controller.signal }));
    const second = kind.of(locks, name).acquire();
    await untilListening(redis.port, kind, name);
    controller.abort(REASON);
    expectAborted(await first, name);
    expect(await lease.release()).toBe(true);
    expect(await (await second).release()).toBe(true);
    await untilListening(redis.port, kind, name, { count: 0 });
  });

  test('while the subscription is under way leaves no place in line, and the next wait uses the subscription', async () => {
    const owner = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const controller = new AbortController();
    const slow = proxy.delayReply(command('SUBSCRIBE'), SLOW_MS);
    const waiting = rejection(kind.of(locks, name).acquire({ signal: controller.signal }));
    await slow;
    proxy.freeze();
    expect(await mailboxes()).toBe(1);
    controller.abort(REASON);
    expectAborted(await atOnce(waiting), name);
    proxy.thaw();
    // The channel of the session stays for the next wait. Nobody has subscribed to that of the name.
    const next = kind.of(locks, name).acquire();
    await untilListening(redis.port, kind, name, { count: 1 });
    expect(await waitingIn(redis.port, name)).toBe(1);
    expect(await mailboxes()).toBe(1);
    expect(proxy.history.filter(command('SUBSCRIBE'))).toHaveLength(1);
    expect(await lease.release()).toBe(true);
    expect(await (await next).release()).toBe(true);
  });

  test('while the body runs does not end the lease, and the lock is released when the body ends', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    const name = bench.name();
    const controller = new AbortController();
    const { signal } = controller;
    const running = kind.of(locks, name).using(
      async (lease) => {
        controller.abort(REASON);
        expect(lease.isHeld).toBe(true);
        expect(lease.signal.aborted).toBe(false);
        signal.throwIfAborted();
      },
      { signal },
    );
    expect(await rejection(running)).toBe(REASON);
    expect(await held(redis.port, kind, name)).toBeNull();
  });
});

test('an abort while a re-entry turns into a wait of its own is not lost', async () => {
  const locks = await bench.session(redis.port, { leaseMs: LEASE_MS });
  const name = bench.name();
  const lock = locks.lock(name);
  const outer = await lock.acquire();
  const inner = await lock.acquire({ within: outer });
  const controller = new AbortController();
  // Behind its sibling, until the lease above both is released: then it must queue like any other caller.
  const sibling = rejection(lock.acquire({ within: outer, signal: controller.signal }));
  const released = outer.release();
  controller.abort(REASON);
  expect(await released).toBe(true);
  const limit = new Promise((resolve) => setTimeout(resolve, 5_000, 'still waiting').unref());
  expectAborted(await Promise.race([sibling, limit]), name);
  expect(await inner.release()).toBe(true);
});
