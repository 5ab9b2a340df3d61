/** When what a tick writes goes out in one system call. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { Redis as Iovalkey } from 'iovalkey';
import { describe, expect, test } from 'vitest';
import { asIoredis, IoredisDriver } from '../../../src/clients/ioredis/ioredis.ts';
import { echo } from '../scripts.ts';

const EVENTS = { lost: () => {}, message: () => {}, dropped: () => {} };

/** A client with this many commands in flight, and what it did, in order. */
async function connected(inFlight: number) {
  const done: string[] = [];
  const client = {
    options: {},
    commandQueue: { length: inFlight },
    stream: { unref: () => {}, cork: () => done.push('cork'), uncork: () => done.push('uncork') },
    duplicate: () => client,
    on: () => {},
    connect: async () => {},
    disconnect: () => {},
    client: async () => 'OK',
    evalsha: async () => done.push('write'),
  };
  const driver = new IoredisDriver(asIoredis(client));
  const raw = await driver.dial(EVENTS, new AbortController().signal);
  return { done, raw };
}

describe('ioredis writes', () => {
  test.each([0, 1])('each script at once with %i in flight: a lone caller never waits', async (inFlight) => {
    const { done, raw } = await connected(inFlight);
    void raw.send(echo('a'), false);
    void raw.send(echo('b'), false);
    await nextTurn();
    expect(done).toEqual(['write', 'write']);
  });

  test('all scripts of a tick together with two or more in flight', async () => {
    const { done, raw } = await connected(2);
    void raw.send(echo('a'), false);
    void raw.send(echo('b'), false);
    expect(done).toEqual(['cork', 'write', 'write']);
    await nextTurn();
    void raw.send(echo('c'), false);
    await nextTurn();
    expect(done).toEqual(['cork', 'write', 'write', 'uncork', 'cork', 'write', 'uncork']);
  });

  test.each([
    ['ioredis 6', new Redis({ lazyConnect: true })],
    ['ioredis 5.4', new Redis5({ lazyConnect: true })],
    ['iovalkey', new Iovalkey({ lazyConnect: true })],
  ])('and %s tells how many are in flight', (_, client) => {
    expect(asIoredis(client).commandQueue?.length).toBe(0);
  });
});
