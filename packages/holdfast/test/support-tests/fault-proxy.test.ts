/** Each aimed fault is checked from both ends: what the client saw and what the server did. */
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useLeakCheck } from '../support/leak-check.ts';
import { command, type FaultProxy, script, startProxy } from '../support/proxies/fault-proxy.ts';
import { RawConnection } from '../support/servers/raw-connection.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { encodeRequest } from '../support/servers/resp.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis, { ignoreKeys: [/./] });

const source = "return redis.call('INCR', KEYS[1])";
const incr = { source, sha: createHash('sha1').update(source).digest('hex') };

let proxy: FaultProxy;
let connection: RawConnection;

beforeEach(async () => {
  proxy = await startProxy(redis.port);
  connection = new RawConnection(proxy.port);
});

afterEach(async () => {
  connection.close();
  await proxy.stop();
});

const stored = (key: string) => ask(redis.port, ['GET', key]);

describe('a proxy without faults', () => {
  test('forwards pipelines in order and keeps their history', async () => {
    connection.send(['SET', 'k', 'é\r\n'], ['GET', 'k'], ['NOPE'], ['INCR', 'n']);
    const replies = await connection.heard(4);
    expect([replies[0], replies[1], replies[3]]).toEqual(['OK', 'é\r\n', 1]);
    expect(proxy.history).toEqual([['SET', 'k', 'é\r\n'], ['GET', 'k'], ['NOPE'], ['INCR', 'n']]);
    expect([proxy.connections, proxy.connectionsMade]).toEqual([1, 1]);
  });

  test('puts requests together that come in pieces', async () => {
    for (const byte of encodeRequest(['ECHO', 'slowly'])) connection.write(Buffer.from([byte]));
    expect(await connection.heard(1)).toEqual(['slowly']);
  });

  test('closes the server side when the client leaves, and the client side when the server dies', async () => {
    await connection.ask('CLIENT', 'SETNAME', 'leaver');
    connection.close();
    const isListed = async () => String(await ask(redis.port, ['CLIENT', 'LIST'])).includes('name=leaver');
    await waitFor(async () => !(await isListed()), { what: 'the server to see the client leave' });
    expect(proxy.connections).toBe(0);
    const other = new RawConnection(proxy.port);
    await other.ask('PING');
    await redis.kill();
    await other.closed();
  });

  test('carries ioredis and node-redis, subscriptions and RESP3 included', async () => {
    const ioredis = new Redis({ port: proxy.port, host: '127.0.0.1' });
    const nodeRedis = createClient({ url: proxy.url, RESP: 3 });
    await nodeRedis.connect();
    const messages: string[] = [];
    await nodeRedis.subscribe('c', (message) => messages.push(message));
    await nodeRedis.set('k', 'v');
    expect(await ioredis.get('k')).toBe('v');
    await ioredis.publish('c', 'hello');
    await waitFor(() => messages.length === 1, { what: 'the message' });
    expect(await nodeRedis.get('k')).toBe('v');
    await nodeRedis.close();
    ioredis.disconnect();
  });
});

describe('a cut before a request', () => {
  test('closes the connection and the server never sees the request', async () => {
    const cut = proxy.cutBeforeRequest(command('INCR'));
    connection.send(['INCR', 'n']);
    expect(await cut).toEqual(['INCR', 'n']);
    await connection.closed();
    expect(connection.frames).toEqual([]);
    expect(await stored('n')).toBe(null);
  });

  test('answers what was pipelined before it and runs nothing after it', async () => {
    const cut = proxy.cutBeforeRequest(command('INCR', 'aimed'));
    connection.send(['INCR', 'before'], ['INCR', 'aimed'], ['INCR', 'after']);
    await cut;
    await connection.closed();
    expect(connection.replies).toEqual([1]);
    expect([await stored('before'), await stored('aimed'), await stored('after')]).toEqual(['1', null, null]);
  });

  test('happens once, or as often as asked', async () => {
    const cuts = proxy.cutBeforeRequest(command('INCR'), 2);
    for (let round = 0; round < 2; round += 1) {
      const victim = new RawConnection(proxy.port);
      victim.send(['INCR', 'n']);
      await victim.closed();
    }
    await cuts;
    expect(await connection.ask('INCR', 'n')).toBe(1);
  });
});

describe('a cut after a request', () => {
  test('lets the server run it and loses the reply', async () => {
    const cut = proxy.cutAfterRequest(command('INCR'));
    connection.send(['INCR', 'n']);
    expect(await cut).toEqual(['INCR', 'n']);
    // Already: the fault fires after the server's reply, not after the forwarding.
    expect(await stored('n')).toBe('1');
    await connection.closed();
    expect(connection.frames).toEqual([]);
  });

  test('loses the reply to exactly that request of a pipeline and runs nothing after it', async () => {
    const cut = proxy.cutAfterRequest(command('INCR', 'aimed'));
    connection.send(['INCR', 'before'], ['INCR', 'aimed'], ['INCR', 'after']);
    await cut;
    await connection.closed();
    expect(connection.replies).toEqual([1]);
    expect([await stored('before'), await stored('aimed'), await stored('after')]).toEqual(['1', '1', null]);
  });

  test('aimed at a script waits until the script has run', async () => {
    await ask(redis.port, ['SCRIPT', 'FLUSH']);
    const cut = proxy.cutAfterRequest(script(incr));
    connection.send(['EVALSHA', incr.sha, '1', 'n'], ['PING']);
    const replies = await connection.heard(2);
    expect(replies[1]).toBe('PONG');
    expect(await stored('n')).toBe(null);
    connection.send(['EVAL', incr.source, '1', 'n']);
    expect((await cut)[0]).toBe('EVAL');
    await connection.closed();
    expect(await stored('n')).toBe('1');
  });

  test('is not misled by push messages and subscriptions', async () => {
    const other = new RawConnection(redis.port);
    connection.send(['HELLO', '3'], ['SUBSCRIBE', 'a', 'b']);
    await connection.heard(3);
    await other.ask('PUBLISH', 'a', 'hello');
    await connection.heard(4);
    const cut = proxy.cutAfterRequest(command('INCR'));
    connection.send(['PUBLISH', 'b', 'to myself'], ['GET', 'k'], ['INCR', 'n']);
    await cut;
    await connection.closed();
    expect(connection.replies.slice(3)).toEqual([
      ['message', 'a', 'hello'],
      ['message', 'b', 'to myself'],
      1,
      null,
    ]);
    other.close();
  });

  test('of a subscription comes when every channel is confirmed', async () => {
    const cut = proxy.cutAfterRequest(command('SUBSCRIBE'));
    connection.send(['SUBSCRIBE', 'a', 'b']);
    await cut;
    await connection.closed();
    expect(connection.frames).toEqual([]);
  });

  test('that was about to happen when the connection broke waits for the next request', async () => {
    const cut = proxy.cutAfterRequest(command('BLPOP'));
    connection.send(['BLPOP', 'list', '0']);
    await waitFor(() => proxy.history.length === 1, { what: 'the request to pass' });
    proxy.cutAll();
    await connection.closed();
    await ask(redis.port, ['RPUSH', 'list', 'a']);
    const other = new RawConnection(proxy.port);
    other.send(['BLPOP', 'list', '0']);
    await cut;
    await other.closed();
  });
});

describe('a dropped reply', () => {
  test('leaves a connection that is open and dead', async () => {
    const drop = proxy.dropReply(command('INCR'));
    connection.send(['GET', 'k'], ['INCR', 'n'], ['GET', 'k']);
    await drop;
    connection.send(['INCR', 'later']);
    const other = new RawConnection(proxy.port);
    expect(await other.ask('GET', 'n')).toBe('1');
    expect(connection.replies).toEqual([null]);
    expect(connection.isClosed).toBe(false);
    expect(await stored('later')).toBe(null);
    other.close();
  });
});

test('a proxy that mutes leaves every connection open and dead, and new ones work', async () => {
  connection.send(['SET', 'k', 'before']);
  await waitFor(() => connection.replies.length === 1);
  proxy.mute();
  connection.send(['SET', 'k', 'after']);
  const other = new RawConnection(proxy.port);
  expect(await other.ask('GET', 'k')).toBe('before');
  expect(connection.replies).toHaveLength(1);
  expect(connection.isClosed).toBe(false);
  other.close();
});

describe('a delay', () => {
  test('of one reply holds it and what follows, in order', async () => {
    const delayed = proxy.delayReply(command('INCR'), 60);
    const startMs = performance.now();
    connection.send(['ECHO', 'before'], ['INCR', 'n'], ['ECHO', 'after']);
    await delayed;
    expect(await stored('n')).toBe('1');
    expect(await connection.heard(3)).toEqual(['before', 1, 'after']);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(60);
  });

  test('of all traffic counts in each direction', async () => {
    await connection.ask('PING');
    proxy.delay(20);
    const startMs = performance.now();
    await connection.ask('PING');
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(40);
    proxy.delay(0);
    expect(await connection.ask('PING')).toBe('PONG');
  });
});

describe('a frozen proxy', () => {
  test('passes nothing, and everything when it thaws', async () => {
    await connection.ask('PING');
    proxy.freeze();
    connection.send(['INCR', 'n']);
    const late = new RawConnection(proxy.port);
    late.send(['INCR', 'n']);
    await waitFor(() => proxy.connections === 2, { what: 'a connection to be accepted while frozen' });
    expect(await stored('n')).toBe(null);
    proxy.thaw();
    await Promise.all([connection.heard(2), late.heard(1)]);
    expect(await stored('n')).toBe('2');
    late.close();
  });

  test('delivers the requests of a client that has left meanwhile', async () => {
    await connection.ask('PING');
    proxy.freeze();
    connection.send(['INCR', 'n']);
    await waitFor(() => proxy.received.length === 2, { what: 'the request to be read' });
    connection.close();
    await waitFor(() => proxy.connections === 0, { what: 'the client to be gone' });
    expect(proxy.history).toEqual([['PING']]);
    proxy.thaw();
    await waitFor(async () => (await stored('n')) === '1', { what: 'the late request to run' });
  });

  test('keeps the client when the server dies', async () => {
    await connection.ask('PING');
    proxy.freeze();
    await redis.kill();
    await redis.restart();
    expect(connection.isClosed).toBe(false);
    proxy.thaw();
    await connection.closed();
  });
});

describe('a proxy that refuses', () => {
  test('keeps its connections, and accepts on the same port again', async () => {
    await connection.ask('PING');
    const { port } = proxy;
    proxy.refuse();
    await expect(ask(port, ['PING'])).rejects.toThrow('ECONNREFUSED');
    expect(await connection.ask('PING')).toBe('PONG');
    await proxy.accept();
    expect(proxy.port).toBe(port);
    expect(await ask(port, ['PING'])).toBe('PONG');
  });

  test('cuts its connections when told', async () => {
    await connection.ask('PING');
    proxy.cutAll();
    await connection.closed();
    await waitFor(() => proxy.connections === 0, { what: 'no connection' });
  });
});

test('disarmed faults do not happen', async () => {
  void proxy.cutBeforeRequest(command('INCR'));
  proxy.clearFaults();
  expect(await connection.ask('INCR', 'n')).toBe(1);
});

test('a proxy stops although a client does not read what it is sent', async () => {
  const big = 'x'.repeat(8_000_000);
  await ask(redis.port, ['SET', 'big', big]);
  const deaf = connect({ port: proxy.port, host: '127.0.0.1' }).pause();
  deaf.on('error', () => {});
  deaf.write(Buffer.concat([encodeRequest(['GET', 'big']), encodeRequest(['GET', 'big'])]));
  await waitFor(() => proxy.history.length === 2, { what: 'the requests to pass' });
  await redis.kill();
  await proxy.stop();
  expect(proxy.connections).toBe(0);
  deaf.destroy();
});
