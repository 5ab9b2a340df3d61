/** How a server is reached: whatever the caller's client was told, ours knows too. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/clients/client.ts';
import { guardProcess } from '../support/processes/process-guard.ts';
import { canMakeCertificates, makeCertificates } from '../support/servers/certificates.ts';
import { freePort } from '../support/servers/free-port.ts';
import { ask, askAll } from '../support/servers/raw-redis.ts';
import { type RedisServer, startRedis, stopAllRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { FLAVOURS } from './flavours.ts';
import { AMPLE_MS, failureOf } from './harness.ts';
import { IOREDIS } from './ioredis-flavours.ts';
import { append, echo } from './scripts.ts';
import { using } from './using.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-addresses-'));
afterAll(async () => {
  await stopAllRedis();
  rmSync(folder, { recursive: true, force: true });
});

async function expectToWork(client: Client): Promise<void> {
  expect(await client.run(echo('x'), AMPLE_MS)).toBe('x');
  expect(await client.listen('news', () => {}, AMPLE_MS)).toBeTypeOf('function');
}

describe('a server behind a unix socket', () => {
  const path = join(folder, 'redis.sock');
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis({ args: ['--unixsocket', path] });
  });

  test.each(FLAVOURS.filter(({ hasPath }) => hasPath))('is reached with $name', async ({ make }) => {
    await using(make({ port: 1, path }), expectToWork);
    expect(redis.isRunning).toBe(true);
  });
});

describe('a server with a password', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
    await askAll(redis.port, [
      ['ACL', 'SETUSER', 'ann', 'on', '>s3cret', '~*', '&*', '+@all'],
      ['ACL', 'SETUSER', 'default', 'off'],
    ]);
  });

  test.each(FLAVOURS)('is reached with $name', async ({ make }) => {
    await using(make({ port: redis.port, username: 'ann', password: 's3cret' }), expectToWork);
  });

  const byUrl = FLAVOURS.filter(({ hasUrl }) => hasUrl);
  test.each(byUrl)('is reached with $name by an address that has everything in it', async ({ make }) => {
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

  test.each(FLAVOURS)('is unreachable with $name without it', async ({ make, saysWhy = true }) => {
    await using(make({ port: redis.port }), async (client) => {
      const failure = failureOf(await client.run(echo('x'), AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      if (saysWhy) expect(failure.text).toContain('NOAUTH');
    });
  });
});

describe.skipIf(!canMakeCertificates())('a server that speaks TLS', () => {
  let port = 0;
  let ca = '';
  beforeAll(async () => {
    const certificates = makeCertificates(folder);
    ca = certificates.ca;
    port = await freePort();
    await startRedis({ args: ['--tls-port', String(port), ...certificates.serverArgs] });
  });

  test.each(FLAVOURS)('is reached with $name', async ({ make }) => {
    await using(make({ port, ca }), expectToWork);
  });
});

describe('a primary that sentinels know', () => {
  let sentinels: { host: string; port: number }[] = [];
  beforeAll(async () => {
    const redis = await startRedis();
    const port = await freePort();
    const config = join(folder, 'sentinel.conf');
    writeFileSync(config, `port ${port}\nsentinel monitor primary 127.0.0.1 ${redis.port} 1\n`);
    // Not by our own helper: a sentinel wants its settings in a file that it may write to.
    const sentinel = spawn('redis-server', [config, '--sentinel'], { stdio: 'ignore' });
    guardProcess(sentinel);
    sentinels = [{ host: '127.0.0.1', port }];
    await waitFor(async () => (await ask(port, ['PING'])) === 'PONG', { limitMs: 60_000 });
    return () => void sentinel.kill('SIGKILL');
  });

  test.each(IOREDIS)('is reached with $name', async ({ make }) => {
    // Reading from replicas is the caller's choice; locks go to the primary all the same.
    const caller = make({
      port: 1,
      ioredis: { sentinels, name: 'primary', role: 'slave', failoverDetector: true },
    });
    await using(caller, expectToWork);
  });

  test.each(IOREDIS)('is unreachable with $name when no sentinel answers', async ({ make }) => {
    const nobody = [{ host: '127.0.0.1', port: 1 }];
    await using(make({ port: 1, ioredis: { sentinels: nobody, name: 'primary' } }), async (client) => {
      const failure = failureOf(await client.run(echo('x'), AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      expect(failure.text).toMatch(/^no sentinel names the primary primary: 127\.0\.0\.1:1: .*ECONNREFUSED/);
    });
  });
});
