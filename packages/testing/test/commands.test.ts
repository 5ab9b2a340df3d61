/** What random histories cannot compare exactly: conditions on close times, SCAN, settings, connections. */
import { describe, expect, test } from 'vitest';
import { askAll } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { EmbeddedNode } from '../src/index.ts';

const redis = useRedis();

type Requests = readonly (readonly string[])[];

async function expectSame(wanted: Requests): Promise<void> {
  const requests = [['FLUSHALL'], ...wanted];
  await using node = new EmbeddedNode();
  const { port } = await node.listen();
  const [real, embedded] = await Promise.all([askAll(redis.port, requests), askAll(port, requests)]);
  for (const [i, request] of requests.entries()) {
    expect({ request, reply: embedded[i] }).toEqual({ request, reply: real[i] });
  }
}

const splitLines = (lines: readonly string[]): Requests => lines.map((line) => line.split(' '));

describe('on the embedded node as on a real server', () => {
  test('an expiry is set under conditions', () =>
    expectSame(
      splitLines([
        'SET k v PX 60000',
        'PEXPIRE k 30000 GT',
        'PEXPIRE k 90000 GT',
        'PEXPIRE k 95000 LT',
        'PEXPIRE k 45000 LT',
        'PEXPIRE k 45000 NX',
        'PEXPIRE k 75000 XX',
        'PERSIST k',
        'PEXPIRE k 10000 GT',
        'PEXPIRE k 10000 XX',
        'PEXPIRE k 10000 LT',
        'PERSIST k',
        'PEXPIRE k 10000 NX',
        'PEXPIRE k 20000 NX GT',
        'PEXPIRE k 20000 GT LT',
        'PEXPIRE absent 20000',
        'EXPIREAT k 8000000000',
        'EXPIRETIME k',
        'PEXPIRETIME k',
        'SET k v KEEPTTL',
        'EXPIRETIME k',
        'SET k v',
        'EXPIRETIME k',
      ]),
    ));

  test('databases are apart, and counted', () =>
    expectSame(
      splitLines([
        'SET a 1',
        'SELECT 3',
        'GET a',
        'SET b 2',
        'DBSIZE',
        'FLUSHDB',
        'DBSIZE',
        'SELECT 0',
        'DBSIZE',
        'FLUSHALL ASYNC',
        'DBSIZE',
        'FLUSHALL NOW',
      ]),
    ));

  test('transactions are queued, run and given up', () =>
    expectSame(
      splitLines([
        'EXEC',
        'DISCARD',
        'MULTI',
        'MULTI',
        'SET t 1',
        'HGET t f',
        'EXEC',
        'MULTI',
        'SET t 2',
        'DISCARD',
        'GET t',
        'MULTI',
        'GET',
        'EXEC',
      ]),
    ));

  test('a connection tells what it is called', () =>
    expectSame(
      splitLines(['CLIENT SETNAME me', 'CLIENT GETNAME', 'RESET', 'CLIENT GETNAME', 'ECHO x', 'PING y']),
    ));
});

test('a scan in small steps returns every key that stays, once', async () => {
  await using node = new EmbeddedNode();
  for (let i = 0; i < 25; i += 1) await node.command('SET', `key:${i}`, 'x');
  const met: string[] = [];
  let cursor = '0';
  do {
    const [next, keys] = (await node.command('SCAN', cursor, 'MATCH', 'key:*', 'COUNT', '4')) as [
      string,
      string[],
    ];
    met.push(...keys);
    cursor = next;
    // Another key comes and goes meanwhile.
    await node.command('DEL', 'passing');
    await node.command('SET', 'passing', 'x');
  } while (cursor !== '0');
  expect(met.sort()).toEqual(Array.from({ length: 25 }, (_, i) => `key:${i}`).sort());
});

test('settings are kept and shown, and only those that there are', async () => {
  await using node = new EmbeddedNode();
  await node.command('CONFIG', 'SET', 'maxmemory', '2mb', 'maxmemory-policy', 'allkeys-lru');
  expect(await node.command('CONFIG', 'GET', 'maxmemory*')).toEqual([
    'maxmemory',
    '2097152',
    'maxmemory-policy',
    'allkeys-lru',
  ]);
  expect(await node.command('INFO', 'memory')).toContain('maxmemory_policy:allkeys-lru');
  await expect(node.command('CONFIG', 'SET', 'hz', '10')).rejects.toThrow('Unknown option');
});

test('what is told about the node is true', async () => {
  await using node = new EmbeddedNode();
  await node.command('SET', 'a', 'x', 'PX', '100000');
  const info = String(await node.command('INFO'));
  expect(info).toContain('redis_version:7.0.15');
  expect(info).toContain('holdfast_embedded_node:1');
  expect(info).toContain('role:master');
  expect(info).toContain('db0:keys=1,expires=1');
  expect(await node.command('WAIT', '1', '10')).toBe(0);
  await expect(node.command('WAIT', '1', '0')).rejects.toThrow('no replicas');
});

test('each start gives the node a run id of 40 hexadecimal digits, as Redis has', async () => {
  const random = { uuid: () => '', token: () => `${'ab'.repeat(16)}:holdfast`, fraction: () => 0 };
  for (const node of [new EmbeddedNode(), new EmbeddedNode({ random })]) {
    expect(await node.command('INFO', 'server')).toMatch(/^run_id:[0-9a-f]{40}\r$/m);
    await node.close();
  }
});
