/** Every word of the least rights in docs/operate/acl.md is needed: without it the server refuses something. */
import { Redis } from 'ioredis';
import { describe, expect, type TestContext, test } from 'vitest';
import { Locks } from '../../src/index.ts';
import { LOCK } from '../support/locks/kind.ts';
import { aclWords, CONNECTING, LEAST } from '../support/servers/acl-rules.ts';
import { ask, asStrings } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis({ args: ['--acllog-max-len', '10000'] });

/** Long enough for a machine that is busy, and shorter than a test. */
const WAIT_MS = 20_000;

type OnTestFinished = TestContext['onTestFinished'];

/** What the server has refused that user, as the log of the server tells it. */
async function refusedTo(user: string): Promise<string[]> {
  const log = await ask(redis.port, ['ACL', 'LOG', '10000']);
  if (!Array.isArray(log)) return [];
  const entries = log.map((entry) => asStrings(entry));
  const of = (entry: readonly string[], field: string): string => entry[entry.indexOf(field) + 1] ?? '';
  return entries.filter((entry) => of(entry, 'username') === user).map((entry) => of(entry, 'object'));
}

async function untilInLine(name: string): Promise<void> {
  const line = `holdfast_line:{${name}}`;
  await waitFor(async () => asStrings(await ask(redis.port, ['HKEYS', line])).includes('1'), {
    what: 'a place in the line',
    limitMs: WAIT_MS,
  });
}

/** Two sessions of a user that has all rights but the one that it is called after. */
async function sessionsOf(user: string, onEnd: OnTestFinished): Promise<[Locks, Locks]> {
  const words = aclWords(LEAST, CONNECTING).filter((word) => word !== user);
  const reply = await ask(redis.port, ['ACL', 'SETUSER', user, 'reset', 'on', '>pass', ...words]);
  expect(reply).toBe('OK');
  const session = (): Locks => {
    const client = new Redis({ port: redis.port, username: user, password: 'pass', lazyConnect: true });
    const locks = new Locks(client, { application: 'billing' });
    onEnd(() => locks.close());
    return locks;
  };
  return [session(), session()];
}

/** Everything that processes do with locks and mutexes, and beside another library. */
async function useAll([here, there]: readonly [Locks, Locks], name: string): Promise<void> {
  // So that a script is sent as a whole, once.
  await ask(redis.port, ['SCRIPT', 'FLUSH']);
  for (const kind of ['lock', 'mutex'] as const) {
    const free = `${name}:${kind}`;
    // Whatever is refused, what follows is tried all the same.
    await handOver(here, there, kind, free).catch(() => {});
  }
  await here.lock(name).using(() => here.lock(name).using(() => {}));
  // Another library has it: its release is told on the public channel.
  await LOCK.seize(redis.port, `${name}:java`, 60_000);
  const waiting = here.lock(`${name}:java`).acquire({ waitMs: WAIT_MS });
  waiting.catch(() => {});
  await untilInLine(`${name}:java`);
  await waitFor(async () => {
    const [, listeners] = asStrings(
      await ask(redis.port, ['PUBSUB', 'NUMSUB', LOCK.channel(`${name}:java`)]),
    );
    return listeners === '1';
  });
  await ask(redis.port, ['DEL', `${name}:java`]);
  await ask(redis.port, ['PUBLISH', LOCK.channel(`${name}:java`), '0']);
  await (await waiting).release();
  await here.close();
}

async function handOver(here: Locks, there: Locks, kind: 'lock' | 'mutex', name: string): Promise<void> {
  const lease = await here[kind](name).acquire({ leaseMs: 30_000 });
  await lease.extend(60_000);
  const waiting = there[kind](name).acquire({ waitMs: WAIT_MS });
  waiting.catch(() => {});
  await untilInLine(name);
  await lease.release();
  await (await waiting).release();
}

describe.concurrent('the least rights', () => {
  test('are enough: nothing is refused', async ({ onTestFinished }) => {
    const sessions = await sessionsOf('nothing', onTestFinished);
    await useAll(sessions, 'locks:nothing');
    expect(await refusedTo('nothing')).toEqual([]);
  });

  test.for(aclWords(LEAST).map((word, index) => [word, index] as const))(
    'need %s',
    async ([word, index], { onTestFinished }) => {
      const sessions = await sessionsOf(word, onTestFinished);
      let isOver = false;
      void useAll(sessions, `locks:${index}`)
        .catch(() => {})
        .finally(() => {
          isOver = true;
        });
      await waitFor(async () => isOver || (await refusedTo(word)).length > 0, { limitMs: 3 * WAIT_MS });
      expect(await refusedTo(word)).not.toEqual([]);
    },
  );
});
