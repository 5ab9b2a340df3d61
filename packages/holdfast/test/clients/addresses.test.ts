/** How a server is reached: whatever the caller's client was told, ours knows too. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adaptClient } from '../../src/clients/adapt.ts';
import type { Client } from '../../src/clients/client.ts';
import { Agenda } from '../../src/core/agenda.ts';
import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/random.ts';
import { freePort } from '../support/free-port.ts';
import { ask, askAll } from '../support/raw-redis.ts';
import { type RedisServer, startRedis, stopAllRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Caller, FLAVOURS } from './flavours.ts';
import { AMPLE_MS, failureOf } from './harness.ts';
import { append, echo } from './scripts.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-addresses-'));
afterAll(async () => {
  await stopAllRedis();
  rmSync(folder, { recursive: true, force: true });
});

/** Uses both connections of an adapted client, and closes everything. */
async function using<T>(caller: Caller, body: (client: Client) => Promise<T>): Promise<T> {
  const options = { agenda: new Agenda(systemClock), random: systemRandom, shareConnection: false };
  const client = adaptClient(caller.client, options);
  try {
    return await body(client);
  } finally {
    await client.close();
    await caller.end();
  }
}

async function expectToWork(client: Client): Promise<void> {
  expect(await client.run(echo('x'), AMPLE_MS)).toBe('x');
  expect(await client.listen('news', () => {}, AMPLE_MS)).toBeTypeOf('function');
}

async function listIn(port: number, database: string): Promise<unknown> {
  const [, list] = await askAll(port, [
    ['SELECT', database],
    ['LRANGE', 'list', '0', '-1'],
  ]);
  return list;
}

describe('a server behind a unix socket', () => {
  const path = join(folder, 'redis.sock');
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis({ args: ['--unixsocket', path] });
  });

  test.each(FLAVOURS)('is reached with $name', async ({ make }) => {
    await using(make({ port: 1, path }), expectToWork);
    expect(redis.isRunning).toBe(true);
  });
});

describe('a server with a password', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis({ args: ['--user', 'ann on >s3cret ~* &* +@all', '--user', 'default off'] });
  });

  test.each(FLAVOURS)('is reached with $name', async ({ make }) => {
    await using(make({ port: redis.port, username: 'ann', password: 's3cret' }), expectToWork);
  });

  test.each(FLAVOURS)('is reached with $name by an address that has everything in it', async ({ make }) => {
    const url = `redis://ann:s3cret@127.0.0.1:${redis.port}/5`;
    await using(make({ port: 1, url }), async (client) => {
      await client.run(append('x'), AMPLE_MS);
      await expectToWork(client);
    });
    const [, , list] = await askAll(redis.port, [
      ['AUTH', 'ann', 's3cret'],
      ['SELECT', '5'],
      ['LPOP', 'list'],
    ]);
    expect(list).toBe('x');
  });

  test.each(FLAVOURS)('is unreachable with $name without it', async ({ make }) => {
    await using(make({ port: redis.port }), async (client) => {
      const failure = failureOf(await client.run(echo('x'), AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      expect(failure.text).toContain('NOAUTH');
    });
  });
});

describe('a server that speaks TLS', () => {
  let port = 0;
  let ca = '';
  beforeAll(async () => {
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const files = ['-nodes', '-keyout', key, '-out', certificate];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-days', '2', ...subject, ...files]);
    ca = readFileSync(certificate, 'utf8');
    port = await freePort();
    const tls = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
    await startRedis({ args: ['--tls-port', String(port), ...tls, '--tls-auth-clients', 'no'] });
  });

  test.each(FLAVOURS)('is reached with $name', async ({ make }) => {
    await using(make({ port, ca }), expectToWork);
  });
});

describe('a primary that sentinels know', () => {
  let redis: RedisServer;
  let sentinels: { host: string; port: number }[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    const config = join(folder, 'sentinel.conf');
    writeFileSync(config, `sentinel monitor primary 127.0.0.1 ${redis.port} 1\n`);
    const sentinel = await startRedis({ args: ['--sentinel'] });
    sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
  });

  test.each(FLAVOURS.filter(({ library }) => library === 'ioredis'))(
    'is reached with $name',
    async ({ make }) => {
      // Reading from replicas is the caller's choice; locks go to the primary all the same.
      const caller = make({
        port: 1,
        ioredis: { sentinels, name: 'primary', role: 'slave', failoverDetector: true },
      });
      await using(caller, expectToWork);
    },
  );

  test.each(FLAVOURS.filter(({ library }) => library === 'ioredis'))(
    'is unreachable with $name when no sentinel answers',
    async ({ make }) => {
      const nobody = [{ host: '127.0.0.1', port: 1 }];
      await using(make({ port: 1, ioredis: { sentinels: nobody, name: 'primary' } }), async (client) => {
        const failure = failureOf(await client.run(echo('x'), AMPLE_MS));
        expect(failure.kind).toBe('unreachable');
        expect(failure.text).toMatch(/sentinels are unreachable.*ECONNREFUSED|Connection is closed/);
      });
    },
  );
});

describe('a database that the caller selects after it has made its client', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  const ioredis = FLAVOURS.filter(({ library }) => library === 'ioredis');

  test.each(ioredis)('is where the scripts of $name run', async ({ make }) => {
    await ask(redis.port, ['FLUSHALL']);
    const caller = make({ port: redis.port });
    await caller.connect();
    await using(caller, async (client) => {
      await caller.select(3);
      await client.run(append('x'), AMPLE_MS);
      // Not moved by a later choice, neither now nor by a reconnect: locks must stay where they are.
      await caller.select(4);
      await client.run(append('y'), AMPLE_MS);
      await ask(redis.port, ['CLIENT', 'KILL', 'TYPE', 'normal']);
      await waitFor(() => !client.isConnected);
      await client.run(append('z'), AMPLE_MS);
    });
    expect(await listIn(redis.port, '3')).toEqual(['x', 'y', 'z']);
  });

  test.each(ioredis)('is where the scripts of $name run while it reconnects', async ({ make }) => {
    await ask(redis.port, ['FLUSHALL']);
    const caller = make({ port: redis.port, ioredis: { retryStrategy: () => 60_000 } });
    await caller.connect();
    await caller.select(3);
    await ask(redis.port, ['CLIENT', 'KILL', 'TYPE', 'normal']);
    await waitFor(() => !caller.isReady());
    await using(caller, async (client) => void (await client.run(append('x'), AMPLE_MS)));
    expect(await listIn(redis.port, '3')).toEqual(['x']);
  });
});

describe('a server that is loading its data', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    // Each key takes a while to load, and the server looks up between them.
    const slow = ['--key-load-delay', '20000', '--loading-process-events-interval-bytes', '1024'];
    redis = await startRedis({ args: ['--enable-debug-command', 'local', ...slow] });
    await ask(redis.port, ['DEBUG', 'POPULATE', '2000', 'key', '100']);
    await ask(redis.port, ['SAVE']);
    await redis.restart();
  });

  test.each(FLAVOURS)('answers a call with $name by LOADING, which is a reply', async ({ make }) => {
    await using(make({ port: redis.port }), async (client) => {
      expect(failureOf(await client.run(echo('x'), AMPLE_MS))).toMatchObject({
        kind: 'reply',
        word: 'LOADING',
      });
    });
  });
});
