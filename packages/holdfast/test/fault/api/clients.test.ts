/** What is not a client we can use is refused when it is handed in, in words that say what it is instead. */

import { EmbeddedNode } from 'holdfast-testing';
import { Redis } from 'ioredis';
import { createClient, createClientPool } from 'redis';
import { describe, expect, test } from 'vitest';
import {
  CLIENT,
  type Client,
  LockConfigError,
  Locks,
  type LocksOptions,
  LockUnknownError,
  type RedisClient,
} from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';

useLeakCheck();
const bench = useBench();

/** As a caller without types would. */
const construct = (client: unknown, options?: unknown): Locks =>
  new Locks(client as RedisClient, options as LocksOptions);

function refusal(client: unknown, options?: unknown): Error {
  try {
    construct(client, options);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error(`expected a refusal of ${String(client)}`);
}

function lazyRedis(options: object = {}): Redis {
  const client = new Redis({ lazyConnect: true, ...options });
  bench.onEnd(() => client.disconnect());
  return client;
}

const WRONG: readonly [what: string, make: () => unknown, says: RegExp][] = [
  ['nothing', () => undefined, /got undefined/],
  ['null', () => null, /got null/],
  ['a URL', () => 'redis://127.0.0.1:6379', /got a string/],
  ['a port', () => 6379, /got a number/],
  ['a class', () => Redis, /got a function/],
  ['an empty object', () => ({}), /an object without methods/],
  ['connection options', () => ({ host: '127.0.0.1', port: 6379 }), /an object without methods/],
  ['a map', () => new Map(), /an object with the methods .*get/],
  ['a promise of a client', () => Promise.resolve(1), /a promise; await it first/],
  ['half a client', () => ({ evalsha: () => {}, duplicate: () => {} }), /methods evalsha, duplicate/],
  ['a pipeline of ioredis', () => lazyRedis().pipeline(), /pipeline/],
  ['a multi of node-redis', () => createClient().multi(), /multi/],
  ['a pool of node-redis', () => createClientPool(), /pool/],
];

describe('a wrong client is refused at construction', () => {
  test.each(WRONG)('%s', (_what, make, says) => {
    const error = refusal(make());
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error).toMatchObject({ code: 'ELOCKCONFIG' });
    expect(error.message).toMatch(/^expected a client of ioredis, node-redis, iovalkey or GLIDE, got /);
    expect(error.message).toMatch(says);
  });
});

describe('wrong options are refused at construction, naming what was expected and got', () => {
  test.each([
    [{ leaseMs: 0 }, /expected leaseMs to be an integer from 4 .*got 0/],
    [{ leaseMs: 1.5 }, /leaseMs.*got 1\.5/],
    [{ leaseMs: '30s' }, /leaseMs.*got "30s"/],
    [{ leaseMs: Number.NaN }, /leaseMs.*got NaN/],
    [{ callTimeoutMs: 0 }, /callTimeoutMs/],
    [{ handovers: -1 }, /handovers/],
    [{ outageMs: Number.POSITIVE_INFINITY }, /outageMs/],
    [{ prefix: 1 }, /prefix to be a string, got 1/],
    [{ shareConnection: true }, /expected an option of Locks among .* got "shareConnection"/],
    [{ ttl: 1 }, /got "ttl"/],
    [null, /options of Locks to be an object, got null/],
    [[], /options of Locks to be an object, got an array/],
  ])('%j', (options, says) => {
    const error = refusal(lazyRedis(), options);
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toMatch(says);
  });
});

test('a client of your own making that rejects a release does not stop those who wait for it', async () => {
  const node = new EmbeddedNode();
  bench.onEnd(() => node.close());
  const inner = node.client();
  let rejections = 1;
  const client: Client = {
    [CLIENT]: true,
    description: 'a client that rejects',
    keyPrefix: '',
    isConnected: true,
    connections: 1,
    run: (call, timeoutMs) => {
      if (!call.script.name.endsWith('.release') || rejections === 0) return inner.run(call, timeoutMs);
      rejections -= 1;
      return Promise.reject(new Error('against the rules of the seam'));
    },
    listen: (channel, wake, timeoutMs) => inner.listen(channel, wake, timeoutMs),
    close: () => inner.close(),
  };
  const locks = new Locks(client, { handovers: 0 });
  bench.onEnd(() => locks.destroy());
  const lease = await locks.lock('a').acquire();
  const waiting = locks.lock('a').acquire({ waitMs: 20_000 });
  await expect(lease.release()).rejects.toBeInstanceOf(LockUnknownError);
  const next = await waiting;
  expect(next.fence).toBeGreaterThan(lease.fence);
  expect(await next.release()).toBe(true);
});
