/** The users that docs/operate/acl.md describes for a cluster can do what it says, and no less than all of it is needed. */
import { Cluster } from 'ioredis';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Locks, LockUnavailableError } from '../../src/index.ts';
import { slotOf } from '../../src/keys/slot.ts';
import { wokenBy } from '../support/locks/woken.ts';
import { aclWords, CLUSTER, LEAST, LOOKING } from '../support/servers/acl-rules.ts';
import { CALM, command, useCluster } from '../support/servers/redis-cluster.ts';
import { SlotMigration } from '../support/servers/slot-migration.ts';
import { waitFor } from '../support/wait-for.ts';

const cluster = useCluster(CALM);
/** A call that ends without an answer says nothing of rights. */
const PATIENT = { callTimeoutMs: 20_000 };

const USERS: Readonly<Record<string, readonly string[]>> = {
  least: aclWords(LEAST, CLUSTER),
  more: aclWords(LEAST, LOOKING, CLUSTER),
  deaf: aclWords(LEAST, CLUSTER).filter((word) => word !== '&holdfast_line:{locks:*'),
  alone: aclWords(LEAST),
};

beforeAll(async () => {
  for (const [name, rules] of Object.entries(USERS)) {
    for (const node of cluster.nodes) {
      await command(node, 'ACL', 'SETUSER', name, 'reset', 'on', '>pass', ...rules);
    }
  }
});

function sessionOf(username: string): Locks {
  const nodes = cluster.ports.map((port) => ({ host: '127.0.0.1', port }));
  const redisOptions = { username, password: 'pass' };
  const locks = new Locks(new Cluster(nodes, { lazyConnect: true, redisOptions }), PATIENT);
  onTestFinished(() => locks.close());
  return locks;
}

/** The tickets in the line of a name. */
async function ticketsOf(name: string): Promise<string[]> {
  const fields = await command(await cluster.primaryOf(name), 'HGETALL', `holdfast_line:{${name}}`);
  const words = (fields as unknown[]).map(String);
  return words.filter((_, index) => index % 2 === 1 && /^\d+$/.test(words[index - 1] ?? ''));
}

describe('in a cluster the least user', () => {
  test('acquires, waits on the channels of the shards, and is woken', async () => {
    const [here, there] = [sessionOf('least'), sessionOf('least')];
    for (const kind of ['lock', 'mutex'] as const) {
      const lease = await here[kind]('locks:a').acquire();
      const waiting = there[kind]('locks:a').acquire();
      await waitFor(async () => (await ticketsOf('locks:a')).length === 1, { what: 'a place in the line' });
      const next = await wokenBy('locks:a', () => lease.release(), waiting);
      await next.release();
    }
  });

  test('releases through a slot that is moving', async () => {
    const locks = sessionOf('least');
    const lease = await locks.lock('locks:moving').acquire();
    const migration = await SlotMigration.of(cluster, slotOf('locks:moving'));
    await migration.begin();
    await migration.moveKeys('locks:moving');
    expect(await lease.release()).toBe(true);
    await migration.settle();
  });
});

test('a user with the second list too may look around', async () => {
  const locks = sessionOf('more');
  await locks.lock('locks:b').acquire();
  expect(await locks.inspect('locks:b')).toMatchObject({ kind: 'lock', waiters: 0 });
  for await (const { name } of locks.list({ prefix: 'locks:' })) expect(name).toBe('locks:b');
  expect(await locks.forceRelease('locks:b')).toBe(`${locks.session}:1`);
  expect(await locks.check()).toEqual([]);
});

test('a user without the channel of the line gets a lock, and does not hear of its turn', async () => {
  const [here, there] = [sessionOf('least'), sessionOf('deaf')];
  const lease = await here.lock('locks:c').acquire();
  const waiting = there.lock('locks:c').acquire();
  await waitFor(async () => (await ticketsOf('locks:c')).length === 1, { what: 'a place in the line' });
  expect(await ticketsOf('locks:c')).toEqual([
    expect.stringContaining(` n holdfast_line:{locks:c}:${there.session}`),
  ]);
  await lease.release();
  await (await waiting).release();
});

test('a user without the third list is told that it may not ask for the slots', async () => {
  const refused = sessionOf('alone').lock('locks:a').acquire();
  await expect(refused).rejects.toBeInstanceOf(LockUnavailableError);
  await expect(refused).rejects.toThrow(/NOPERM/);
});
