/** Every word of the least rights in docs/operate/acl.md is needed: without it the server refuses something. */
import { Redis } from 'ioredis';
import { describe, expect, type TestContext, test } from 'vitest';
import { Locks } from '../../src/index.ts';
import { gate } from '../support/gate.ts';
import { LOCK } from '../support/locks/kind.ts';
import { rejection } from '../support/rejection.ts';
import { aclWords, CONNECTING, JOBS, LEAST, ONCE } from '../support/servers/acl-rules.ts';
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

/** Two sessions of a user that has the rights of these lists but the one that it is called after. */
async function sessionsOf(
  user: string,
  lists: readonly string[],
  onEnd: OnTestFinished,
): Promise<[Locks, Locks]> {
  const words = aclWords(...lists, CONNECTING).filter((word) => word !== user);
  const reply = await ask(redis.port, ['ACL', 'SETUSER', user, 'reset', 'on', '>pass', ...words]);
  expect(reply).toBe('OK');
  const session = (): Locks => {
    const client = new Redis({ port: redis.port, username: user, password: 'pass', lazyConnect: true });
    const locks = new Locks(client, { application: 'billing', callTimeoutMs: WAIT_MS });
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
  // An owner whose lock was taken away by force asks why, by the renewal that finds it gone.
  const taken = await here.lock(`${name}:taken`).acquire({ leaseMs: 60_000 });
  await ask(redis.port, ['DEL', `${name}:taken`]);
  expect(await rejection(taken.extend(60_000))).toMatchObject({ reason: 'gone' });
  // Many at once travel together.
  await Promise.all(Array.from({ length: 8 }, (_, i) => here.lock(`${name}:${i}`).using(() => {})));
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

/** A run that another process waits for, its result again, a look at it, and a key that is forgotten. */
async function useOnce([here, there]: readonly [Locks, Locks], name: string): Promise<void> {
  const { opened, open } = gate();
  const running = here.once(name, () => opened.then(() => 1), { leaseMs: 30_000 });
  running.catch(() => {});
  await waitFor(async () => (await there.once.peek(name))?.state === 'running', { limitMs: WAIT_MS });
  const waiting = there.once(name, () => 2, { waitMs: WAIT_MS });
  waiting.catch(() => {});
  const channel = `redisson_lock__channel:holdfast_once_lock:{${name}}`;
  await waitFor(async () => asStrings(await ask(redis.port, ['PUBSUB', 'NUMSUB', channel]))[1] === '1', {
    what: 'a process that waits',
    limitMs: WAIT_MS,
  });
  open();
  expect(await Promise.all([running, waiting])).toEqual([1, 1]);
  expect(await there.once.forget(name)).toBe(true);
}

/** A leader with another behind it in the line, a job by hand and a job by its schedule. */
async function useJobs([here, there]: readonly [Locks, Locks], name: string): Promise<void> {
  const { opened, open } = gate();
  const leading = here.leader(name, { afterReturn: 'stop' }).run(() => opened);
  leading.catch(() => {});
  const next = there.leader(name, { afterReturn: 'stop' });
  await waitFor(async () => (await ask(redis.port, ['EXISTS', `holdfast_leader:{${name}}`])) === 1, {
    what: 'a leader',
    limitMs: WAIT_MS,
  });
  const following = next.run(() => {});
  following.catch(() => {});
  await waitFor(
    async () => Number(await ask(redis.port, ['HLEN', `holdfast_line::holdfast_leader:{${name}}`])) > 0,
    { what: 'a place in the line', limitMs: WAIT_MS },
  );
  open();
  await Promise.all([leading, following]);
  expect(await here.runJob(name, () => {})).toMatchObject({ isRecorded: true });
  await new Promise<void>((resolve, reject) => {
    const schedule = there.schedule(name, { everyMs: 200 }, () => resolve());
    schedule.on('failed', ({ error }) => reject(error));
  });
  await there.close();
}

const USES = [
  { what: 'locks and mutexes', lists: [LEAST], use: useAll },
  { what: 'once', lists: [ONCE, LEAST], use: useOnce },
  { what: 'leaders and jobs', lists: [JOBS, LEAST], use: useJobs },
];

describe.each(USES)('the least rights for $what', ({ what, lists, use }) => {
  test.concurrent('are enough: nothing is refused', async ({ onTestFinished }) => {
    const user = `nothing of ${what}`.replaceAll(' ', '-');
    const sessions = await sessionsOf(user, lists, onTestFinished);
    await use(sessions, `locks:${user}`);
    expect(await refusedTo(user)).toEqual([]);
  });

  // Of several lists the first is the one that is wanted here; the other is tested by itself.
  test.concurrent.for(aclWords(lists[0] ?? '').map((word, index) => [word, index] as const))(
    'need %s',
    async ([word, index], { onTestFinished }) => {
      const sessions = await sessionsOf(word, lists, onTestFinished);
      let isOver = false;
      void use(sessions, `locks:${index}`)
        .catch(() => {})
        .finally(() => {
          isOver = true;
        });
      await waitFor(async () => isOver || (await refusedTo(word)).length > 0, { limitMs: 3 * WAIT_MS });
      expect(await refusedTo(word)).not.toEqual([]);
    },
  );
});
