/** What is peculiar to GLIDE: its own words for errors, no sharing, no quorum, and how it finds a primary. */
import { GlideClient } from '@valkey/valkey-glide';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LockConfigError, Locks } from '../../../src/index.ts';
import { script, startProxy } from '../../support/proxies/fault-proxy.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Caller } from '../caller.ts';
import { GLIDE } from '../glide-flavours.ts';
import { AMPLE_MS, failureOf } from '../harness.ts';
import { APPEND, append, returning } from '../scripts.ts';
import { using } from '../using.ts';

const redis = useRedis({ args: ['--repl-diskless-sync-delay', '0'] });

async function caller(port = redis.port, glide = {}): Promise<Caller> {
  const [flavour] = GLIDE;
  if (flavour === undefined) throw new Error('there is no GLIDE');
  const made = await flavour.make({ port, glide });
  onTestFinished(() => made.end());
  return made;
}

describe('an error reply that GLIDE rewrites', () => {
  test.each([
    'ERR something',
    'NOSCRIPT no such script',
    'LOADING the data',
    'EXECABORT aborted',
    'NOPERM no right',
    'READONLY a replica',
    'MASTERDOWN the link',
    'CLUSTERDOWN the cluster',
    'TRYAGAIN later',
    'CROSSSLOT keys',
    'NOTBUSY no script',
    'MOVED 1 127.0.0.1:1',
    'ASK 1 127.0.0.1:1',
    'BUSY a script',
    'MISCONF cannot save',
    'NOREPLICAS too few',
    'OOM no memory',
    'WRONGTYPE another kind',
    'CUSTOM of a proxy: with a colon',
    'ALONE',
  ])('is read as the server said it: %s', async (said) => {
    await using(caller(), async (client) => {
      const call = { ...returning('redis.error_reply(ARGV[1])'), args: [said] };
      const failure = failureOf(await client.run(call, AMPLE_MS));
      expect(failure).toMatchObject({ kind: 'reply', word: said.split(' ')[0], text: said });
    });
  });
});

test('one of several servers cannot be reached by it, with the reason', async () => {
  const clients = [await caller(), await caller(), await caller()].map(({ client }) => client);
  expect(() => new Locks(clients)).toThrow(LockConfigError);
  expect(() => new Locks(clients)).toThrow(
    `expected clients that tell a lost connection, got GLIDE 127.0.0.1:${redis.port}`,
  );
});

test('a count of replicas is refused: it may be on another connection than the write that it is for', async () => {
  const { client } = await caller();
  const replicas = { min: 1 };
  expect(() => new Locks(client as never, { replicas })).toThrow(
    /expected a client that can count replicas for replicas.min 1, got GLIDE .*, which cannot/,
  );
});

test('of several addresses the one of the primary gets the scripts', async () => {
  // It would wait for further replicas, for five seconds.
  await ask(redis.port, ['CONFIG', 'SET', 'repl-diskless-sync-delay', '0']);
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(redis.port)] });
  onTestFinished(() => replica.stop());
  await waitFor(
    async () => String(await ask(replica.port, ['INFO', 'replication'])).includes('master_link_status:up'),
    { what: 'the replica to follow', limitMs: 20_000 },
  );
  const addresses = [replica, redis].map(({ port }) => ({ host: '127.0.0.1', port }));
  await using(caller(redis.port, { addresses }), async (client) => {
    expect(client.description).toBe(`GLIDE 127.0.0.1:${replica.port}, 127.0.0.1:${redis.port}`);
    expect(await client.run(append('x'), AMPLE_MS)).toBe(1);
  });
  expect(await ask(redis.port, ['DEL', 'list'])).toBe(1);
});

test('a call after one that has lost its connection is not sent before there is another', async () => {
  const proxy = await startProxy(redis.port);
  onTestFinished(() => proxy.stop());
  await using(caller(proxy.port), async (client) => {
    await client.run(append('x'), AMPLE_MS);
    const cut = proxy.cutBeforeRequest(script(APPEND));
    const lost = client.run(append('lost'), AMPLE_MS);
    await cut;
    proxy.refuse();
    expect(failureOf(await lost).kind).toBe('unknown');
    expect(client.isConnected).toBe(false);
    expect(failureOf(await client.run(append('y'), 500)).kind).toBe('unreachable');
    await proxy.accept();
    expect(await client.run(append('z'), AMPLE_MS)).toBe(1);
  });
  expect(await ask(redis.port, ['LRANGE', 'list', '0', '-1'])).toEqual(['x', 'z']);
  await ask(redis.port, ['DEL', 'list']);
});

test("the class of the caller's own client makes ours, also when it is a class of its own", async () => {
  class Ours extends GlideClient {}
  const addresses = [{ host: '127.0.0.1', port: redis.port }];
  // Not connected itself: on a busy machine its own quarter of a second is not enough for that.
  const client = await Ours.createClient({ addresses, lazyConnect: true });
  onTestFinished(() => client.close());
  const locks = new Locks(client, { callTimeoutMs: AMPLE_MS });
  expect(await (await locks.lock('x').acquire()).release()).toBe(true);
  await locks.close();
});
