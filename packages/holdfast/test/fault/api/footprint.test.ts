/** Nothing of the caller's server is touched but the database, the prefix, the session's record and the commands that locks need. */

import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { expect, test } from 'vitest';
import { CHANNELS, Locks } from '../../../src/index.ts';
import { CLIENTS, type ClientKind, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, LOCK } from '../../support/locks/kind.ts';
import { listedNames } from '../../support/locks/listed.ts';
import { rejection } from '../../support/rejection.ts';
import { monitor, type SeenCommand } from '../../support/servers/commands.ts';
import { ask, askAll } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const DB = 3;
const PREFIX = 'ours:';

/** What our connections say; `auth` and `quit` where a client does. */
const OUTSIDE = new Set([
  'hello',
  'client',
  'select',
  'info',
  'evalsha',
  'eval',
  'subscribe',
  'unsubscribe',
  'ping',
]);
/** What our scripts call. Everything else they do is compute. */
const INSIDE = new Set(
  [
    'time exists pttl pexpire del type scan info config get set strlen publish pubsub',
    'hlen hgetall hset hexists hkeys hdel hmget',
  ].flatMap((verbs) => verbs.split(' ')),
);

/** A life with everything in it: contention, a wait, a renewal, a re-entry, a timeout, a look, a forced end. */
async function live(locks: Locks, other: Locks): Promise<void> {
  for (const kind of KINDS) {
    const lease = await kind.of(locks, 'a').acquire({ leaseMs: 6_000 });
    const waiting = kind.of(other, 'a').acquire();
    await rejection(kind.of(other, 'a').acquire({ waitMs: 50 }));
    const renewed = bench.diagnostics(`tracing:${CHANNELS.renew}:asyncEnd`);
    await waitFor(() => renewed.length > 0, { what: 'a renewal' });
    await lease.extend(20_000);
    if (kind === LOCK) await (await locks.lock('a').acquire({ within: lease })).release();
    expect(await lease.release()).toBe(true);
    expect(await (await waiting).release()).toBe(true);
    const taken = await kind.of(locks, 'b').acquire({ leaseMs: 5_000 });
    expect(await other.inspect('b')).toMatchObject({ name: 'b', kind: kind.name });
    expect(await listedNames(other)).toEqual(['b']);
    expect(await other.forceRelease('b', { reason: 'stuck' })).not.toBeNull();
    expect(await rejection(taken.extend(5_000))).toMatchObject({ reason: 'revoked' });
    expect(await taken.release()).toBe(false);
  }
  await locks.check();
}

function keysOf({ args }: SeenCommand): readonly string[] {
  const [verb = '', ...rest] = args;
  if (/^eval(sha)?$/i.test(verb)) return rest.slice(2, 2 + Number(rest[1]));
  if (/^(time|publish|pubsub|info|config|scan)$/i.test(verb)) return [];
  return rest.slice(0, 1);
}

/** The record of a session, or the channel on which it hears of its turn. */
const SESSION = /^holdfast_session:[0-9a-f-]{36}$/;

function isOurs(key: string): boolean {
  const beside = ['redisson_lock_token:', 'holdfast_line:', 'holdfast_revoked:'].some((kind) =>
    key.startsWith(`${kind}{${PREFIX}`),
  );
  return key.startsWith(PREFIX) || beside || SESSION.test(key);
}

/** A channel of one name, or that of a session, which nobody else has. */
function isOurChannel(channel: string): boolean {
  return channel.includes(`{${PREFIX}`) || SESSION.test(channel);
}

function expectFootprint(commands: readonly SeenCommand[]): void {
  for (const seen of commands) {
    const verb = (seen.args[0] ?? '').toLowerCase();
    const isScripted = seen.client === 'lua';
    expect(isScripted ? INSIDE : OUTSIDE).toContain(verb);
    if (!isScripted && !verb.startsWith('eval')) continue;
    expect(seen.db).toBe(DB);
    for (const key of keysOf(seen)) expect({ key, isOurs: isOurs(key) }).toEqual({ key, isOurs: true });
  }
  const channels = commands.flatMap(({ args: [verb = '', channel = ''] }) =>
    /^(subscribe|publish)$/i.test(verb) ? [channel] : [],
  );
  expect(channels.length).toBeGreaterThan(0);
  for (const channel of channels) {
    expect({ channel, isOurs: isOurChannel(channel) }).toEqual({ channel, isOurs: true });
  }
}

async function expectOtherDatabasesEmpty(): Promise<void> {
  const others = Array.from({ length: 16 }, (_, db) => db).filter((db) => db !== DB);
  const replies = await askAll(
    redis.port,
    others.flatMap((db) => [['SELECT', `${db}`], ['DBSIZE']]),
  );
  expect(new Set(replies)).toEqual(new Set(['OK', 0]));
}

test.each(CLIENTS)(
  'only the database and the prefix of the caller are touched: %s',
  async (client: ClientKind) => {
    const seen = await monitor(redis);
    bench.onEnd(() => seen.stop());
    const options = { client, db: DB, prefix: PREFIX, application: 'shop' };
    const [locks, other] = await Promise.all([
      bench.session(redis.port, options),
      bench.session(redis.port, options),
    ]);
    await live(locks, other);
    const commands = await seen.commands();
    expectFootprint(commands.filter(({ args: [verb = ''] }) => verb !== 'monitor'));
    await expectOtherDatabasesEmpty();
  },
);

test.each(CLIENTS)(
  'the key prefix of the client itself is put before keys and channels: %s',
  async (client: ClientKind) => {
    const seen = await monitor(redis);
    bench.onEnd(() => seen.stop());
    const make = (): Locks => {
      const raw =
        client === 'ioredis'
          ? new Redis({ port: redis.port, host: '127.0.0.1', lazyConnect: true, keyPrefix: 'ou', db: DB })
          : createClient({ socket: { host: '127.0.0.1', port: redis.port }, keyPrefix: 'ou', database: DB });
      raw.on('error', () => {});
      const locks = new Locks(raw, { prefix: 'rs:' });
      bench.onEnd(() => locks.destroy());
      return locks;
    };
    await live(make(), make());
    expectFootprint((await seen.commands()).filter(({ args: [verb = ''] }) => verb !== 'monitor'));
    await expectOtherDatabasesEmpty();
  },
);

test('closing leaves the client of the caller open and as it was', async () => {
  const ioredis = new Redis({ port: redis.port, host: '127.0.0.1' });
  const nodeRedis = createClient({ socket: { host: '127.0.0.1', port: redis.port } });
  nodeRedis.on('error', () => {});
  await nodeRedis.connect();
  await ioredis.ping();
  const options = JSON.stringify([ioredis.options, nodeRedis.options]);
  const listenersBefore = [ioredis, nodeRedis].map((client) => client.eventNames());
  for (const client of [ioredis, nodeRedis]) {
    for (const ending of ['close', 'destroy'] as const) {
      const locks = new Locks(client);
      await locks.lock(bench.name()).using(() => {});
      await locks[ending]();
    }
  }
  expect(await ioredis.ping()).toBe('PONG');
  expect(await nodeRedis.ping()).toBe('PONG');
  expect(JSON.stringify([ioredis.options, nodeRedis.options])).toBe(options);
  expect([ioredis, nodeRedis].map((client) => client.eventNames())).toEqual(listenersBefore);
  await waitFor(async () => !String(await ask(redis.port, ['CLIENT', 'LIST'])).includes('name=holdfast'), {
    what: 'our own connections to be gone',
  });
  ioredis.disconnect();
  nodeRedis.destroy();
});
