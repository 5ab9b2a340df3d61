/** The users that docs/operate/acl.md describes can do what it says, and no more than that. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CHANNELS, Locks, LockUnavailableError, type RenewTrace } from '../../src/index.ts';
import { sessionRecord } from '../../src/scripts/generated.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { wokenBy } from '../support/locks/woken.ts';
import { rejection } from '../support/rejection.ts';
import {
  ALERTS,
  AUDIT,
  aclWords,
  BRACES,
  CLUSTER,
  CONNECTING,
  JOBS,
  LEAST,
  LOOKING,
  MONITOR,
  MONITOR_JOBS,
  NODE_REDIS_SENTINELS,
  ONCE,
  REPLICATION,
  SENTINELS,
} from '../support/servers/acl-rules.ts';
import { ask, asStrings } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { blocksOf } from './pages.ts';

/** Long beside the pauses of a busy machine; a third of it passes before the first renewal. */
const LEASE_MS = 6_000;
/** A call that ends without an answer says nothing of rights. */
const PATIENT = { callTimeoutMs: 20_000 };
const redis = useRedis();
useLeakCheck(redis);

const PAGE = 'docs/operate/acl.md';

async function addUser(name: string, rules: readonly string[]): Promise<void> {
  const reply = await ask(redis.port, ['ACL', 'SETUSER', name, 'reset', 'on', '>pass', ...rules]);
  expect(reply).toBe('OK');
}

/** How many processes wait in the line of a name. */
async function inLine(name: string): Promise<number> {
  const fields = asStrings(await ask(redis.port, ['HKEYS', `holdfast_line:{${name}}`]));
  return fields.filter((field) => /^\d+$/.test(field)).length;
}

beforeAll(async () => {
  await addUser('least', aclWords(LEAST));
  await addUser('more', aclWords(LEAST, LOOKING));
});

test('the page prints the lists that the tests use', () => {
  const lists = blocksOf(PAGE).filter(({ info }) => info === 'text');
  const servers = [
    ...[LEAST, ONCE, JOBS, LOOKING, MONITOR, MONITOR_JOBS, AUDIT, ALERTS],
    ...[BRACES, CLUSTER, REPLICATION],
  ];
  const sentinels = [SENTINELS, NODE_REDIS_SENTINELS];
  expect(lists.map(({ code }) => code)).toEqual([...servers, ...sentinels, CONNECTING]);
});

test('the command on the page makes a user of all of them', () => {
  const [command] = blocksOf(PAGE).filter(({ info }) => info === 'sh');
  const words = (command?.code ?? '').replaceAll(/[\\']/g, ' ').trim().split(/\s+/);
  expect(words.slice(0, 6)).toEqual(['redis-cli', 'ACL', 'SETUSER', 'app', 'on', '>secret']);
  expect(words.slice(6).sort()).toEqual([...new Set(aclWords(LEAST, LOOKING, BRACES, CONNECTING))].sort());
});

const CLIENTS = {
  ioredis: (username: string) =>
    new Redis({ port: redis.port, username, password: 'pass', lazyConnect: true }),
  'node-redis': (username: string) =>
    createClient({ socket: { port: redis.port, host: '127.0.0.1' }, username, password: 'pass' }),
};

/** The kinds of what was renewed since the test began, with the server's consent. */
function watchRenewals(): string[] {
  const renewed: string[] = [];
  const listen = (message: unknown): void => {
    const { kind, result } = message as RenewTrace;
    if (JSON.stringify(result) === '[{"is":"kept"}]') renewed.push(kind);
  };
  const name = `tracing:${CHANNELS.renew}:asyncEnd`;
  subscribe(name, listen);
  onTestFinished(() => void unsubscribe(name, listen));
  return renewed;
}

/** Two sessions of one user, closed with the test. */
function sessionsOf(client: keyof typeof CLIENTS, user: string): [Locks, Locks] {
  const sessions: [Locks, Locks] = [
    new Locks(CLIENTS[client](user), PATIENT),
    new Locks(CLIENTS[client](user), PATIENT),
  ];
  onTestFinished(async () => {
    await Promise.all(sessions.map((locks) => locks.close()));
  });
  return sessions;
}

describe.each(['ioredis', 'node-redis'] as const)('on %s the least user', (client) => {
  test('acquires, enters again, renews, waits and is woken', async () => {
    const [here, there] = sessionsOf(client, 'least');
    const renewed = watchRenewals();
    for (const lock of ['lock', 'mutex'] as const) {
      const lease = await here[lock]('locks:a').acquire({ leaseMs: LEASE_MS });
      const waiting = there[lock]('locks:a').acquire({ leaseMs: 60_000 });
      await waitFor(() => renewed.includes(lock), { what: `the ${lock} to be renewed` });
      await waitFor(async () => (await inLine('locks:a')) === 1, { what: 'a place in the line' });
      const next = await wokenBy('locks:a', () => lease.release(), waiting);
      await next.release();
    }
    await here.lock('locks:a').using(() => here.lock('locks:a').using(() => {}));
    // Where a session has waited, it listens for as long as it lives.
    await Promise.all([here.close(), there.close()]);
  });

  test('cannot touch other keys, nor look around', async () => {
    const [locks] = sessionsOf(client, 'least');
    // One after the other: of several at once one may be refused before anybody listens.
    for (const ask of [
      () => locks.lock('other').tryAcquire(),
      () => locks.inspect('locks:a'),
      () => locks.forceRelease('locks:a'),
      () => locks.list({ prefix: 'locks:' }).next(),
      () => locks.check(),
    ]) {
      await expect(ask()).rejects.toBeInstanceOf(LockUnavailableError);
    }
  });
});

test('a user with the second list may look around and release by force', async () => {
  const [locks] = sessionsOf('ioredis', 'more');
  await locks.lock('locks:b').acquire();
  expect(await locks.inspect('locks:b')).toMatchObject({ kind: 'lock' });
  for await (const { name } of locks.list({ prefix: 'locks:' })) expect(name).toBe('locks:b');
  expect(await locks.forceRelease('locks:b')).toBe(`${locks.session}:1`);
  expect(await locks.check()).toEqual([]);
});

test('a user with the lists for once and for looking around may release by force a run that hangs', async () => {
  await addUser('rescuer', aclWords(LEAST, ONCE, LOOKING));
  const [here, there] = sessionsOf('ioredis', 'rescuer');
  let end = (): void => {};
  const begun = new Promise<void>((resolve) => {
    const running = here.once('locks:o', () => {
      resolve();
      return new Promise<void>((ended) => {
        end = ended;
      });
    });
    running.catch(() => {});
  });
  await begun;
  expect(await there.forceRelease('holdfast_once_lock:{locks:o}')).toContain(here.session);
  end();
  await here.close();
  // The record of a run outlives it.
  await ask(redis.port, ['DEL', 'holdfast_once:{locks:o}']);
});

test('a user that may not leave or read why a lock was taken away takes it away, and hears of it, all the same', async () => {
  for (const [user, lists] of [
    ['curt', [LEAST, LOOKING]],
    ['deaf', [LEAST]],
  ] as const) {
    await addUser(
      user,
      aclWords(...lists).filter((word) => word !== '~holdfast_revoked:*'),
    );
  }
  for (const [taker, owner, reason] of [
    ['more', 'least', 'revoked'],
    ['curt', 'least', 'gone'],
    ['more', 'deaf', 'gone'],
  ] as const) {
    const [there] = sessionsOf('ioredis', taker);
    const [here] = sessionsOf('ioredis', owner);
    for (const kind of ['lock', 'mutex'] as const) {
      const lease = await here[kind]('locks:c').acquire({ leaseMs: 60_000 });
      expect(await there.forceRelease('locks:c', { reason: 'stuck' })).not.toBeNull();
      expect(await rejection(lease.extend(60_000))).toMatchObject({ code: 'ELOCKLOST', reason });
    }
  }
});

test('a user that may not set an expiry gets no lock, and leaves no key behind', async () => {
  await addUser('timeless', [...aclWords(LEAST), '-pexpire', '-del', '-hdel']);
  const client = new Redis({ port: redis.port, username: 'timeless', password: 'pass', lazyConnect: true });
  const locks = new Locks(client, { ...PATIENT, application: 'billing' });
  onTestFinished(() => locks.close());
  // A mutex and its expiry are one command; with it the session begins its record.
  await locks.mutex('locks:mutex').acquire({ leaseMs: 60_000, renew: false });
  const wasTried = ['SCRIPT', 'EXISTS', sessionRecord.text.sha];
  await waitFor(async () => [await ask(redis.port, wasTried)].flat()[0] === 1, {
    what: 'a try at the record',
  });
  await expect(locks.lock('locks:lock').acquire()).rejects.toMatchObject({
    code: 'ELOCKUNAVAILABLE',
    servers: [{ kind: 'reply', text: expect.stringMatching(/^NOPERM .*PEXPIRE/) }],
  });
  expect(await ask(redis.port, ['EXISTS', 'locks:lock', `holdfast_session:${locks.session}`])).toBe(0);
  await ask(redis.port, ['DEL', 'locks:mutex']);
});

test('leads and runs jobs with these rights, and no others', async () => {
  const words = aclWords(LEAST, JOBS, CONNECTING);
  await ask(redis.port, ['ACL', 'SETUSER', 'worker', 'reset', 'on', '>pass', ...words]);
  const client = CLIENTS.ioredis('worker');
  const locks = new Locks(client, { ...PATIENT, prefix: 'locks:' });
  await locks.leader('boss', { afterReturn: 'stop' }).run(() => {});
  expect(await locks.runJob('report', () => {}, { everyMs: 60_000 })).toMatchObject({ isRecorded: true });
  const ran = new Promise<void>((resolve, reject) => {
    const schedule = locks.schedule('tick', { everyMs: 200 }, () => resolve());
    schedule.on('failed', ({ error }) => reject(error));
  });
  await ran;
  await locks.close();
  client.disconnect();
  // Markers outlive their jobs.
  await ask(redis.port, ['DEL', 'holdfast_job:{locks:report}', 'holdfast_job:{locks:tick}']);
});
