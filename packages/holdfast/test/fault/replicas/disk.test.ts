/** With `replicas.aof`, a grant counts only once it is on disk, here and at the replicas. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LockUnavailableError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { rowsOf } from '../../support/extent.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { type RedisServer, useRedis } from '../../support/servers/redis-server.ts';
import { ReplicatedServers } from '../../support/servers/replicated-servers.ts';
import { fetchedServers } from '../../support/servers/server-program.ts';
import { waitFor } from '../../support/wait-for.ts';
import { has } from './support.ts';

const plain = useRedis();
useLeakCheck(plain);
const bench = useBench();

const ON_DISK = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Those with WAITAOF. One of them is asked in every run, if there is one. */
const PROGRAMS = rowsOf(
  fetchedServers()
    .filter(({ title }) => /^(Valkey|Redis (7\.[2-9]|[89]|\d\d))/.test(title))
    .map((program, i) => ({ ...program, isMatrix: i > 0 })),
);

test('a server that cannot tell what is on disk is told', async () => {
  const locks = await bench.session(plain.port, { replicas: { min: 1, timeoutMs: 300, aof: true } });
  const name = bench.name();
  const error = await rejection(locks.lock(name).acquire());
  expect(error).toBeInstanceOf(LockUnavailableError);
  await waitFor(async () => !(await has(plain, name)), { what: 'it to be given back' });
  // Newer servers know the command, and say that they have no file.
  expect(String(error)).toMatch(/does not know WAITAOF, which replicas\.aof needs|WAITAOF cannot be used/);
});

describe.each(PROGRAMS)('on $title', (program) => {
  const group = new ReplicatedServers(ON_DISK, 1, program);
  const [primary, replica] = group.servers as [RedisServer, RedisServer];
  beforeAll(() => group.start(), 180_000);
  beforeEach(async () => {
    await group.gather(primary);
    await ask(replica.port, ['CONFIG', 'SET', 'appendonly', 'yes']);
  }, 60_000);
  afterAll(() => Promise.all(group.servers.map((server) => server.stop())));

  test.each(KINDS)('a $name that is granted outlives a crash of both', async (kind) => {
    const replicas = { min: 1, timeoutMs: 4_000, aof: true };
    const locks = await bench.session(primary.port, { replicas, leaseMs: 60_000 });
    const name = bench.name();
    await kind.of(locks, name).acquire();
    await Promise.all([primary.kill(), replica.kill()]);
    await locks.destroy();
    for (const server of [primary, replica]) {
      await server.restart();
      await waitFor(() => has(server, name), { what: 'it to be read from the disk' });
      await ask(server.port, ['DEL', name]);
    }
  });

  test.each(KINDS)('a $name that the replica keeps in memory alone is given back', async (kind) => {
    const locks = await bench.session(primary.port, { replicas: { min: 1, timeoutMs: 500, aof: true } });
    const name = bench.name();
    await warmUp(locks, kind);
    await ask(replica.port, ['CONFIG', 'SET', 'appendonly', 'no']);
    const error = await rejection(kind.of(locks, name).tryAcquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(/wanted 1 replica to have it, 0 had it on disk/);
    await waitFor(async () => (await held(primary.port, kind, name)) === null);
  });
});
