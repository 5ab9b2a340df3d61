import { expect, test } from 'vitest';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { openLocks, untilRecorded } from './support/holders.ts';
import { openTerminal, type Terminal } from './support/terminal.ts';

const redis = useRedis();

/** Somebody has been asked about the owner of that name, and has not answered yet. */
async function asked(name: string): Promise<Terminal> {
  const args = ['release', name, '--force', '--reason', 'the host is gone', '--redis', redis.url];
  const terminal = openTerminal(args, { columns: 200 });
  await terminal.shows('Take it away? [y/N]');
  return terminal;
}

test('a lock that has another owner by the time of the yes stays with it', async () => {
  const first = await openLocks(redis, 'billing').lock('order').acquire();
  const terminal = await asked('order');
  await first.release();
  const locks = openLocks(redis, 'billing');
  const next = await locks.lock('order').acquire();
  await untilRecorded(redis, locks.session);
  terminal.type('y\r');
  expect(await terminal.ended).toBe(75);
  expect(terminal.text).toMatch(/order: billing on \S+, process \d+ holds it by now; nothing was released/);
  expect(await next.release()).toBe(true);
});

test('a mutex that has another owner by the time of the yes stays with it', async () => {
  const locks = openLocks(redis, 'billing');
  const first = await locks.mutex('order').acquire();
  const terminal = await asked('order');
  await first.release();
  const next = await locks.mutex('order').acquire();
  terminal.type('y\r');
  expect(await terminal.ended).toBe(75);
  expect(terminal.text).toContain('order: somebody else holds it by now; nothing was released');
  expect(await next.release()).toBe(true);
});

test('a mutex that still has its owner is taken from it', async () => {
  const lease = await openLocks(redis, 'billing').mutex('order').acquire();
  const terminal = await asked('order');
  terminal.type('y\r');
  expect(await terminal.ended).toBe(0);
  expect(await lease.release()).toBe(false);
});
