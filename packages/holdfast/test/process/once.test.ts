/** `once` in real processes that are killed and frozen. */
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { Locks } from '../../src/index.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { type Child, startChild, useChildren } from '../support/processes/child.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import type { OnceLine, OnceTask } from './children/once-worker.ts';
import { CALL_TIMEOUT_MS, START_LIMIT_MS } from './limits.ts';

const LEASE_MS = 3_000;
/** Of a crowd, in which each waits for its turn at the machine: a survivor must not lose a body to a stall. */
const CROWD_LEASE_MS = 5_000;
const KEYS = 150;

const redis = useRedis();
// Results stay: that is what they are for.
useLeakCheck(redis, { ignoreKeys: [/redisson_lock_token:/, /holdfast_once:/] });
useChildren();

function start(task: Partial<OnceTask> & Pick<OnceTask, 'way' | 'key'>): Child<OnceLine> {
  const whole: OnceTask = { port: redis.port, client: 'ioredis', leaseMs: LEASE_MS, ...task };
  return startChild<OnceLine>('test/process/children/once-worker.ts', [JSON.stringify(whole)]);
}

/** A child whose body runs. */
async function running(key: string, client: OnceTask['client'] = 'ioredis') {
  const child = start({ way: 'wait', key, client });
  const { began } = await child.next((line) => line.began !== undefined, START_LIMIT_MS);
  if (began === undefined) throw new Error('it has begun');
  return { child, began };
}

function open(): Locks {
  return new Locks(new Redis(redis.port, { lazyConnect: true }), { callTimeoutMs: CALL_TIMEOUT_MS });
}

const lockTtlMs = async (key: string): Promise<number> =>
  Number(await ask(redis.port, ['PTTL', `holdfast_once_lock:{${key}}`]));

async function untilExpired(key: string): Promise<void> {
  await waitFor(async () => (await lockTtlMs(key)) === -2, { what: 'the end of the lease', limitMs: 60_000 });
}

describe('a process that runs the body', { timeout: 2 * START_LIMIT_MS }, () => {
  test('is killed: a waiter starts the next attempt after the lease and not before', async () => {
    const { child, began } = await running('killed', 'redis');
    await using locks = open();
    const waiting = locks.once('killed', ({ attempt, fence }) => ({ attempt, fence }));
    child.stop();
    const askedMs = performance.now();
    const leftMs = await lockTtlMs('killed');
    await child.kill('SIGKILL');
    const { attempt, fence } = await waiting;
    expect(performance.now() - askedMs).toBeGreaterThanOrEqual(leftMs - 2);
    expect(attempt).toBe(2);
    expect(fence).toBeGreaterThan(began.fence);
  });

  test('is killed between body and storing: the body runs again', async () => {
    const child = start({ way: 'die', key: 'died' });
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(child.lines).toMatchObject([{ began: { attempt: 1 } }]);
    await using locks = open();
    expect(await locks.once('died', ({ attempt }) => attempt)).toBe(2);
  });

  test('is frozen and replaced: when it comes back it is told, and its result is not stored', async () => {
    const { child } = await running('frozen');
    child.stop();
    await untilExpired('frozen');
    await using locks = open();
    expect(await locks.once('frozen', ({ attempt }) => `attempt ${attempt}`)).toBe('attempt 2');
    child.cont();
    child.send('go on');
    const { error } = await child.next((line) => line.error !== undefined || line.result !== undefined);
    expect(error).toEqual({ code: 'ELOCKLOST', outcome: { status: 'fulfilled', value: `of ${child.pid}` } });
    expect(await locks.once('frozen', () => 'another')).toBe('attempt 2');
    expect(await child.exited).toMatchObject({ code: 0 });
  });

  test('is frozen and not replaced: when it comes back its result is stored', async () => {
    const { child } = await running('late');
    child.stop();
    await untilExpired('late');
    child.cont();
    child.send('go on');
    expect(await child.next((line) => line.result !== undefined || line.error !== undefined)).toEqual({
      result: `of ${child.pid}`,
    });
    await using locks = open();
    expect(await locks.once('late', () => 'another')).toBe(`of ${child.pid}`);
    expect(await child.exited).toMatchObject({ code: 0 });
  });
});

test('four processes with the same requests, one killed: all agree on one result for each key', {
  timeout: 2 * START_LIMIT_MS,
}, async () => {
  const clients = ['ioredis', 'redis', 'ioredis', 'ioredis'] as const;
  const children = clients.map((client) =>
    start({ way: 'crowd', key: 'crowd:', keys: KEYS, client, leaseMs: CROWD_LEASE_MS }),
  );
  for (const child of children) await child.next((line) => line.ready === true, START_LIMIT_MS);
  for (const child of children) child.send('go');
  const [victim, ...survivors] = children;
  await waitFor(async () => Number(await ask(redis.port, ['EXISTS', 'holdfast_once:{crowd:3}'])) === 1, {
    what: 'a beginning',
  });
  await victim?.kill('SIGKILL');
  const told = await Promise.all(survivors.map((child) => child.next((line) => line.results !== undefined)));
  const [first, ...others] = told.map(({ results }) => results);
  expect(first).toHaveLength(KEYS);
  for (const other of others) expect(other).toEqual(first);
});
