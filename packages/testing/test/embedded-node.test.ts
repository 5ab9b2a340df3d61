/** What a user of the embedded node relies on. */

import { CallFailure, type FencedLease, LockLostError, Locks, LockUnavailableError } from 'holdfast';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { useLeakCheck } from '../../holdfast/test/support/leak-check.ts';
import { RawConnection } from '../../holdfast/test/support/servers/raw-connection.ts';
import { RespError } from '../../holdfast/test/support/servers/resp.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { EmbeddedNode, ManualClock } from '../src/index.ts';

useLeakCheck();

/** Resolves when somebody waits for the lock `a`. */
async function untilWaiting(locks: Locks): Promise<void> {
  await waitFor(async () => {
    const found = await locks.inspect('a');
    return found?.kind === 'lock' && found.waiters === 1;
  });
}

/** For an answer that comes, however busy the machine is. */
const LONG_MS = 20_000;

const PING = { name: 'ping', sha: 'f'.repeat(40), source: 'return 1' };
const call = { script: PING, keys: [], args: [] };

describe('with a clock that a test moves', () => {
  test('a lease is renewed, lost and expires without any waiting', async () => {
    const clock = new ManualClock();
    await using node = new EmbeddedNode({ clock });
    await using locks = new Locks(node.client(), { clock });
    const renewed = await locks.lock('renewed').acquire({ leaseMs: 30_000 });
    const fixed = await locks.lock('fixed').acquire({ leaseMs: 30_000, renew: false });
    await clock.advance(60_000);
    expect(renewed.isHeld).toBe(true);
    expect(fixed.signal.reason).toBeInstanceOf(LockLostError);
    expect(await node.command('EXISTS', 'renewed', 'fixed')).toBe(1);
  });

  test('a waiter gets the lock when the lease of a dead owner runs out', async () => {
    const clock = new ManualClock();
    await using node = new EmbeddedNode({ clock });
    await using locks = new Locks(node.client(), { clock });
    await node.command('HSET', 'job', 'somebody-else:1', '1');
    await node.command('PEXPIRE', 'job', '30000');
    let got: FencedLease | null = null;
    const waiting = locks
      .lock('job')
      .acquire()
      .then((lease) => {
        got = lease;
      });
    await clock.advance(29_000);
    expect(got).toBeNull();
    await clock.advance(2_000);
    await waiting;
    expect(got).not.toBeNull();
  });

  test('time that only the node sees takes a lease away', async () => {
    const clock = new ManualClock();
    await using node = new EmbeddedNode({ clock });
    await using locks = new Locks(node.client(), { clock });
    const lease = await locks.lock('a').acquire({ leaseMs: 30_000 });
    const { signal } = lease;
    node.advance(30_001);
    expect(await node.command('EXISTS', 'a')).toBe(0);
    await clock.advance(15_000);
    expect(signal.reason).toBeInstanceOf(LockLostError);
  });
});

describe('a client in the process', () => {
  test('wakes a waiter of another session', async () => {
    await using node = new EmbeddedNode();
    await using first = new Locks(node.client());
    await using second = new Locks(node.client());
    const lease = await first.lock('a').acquire();
    const waiting = second.lock('a').acquire();
    await untilWaiting(first);
    await lease.release();
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });

  test('tells a reply, a node that is gone and a client that is closed apart', async () => {
    const node = new EmbeddedNode();
    const client = node.client();
    expect(await client.run(call, LONG_MS)).toBe(1);
    const failing = { ...PING, sha: 'e'.repeat(40), source: "return redis.call('HGET', KEYS[1], 'f')" };
    await node.command('SET', 'k', 'v');
    expect(await client.run({ script: failing, keys: ['k'], args: [] }, LONG_MS)).toMatchObject({
      kind: 'reply',
      word: 'WRONGTYPE',
    });
    expect(await client.run(call, 0)).toMatchObject({ kind: 'unreachable' });
    await node.close();
    expect(client.isConnected).toBe(false);
    expect(await client.run(call, LONG_MS)).toMatchObject({ kind: 'unreachable' });
    await client.close();
    expect(await client.run(call, LONG_MS)).toMatchObject({ kind: 'closed' });
  });

  test('does not know what became of a call to a node that stands still', async () => {
    const clock = new ManualClock();
    await using node = new EmbeddedNode({ clock });
    const client = node.client();
    await client.run(call, LONG_MS);
    node.pause();
    const counting = { ...PING, sha: 'd'.repeat(40), source: "return redis.call('INCR', KEYS[1])" };
    const answers = [1_000, 60_000].map((timeoutMs) =>
      client.run({ script: counting, keys: ['n'], args: [] }, timeoutMs),
    );
    await clock.advance(1_000);
    expect(await answers[0]).toMatchObject({ kind: 'unknown' });
    node.resume();
    expect(await answers[1]).toBe(2);
    await client.close();
  });

  test('hears again after a restart, and is told that it may have missed something', async () => {
    await using node = new EmbeddedNode();
    const client = node.client();
    const heard: (string | null)[] = [];
    const stop = await client.listen('news', (message) => heard.push(message), LONG_MS);
    if (stop instanceof CallFailure) throw new Error(stop.text);
    await node.command('PUBLISH', 'news', 'one');
    node.restart();
    await waitFor(() => heard.includes(null));
    await node.command('PUBLISH', 'news', 'zwölf');
    await waitFor(() => heard.length === 3);
    expect(heard).toEqual(['one', null, 'zwölf']);
    stop();
    expect(await node.command('PUBLISH', 'news', 'three')).toBe(0);
    await client.close();
  });
});

describe('a restart', () => {
  test('keeps nothing, or what a snapshot holds, and never the scripts', async () => {
    await using node = new EmbeddedNode();
    await node.command('SET', 'a', '1');
    await node.command('HSET', 'h', 'f', '1');
    const sha = String(await node.command('SCRIPT', 'LOAD', 'return 1'));
    const snapshot = node.snapshot();
    await node.command('HSET', 'h', 'f', '2');
    const before = await node.command('INFO', 'server');
    node.restart(snapshot);
    expect(await node.command('HGETALL', 'h')).toEqual(['f', '1']);
    await expect(node.command('EVALSHA', sha, '0')).rejects.toThrow('NOSCRIPT');
    expect(await node.command('INFO', 'server')).not.toBe(before);
    node.restart();
    expect(await node.command('DBSIZE')).toBe(0);
    node.restart(snapshot);
    expect(await node.command('GET', 'a')).toBe('1');
  });

  test('of a node without its keys is noticed by the owner', async () => {
    const clock = new ManualClock();
    await using node = new EmbeddedNode({ clock });
    await using locks = new Locks(node.client(), { clock });
    const { signal } = await locks.lock('a').acquire({ leaseMs: 30_000 });
    node.restart();
    await clock.advance(11_000);
    expect(signal.reason).toBeInstanceOf(LockLostError);
  });
});

describe('over a socket', () => {
  test('ioredis and node-redis share a lock', async () => {
    await using node = new EmbeddedNode();
    const { port, url } = await node.listen();
    const ioredis = new Redis(port, '127.0.0.1');
    const nodeRedis = createClient({ url });
    await nodeRedis.connect();
    const [first, second] = [new Locks(ioredis), new Locks(nodeRedis)];
    const lease = await first.lock('a').acquire();
    expect(await second.lock('a').tryAcquire()).toBeNull();
    const waiting = second.lock('a').acquire();
    await untilWaiting(first);
    await lease.release();
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
    await Promise.all([first.close(), second.close()]);
    await Promise.all([ioredis.quit(), nodeRedis.close()]);
  });

  test('messages and replies come in the order in which they came about', async () => {
    await using node = new EmbeddedNode();
    const { port } = await node.listen();
    using connection = new RawConnection(port);
    connection.send(['HELLO', '3'], ['SUBSCRIBE', 'a', 'b'], ['PUBLISH', 'a', 'hi'], ['PING']);
    const replies = await connection.heard(6);
    expect(replies.slice(1)).toEqual([
      ['subscribe', 'a', 1],
      ['subscribe', 'b', 2],
      ['message', 'a', 'hi'],
      1,
      'PONG',
    ]);
    expect(connection.frames.map(({ type }) => type).join('')).toBe('%>>>:+');
  });

  test('in RESP2 a connection that listens does nothing else', async () => {
    await using node = new EmbeddedNode();
    const { port } = await node.listen();
    using connection = new RawConnection(port);
    await connection.ask('SUBSCRIBE', 'a');
    expect(await connection.ask('GET', 'k')).toBeInstanceOf(RespError);
    expect(await connection.ask('PING')).toEqual(['pong', '']);
    expect(await connection.ask('UNSUBSCRIBE')).toEqual(['unsubscribe', 'a', 0]);
    expect(await connection.ask('GET', 'k')).toBeNull();
  });

  test('a request that is cut in pieces is put together, and nonsense ends the connection', async () => {
    await using node = new EmbeddedNode();
    const { port } = await node.listen();
    using connection = new RawConnection(port);
    const request = Buffer.from('*2\r\n$4\r\nECHO\r\n$4\r\nä\r\n\r\n');
    for (const byte of request) connection.write(Buffer.from([byte]));
    connection.write(Buffer.from('ECHO inline\r\n'));
    expect(await connection.heard(2)).toEqual(['ä\r\n', 'inline']);
    connection.write(Buffer.from('*1\r\n:5\r\n'));
    await connection.closed();
    expect(connection.replies.at(-1)).toMatchObject({ text: "ERR Protocol error: expected '$', got ':'" });
  });

  test('a transaction runs as a whole or not at all', async () => {
    await using node = new EmbeddedNode();
    const { port } = await node.listen();
    using connection = new RawConnection(port);
    connection.send(['MULTI'], ['SET', 'a', '1'], ['INCR', 'a'], ['EXEC'], ['MULTI'], ['NOPE'], ['EXEC']);
    const replies = await connection.heard(7);
    expect(replies.slice(0, 4)).toEqual(['OK', 'QUEUED', 'QUEUED', ['OK', 2]]);
    expect(replies[6]).toMatchObject({ text: expect.stringContaining('EXECABORT') });
  });

  test('a closed node is an outage for its clients', async () => {
    const node = new EmbeddedNode();
    const { port } = await node.listen();
    const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => {});
    const locks = new Locks(redis, { outageMs: 0 });
    await (await locks.lock('a').acquire()).release();
    await node.close();
    // What was on its way just then is not known to have failed.
    const attempt = (): Promise<unknown> =>
      locks
        .lock('a')
        .acquire()
        .catch((error: unknown) => error);
    await waitFor(async () => (await attempt()) instanceof LockUnavailableError);
    await locks.close();
    redis.disconnect();
  });
});

describe('bad input', () => {
  test('is refused before anything is done', async () => {
    await using node = new EmbeddedNode();
    await expect(node.listen({ port: 70_000 })).rejects.toThrow(
      'expected port to be an integer from 0 to 65535, got 70000',
    );
    expect(() => node.advance(-1)).toThrow('expected ms to be a number of at least 0, got -1');
    await expect(node.command('SET', 'a', 1 as never)).rejects.toThrow('expected strings, got 1');
    expect(() => new ManualClock(Number.NaN)).toThrow('expected wallMs to be a finite number, got NaN');
    await expect(new ManualClock().advance(-1)).rejects.toThrow(
      'expected ms to be a number of at least 0, got -1',
    );
  });

  test('a node that was closed refuses commands', async () => {
    const node = new EmbeddedNode();
    await node.close();
    await expect(node.command('PING')).rejects.toThrow('has been closed');
    await expect(node.listen()).rejects.toThrow('has been closed');
  });
});
