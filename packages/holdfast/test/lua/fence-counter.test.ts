/** How long a counter of fences lives: what each script that touches it states, on a real server. */
import { describe, expect, test } from 'vitest';
import type { ScriptCall } from '../../src/clients/client.ts';
import { lockAcquire, lockRaise, lockRecount, lockRenew } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const LOCK = 'order';
const FENCE = 'redisson_lock_token:{order}';
const LINE = 'holdfast_line:{order}';
const HOLDER = 'session:1';
const LEASE_MS = 30_000;
const TTL_MS = 600_000;
const HOUR_MS = 3_600_000;
/** Longer than any stall of the machine that runs the tests. */
const LONG_MS = 60_000;
/** A relative expiry is counted from the script's beginning, by the server's own idea of it. */
const SLACK_MS = 5_000;

interface Changes {
  readonly leaseMs?: number;
  readonly fenceTtlMs?: number;
  readonly lastFence?: number;
}

function acquire({ leaseMs = LEASE_MS, fenceTtlMs = TTL_MS }: Changes = {}): ScriptCall {
  const keys = { lock: LOCK, fence: FENCE, line: LINE, holder: HOLDER };
  return lockAcquire.call({
    ...keys,
    leaseMs,
    fences: 1,
    fenceTtlMs,
    notAfterMs: 0,
    wantsTime: 1,
    commonUs: 0,
    ticket: '',
  });
}

function renew({ leaseMs = LEASE_MS, fenceTtlMs = TTL_MS, lastFence = 0 }: Changes = {}): ScriptCall {
  return lockRenew.call([{ lock: LOCK, fence: FENCE, holder: HOLDER, leaseMs, lastFence, fenceTtlMs }]);
}

function recount({ leaseMs = LEASE_MS, fenceTtlMs = TTL_MS, lastFence = 0 }: Changes = {}): ScriptCall {
  const keys = { lock: LOCK, fence: FENCE, holder: HOLDER };
  return lockRecount.call({ ...keys, count: 2, leaseMs, fixed: 0, lastFence, fenceTtlMs });
}

/** To one more than what stands there. */
async function raise({ fenceTtlMs = TTL_MS }: Changes = {}): Promise<ScriptCall> {
  const last = Number(await database.redis.get(FENCE)) + 1;
  return lockRaise.call({ lock: LOCK, fence: FENCE, holder: HOLDER, last, fenceTtlMs, isGiven: 0 });
}

async function grant(changes: Changes = {}): Promise<{ nowMs: number; fence: number }> {
  const outcome = lockAcquire.decode(await database.run(acquire(changes)));
  if (outcome.is !== 'GRANTED' || outcome.nowMs === undefined) throw new Error('expected a grant');
  return { nowMs: outcome.nowMs, fence: outcome.firstFence };
}

/** When the counter expires, by the server's clock. */
async function expiresMs(): Promise<number> {
  return Number(await database.redis.call('PEXPIRETIME', FENCE));
}

/** Runs it and expects the counter to expire so long after. */
async function expectLife(lifeMs: number, run: () => Promise<unknown>): Promise<void> {
  const beforeMs = await database.nowMs();
  await run();
  const foundMs = await expiresMs();
  expect(foundMs).toBeGreaterThanOrEqual(beforeMs + lifeMs - 1);
  expect(foundMs).toBeLessThanOrEqual((await database.nowMs()) + lifeMs + 1);
}

async function expectExpiry(atMs: number): Promise<void> {
  const foundMs = await expiresMs();
  expect(foundMs).toBeLessThanOrEqual(atMs + SLACK_MS);
  expect(foundMs).toBeGreaterThanOrEqual(atMs - SLACK_MS);
}

/** A counter an hour ahead of the clock, as after the clock was set back. */
async function putAhead(...more: string[]): Promise<number> {
  const aheadMs = (await database.nowMs()) + HOUR_MS;
  await database.redis.call('SET', FENCE, `${aheadMs * 1_000}`, ...more);
  return aheadMs;
}

describe('a counter lives', () => {
  test('for so long after the lease of a new name', async () => {
    const { nowMs } = await grant();
    expect(await expiresMs()).toBe(nowMs + LEASE_MS + TTL_MS);
  });

  test('for so long after the lease of a name in use', async () => {
    await grant();
    await database.redis.del(LOCK);
    await expectLife(2 * HOUR_MS + TTL_MS, () => grant({ leaseMs: 2 * HOUR_MS }));
  });

  test('for so long after the time of a fence that is ahead of the clock, however often it is used', async () => {
    const aheadMs = await putAhead('PX', `${LONG_MS}`);
    for (let i = 0; i < 3; i += 1) {
      await grant();
      await expectExpiry(aheadMs + TTL_MS);
      await database.redis.del(LOCK);
    }
  });

  test('for so long after a lease that was renewed', async () => {
    await grant();
    await expectLife(2 * HOUR_MS + TTL_MS, () => database.run(renew({ leaseMs: 2 * HOUR_MS })));
  });

  test('for so long after a lease that entering again has prolonged', async () => {
    await grant();
    await expectLife(2 * HOUR_MS + TTL_MS, () => database.run(recount({ leaseMs: 2 * HOUR_MS })));
  });

  test('for so long after a lease that was asked for again', async () => {
    await grant();
    await expectLife(2 * HOUR_MS + TTL_MS, () => grant({ leaseMs: 2 * HOUR_MS }));
  });

  test('for so long after the time of a fence that it was raised to', async () => {
    await grant();
    const aheadMs = await putAhead('KEEPTTL');
    await database.run(await raise());
    await expectExpiry(aheadMs + TTL_MS);
  });

  test('as long as one by one: a batch of 128 states each its own', async () => {
    const items = Array.from({ length: 128 }, (_, i) => ({
      lock: `order:${i}`,
      fence: `redisson_lock_token:{order:${i}}`,
      holder: HOLDER,
      leaseMs: (i + 1) * HOUR_MS,
      lastFence: 0,
      fenceTtlMs: TTL_MS,
    }));
    for (const { lock, fence } of items) {
      await database.redis.hset(lock, HOLDER, '1');
      await database.redis.set(fence, '7', 'PX', LONG_MS);
    }
    const nowMs = await database.nowMs();
    await database.run(lockRenew.call(items));
    for (const { fence, leaseMs } of items) {
      const foundMs = Number(await database.redis.call('PEXPIRETIME', fence));
      // To within half of what sets one lease apart from the next.
      expect(Math.abs(foundMs - nowMs - leaseMs - TTL_MS)).toBeLessThan(HOUR_MS / 2);
    }
  });
});

async function acquireAnew(changes: Changes): Promise<ScriptCall> {
  await database.redis.del(LOCK);
  return acquire(changes);
}

const TOUCHES: readonly [name: string, touch: (changes: Changes) => Promise<ScriptCall>][] = [
  ['an acquisition', acquireAnew],
  ['a repeated acquisition', async (changes) => acquire(changes)],
  ['a renewal', async (changes) => renew(changes)],
  ['a renewal that raises it', async (changes) => renew({ ...changes, lastFence: 9_000_000_000_000_000 })],
  ['an entry that prolongs', async (changes) => recount({ ...changes, leaseMs: 2 * LEASE_MS })],
  ['a raise', (changes) => raise(changes)],
];

describe.each(TOUCHES)('%s', (_name, touch) => {
  test('does not shorten the life of a counter that is to live longer', async () => {
    await grant({ fenceTtlMs: 10 * HOUR_MS });
    const before = await expiresMs();
    await database.run(await touch({ fenceTtlMs: 1_000 }));
    expect(await expiresMs()).toBeGreaterThanOrEqual(before);
  });

  test('gives no expiry to a counter that lives for ever', async () => {
    await grant({ fenceTtlMs: 0 });
    await database.expectNoTtl(FENCE);
    await database.run(await touch({}));
    await database.expectNoTtl(FENCE);
  });

  test('with a life for ever sets no expiry', async () => {
    await grant({ fenceTtlMs: 0 });
    await database.run(await touch({ fenceTtlMs: 0 }));
    await database.expectNoTtl(FENCE);
  });
});

test('an acquisition with a life for ever takes the expiry away', async () => {
  await database.redis.set(FENCE, '7', 'PX', LONG_MS);
  await grant({ fenceTtlMs: 0 });
  await database.expectNoTtl(FENCE);
});

describe('a renewal', () => {
  test('puts a counter back that was lost, with its life', async () => {
    const { fence } = await grant();
    await database.redis.del(FENCE);
    await expectLife(LEASE_MS + TTL_MS, () => database.run(renew({ lastFence: fence + 64 })));
    expect(await database.redis.get(FENCE)).toBe(`${fence + 64}`);
  });

  test('raises a counter that is behind, and lowers none', async () => {
    const { fence } = await grant();
    await database.run(renew({ lastFence: fence + 64 }));
    expect(await database.redis.get(FENCE)).toBe(`${fence + 64}`);
    await database.run(renew({ lastFence: fence }));
    expect(await database.redis.get(FENCE)).toBe(`${fence + 64}`);
  });

  test('leaves the counter of a lock alone that is not ours any more', async () => {
    const { fence } = await grant();
    const before = await expiresMs();
    await database.redis.del(LOCK);
    await database.run(renew({ leaseMs: HOUR_MS, lastFence: fence + 64 }));
    expect([await database.redis.get(FENCE), await expiresMs()]).toEqual([`${fence}`, before]);
  });

  test.each([
    ['SET', FENCE, 'somebody’s'],
    ['RPUSH', FENCE, 'a list'],
  ])('is made although the counter cannot be read: %s', async (command, ...rest) => {
    await grant();
    await database.redis.del(FENCE);
    await database.redis.call(command, ...rest);
    const contents = await database.contents();
    const reply = await database.run(renew({ leaseMs: HOUR_MS, lastFence: 9 }));
    expect(lockRenew.decode(reply, 1)).toEqual(['RENEWED']);
    expect(await database.redis.pttl(LOCK)).toBeGreaterThan(HOUR_MS / 2);
    expect(await database.contents()).toEqual(contents);
  });

  test('with the lock’s key in the counter’s place leaves the counter alone', async () => {
    const { fence } = await grant();
    const before = await expiresMs();
    const item = { lock: LOCK, fence: LOCK, holder: HOLDER, leaseMs: HOUR_MS, lastFence: fence + 64 };
    const reply = await database.run(lockRenew.call([{ ...item, fenceTtlMs: TTL_MS }]));
    expect(lockRenew.decode(reply, 1)).toEqual(['RENEWED']);
    const counted = await database.run(lockRecount.call({ ...item, count: 2, fixed: 0, fenceTtlMs: TTL_MS }));
    expect(lockRecount.decode(counted)).toEqual({ is: 'COUNTED' });
    expect(await database.contents()).toEqual({ [LOCK]: { [HOLDER]: '2' }, [FENCE]: `${fence}` });
    expect(await expiresMs()).toBe(before);
  });
});
