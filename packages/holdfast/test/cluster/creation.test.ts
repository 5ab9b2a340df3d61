/** A service that starts while its cluster is being put together: some slots have nobody yet. */
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Locks, LockUnavailableError } from '../../src/index.ts';
import { SLOTS, slotOf } from '../../src/keys/slot.ts';
import { command } from '../support/servers/redis-cluster.ts';
import { RedisServer } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

const HALF = SLOTS / 2;
const args = ['--cluster-enabled', 'yes', '--cluster-require-full-coverage', 'no'];
const [first, second] = [new RedisServer({ args }), new RedisServer({ args })];

beforeAll(() => Promise.all([first.start(), second.start()]), 180_000);
afterAll(() => Promise.all([first.stop(), second.stop()]));

function nameIn(isFirst: boolean): string {
  for (let i = 0; ; i += 1) {
    if (slotOf(`made:${i}`) < HALF === isFirst) return `made:${i}`;
  }
}

test('slots that nobody had when the service started are found once somebody has them', async () => {
  await command(first, 'CLUSTER', 'SET-CONFIG-EPOCH', '1');
  await command(second, 'CLUSTER', 'SET-CONFIG-EPOCH', '2');
  await command(first, 'CLUSTER', 'ADDSLOTSRANGE', '0', `${HALF - 1}`);
  await command(second, 'CLUSTER', 'ADDSLOTSRANGE', `${HALF}`, `${SLOTS - 1}`);
  const cluster = new Cluster([{ host: '127.0.0.1', port: first.port }], { lazyConnect: true });
  const locks = new Locks(cluster, { callTimeoutMs: 5_000 });
  try {
    // A node refuses everything for a moment after it got its first slots.
    await waitFor(async () => String(await command(first, 'CLUSTER', 'INFO')).includes('cluster_state:ok'));
    await locks.lock(nameIn(true)).using(() => {});
    const missing = locks.lock(nameIn(false));
    await expect(missing.tryAcquire()).rejects.toThrow(LockUnavailableError);
    const waiting = missing.acquire({ waitMs: 60_000 });
    await command(first, 'CLUSTER', 'MEET', '127.0.0.1', `${second.port}`);
    const lease = await waiting;
    expect(await command(second, 'HLEN', missing.name)).toBe(1);
    expect(await lease.release()).toBe(true);
  } finally {
    await locks.close();
    cluster.disconnect();
  }
}, 180_000);
