/**
 * Two kinds of lock that only tests have, N permits and shared readers, on a real server: the seam carries kinds that
 * do not exclude, without fences and without re-entry.
 */
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { adaptClient } from '../../src/clients/adapt.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import type { Protocol, Statement } from '../../src/topologies/protocol.ts';
import { SingleTopology } from '../../src/topologies/single.ts';
import type { AcquireResult } from '../../src/topologies/topology.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { PermitsProtocol } from './support/permits-protocol.ts';
import { ReadersProtocol } from './support/readers-protocol.ts';

const LEASE_MS = 30_000;
const TIMEOUT_MS = 5_000;

const server = useRedis();
let redis: Redis;
let topology: SingleTopology;

beforeEach(async () => {
  redis = new Redis({ port: server.port });
  await redis.flushall();
  const timers = new TimerQueue(systemClock);
  const client = adaptClient(redis, { timers, random: systemRandom });
  const options = { callTimeoutMs: TIMEOUT_MS, random: systemRandom, replicas: null };
  topology = new SingleTopology(client, timers, options);
});
afterEach(async () => {
  topology.stop();
  await topology.close();
  await redis.quit();
});

let numbers = 0;
const ids = { session: 's', nextNumber: () => ++numbers, token: () => 't' };

async function acquire(protocol: Protocol): Promise<[holder: string, result: AcquireResult]> {
  const holder = protocol.newHolder(ids);
  return [holder, await topology.acquire(protocol, { holder, leaseMs: LEASE_MS, fences: 1 }, TIMEOUT_MS)];
}

function release(protocol: Protocol, holder: string): Promise<unknown> {
  return topology.release(protocol, { holder, leaseMs: LEASE_MS }, TIMEOUT_MS);
}

function renewalOf(protocol: Protocol, holder: string): Statement {
  const known = { isLive: true, lastFence: undefined };
  return { protocol, holder, leaseMs: LEASE_MS, known, batch: protocol.renewal };
}

describe('N permits', () => {
  const permits = new PermitsProtocol('seats', 2);

  test('are granted to N holders, and the next is told how long the first of them lasts', async () => {
    const [first, granted] = await acquire(permits);
    const [, alsoGranted] = await acquire(permits);
    const [, held] = await acquire(permits);
    expect([granted, alsoGranted]).toMatchObject([{ is: 'granted' }, { is: 'granted' }]);
    expect(held).toMatchObject({ is: 'held', isSplit: false });
    expect(held.is === 'held' && held.ttlMs > 0 && held.ttlMs <= LEASE_MS).toBe(true);
    expect(await release(permits, first)).toEqual({ is: 'released', receivers: 0 });
    expect(await release(permits, first)).toEqual({ is: 'gone' });
    expect((await acquire(permits))[1]).toMatchObject({ is: 'granted' });
  });

  test('are kept by statements of many names in one call, and a permit that is not there is gone', async () => {
    const others = new PermitsProtocol('tables', 1);
    const [seat] = await acquire(permits);
    const [table] = await acquire(others);
    const renewals = [renewalOf(permits, seat), renewalOf(permits, 's:0'), renewalOf(others, table)];
    expect(await topology.state(renewals, TIMEOUT_MS)).toEqual([
      { is: 'kept' },
      { is: 'gone' },
      { is: 'kept' },
    ]);
  });

  test('that are abandoned are free for the next', async () => {
    const [first] = await acquire(permits);
    const [second] = await acquire(permits);
    for (const holder of [first, second]) topology.abandon(permits, { holder, leaseMs: LEASE_MS });
    await waitFor(() => topology.holders.size === 0, { what: 'the releases' });
    expect(await redis.exists(permits.key)).toBe(0);
  });
});

describe('shared readers', () => {
  const readers = new ReadersProtocol('page');

  test('are granted together, and not while a writer has the other key', async () => {
    const [first, granted] = await acquire(readers);
    expect([granted, (await acquire(readers))[1]]).toMatchObject([{ is: 'granted' }, { is: 'granted' }]);
    await redis.set(readers.writerKey, 'w', 'PX', LEASE_MS);
    expect((await acquire(readers))[1]).toMatchObject({ is: 'held' });
    expect(await topology.state([renewalOf(readers, first)], TIMEOUT_MS)).toEqual([{ is: 'kept' }]);
    expect(await release(readers, first)).toMatchObject({ is: 'released' });
    expect(await topology.state([renewalOf(readers, first)], TIMEOUT_MS)).toEqual([{ is: 'gone' }]);
  });

  test('wake whoever waits when the last of them leaves', async () => {
    const heard: (string | null)[] = [];
    const stop = await topology.listen(readers.channel, (message) => heard.push(message), TIMEOUT_MS);
    const [first] = await acquire(readers);
    const [second] = await acquire(readers);
    expect(await release(readers, first)).toEqual({ is: 'released', receivers: 0 });
    expect(await release(readers, second)).toEqual({ is: 'released', receivers: 1 });
    await waitFor(() => heard.length > 0, { what: 'the message' });
    expect(heard).toEqual(['0']);
    if (typeof stop === 'function') stop();
  });

  test('that are abandoned are gone, and a reader that the server calls gone is left alone', async () => {
    const [first] = await acquire(readers);
    const [second] = await acquire(readers);
    topology.abandon(readers, { holder: first, leaseMs: LEASE_MS });
    topology.abandon(readers, { holder: second, leaseMs: LEASE_MS }, true);
    await waitFor(() => topology.holders.size === 0, { what: 'the release' });
    expect(await redis.hkeys(readers.key)).toEqual([second]);
  });
});
