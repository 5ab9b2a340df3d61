/** The record that every session has unless it is switched off: what it is called, and what it costs. */
import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { Locks, type LocksOptions } from '../../src/index.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { monitor, type SeenCommand } from '../support/servers/commands.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

const RECORD_TTL_MS = 60_000;

const redis = useRedis();
useLeakCheck(redis);

function openLocks(options: LocksOptions, login = {}): Locks {
  return new Locks(new Redis(redis.port, { lazyConnect: true, ...login }), options);
}

const keyOf = (locks: Locks): string => `holdfast_session:${locks.session}`;

async function recorded(locks: Locks): Promise<void> {
  await waitFor(async () => (await ask(redis.port, ['EXISTS', keyOf(locks)])) === 1, { what: 'the record' });
}

/** How often the server has refused that key: it counts refusals of the same minute in one entry. */
async function countRefusals(key: string): Promise<number> {
  const entries = await ask(redis.port, ['ACL', 'LOG']);
  return [entries].flat().reduce<number>((sum, entry) => {
    const fields = [entry].flat().map(String);
    return fields.includes(key) ? sum + Number(fields[fields.indexOf('count') + 1]) : sum;
  }, 0);
}

/** The script calls of programs that the server has seen. */
function callsIn(commands: readonly SeenCommand[]): readonly SeenCommand[] {
  return commands.filter(({ client, args: [verb = ''] }) => client !== 'lua' && /^eval/i.test(verb));
}

test('a session that names no application has the name of its package', async () => {
  await using locks = openLocks({});
  await using _lease = await locks.lock('a').acquire();
  await recorded(locks);
  expect(await locks.records([locks.session])).toEqual(
    new Map([[locks.session, { application: 'holdfast-workspace', host: hostname(), pid: process.pid }]]),
  );
});

test('with application: false there is no record and no command for one', async () => {
  const seen = await monitor(redis);
  await using locks = openLocks({ application: false });
  await (await locks.lock('a').acquire()).release();
  await locks.close();
  const words = callsIn(await seen.commands()).flatMap(({ args }) => args);
  seen.stop();
  expect(words.filter((word) => word === keyOf(locks))).toEqual([]);
});

test('a pair of acquire and release costs the same two calls while a record is kept', async () => {
  await using locks = openLocks({});
  await (await locks.lock('a').acquire()).release();
  await recorded(locks);
  const seen = await monitor(redis);
  for (let pair = 0; pair < 10; pair += 1) await (await locks.lock('a').acquire()).release();
  const calls = callsIn(await seen.commands());
  seen.stop();
  // The record may be written anew once, on a machine that is slow enough.
  expect(calls.filter(({ args }) => !args.includes(keyOf(locks)))).toHaveLength(20);
});

test('a user who may not write the record is tried once, so that the log of refusals does not fill', async () => {
  await ask(redis.port, ['ACL', 'LOG', 'RESET']);
  const rules = [
    'reset',
    'on',
    '>pass',
    '~a',
    '~redisson_lock_token:{a}',
    '~holdfast_line:{a}',
    '&*',
    '+@all',
  ];
  await ask(redis.port, ['ACL', 'SETUSER', 'narrow', ...rules]);
  const clock = new FakeClock();
  await using locks = openLocks({ clock }, { username: 'narrow', password: 'pass' });
  const refusals = (): Promise<number> => countRefusals(keyOf(locks));

  await locks.lock('a').acquire({ leaseMs: 3_600_000, renew: false });
  await clock.advance(1);
  await waitFor(async () => (await refusals()) === 1, { what: 'the record to be refused' });
  for (let minute = 0; minute < 5; minute += 1) {
    await clock.advance(RECORD_TTL_MS);
    expect(await locks.inspect('a')).not.toBeNull();
  }
  await locks.close();
  expect(await refusals()).toBe(1);
});
