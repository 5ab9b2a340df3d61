import { expect, test } from 'vitest';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { openLocks, sessionOf, untilRecorded } from './support/holders.ts';
import { holdfast } from './support/holdfast.ts';
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

test.each(['lock', 'mutex'] as const)(
  'a %s that still has its owner is taken from it, and the owner hears why although it does not listen',
  async (kind) => {
    const lease = await openLocks(redis, 'billing')[kind]('order').acquire({ leaseMs: 60_000 });
    const terminal = await asked('order');
    terminal.type('y\r');
    expect(await terminal.ended).toBe(0);
    // A renewal, now instead of after 20 s.
    expect(await rejection(lease.extend(60_000))).toMatchObject({
      code: 'ELOCKLOST',
      reason: 'revoked',
      message: expect.stringContaining('it was released by force: "the host is gone"'),
    });
    expect(await lease.release()).toBe(false);
  },
);

test('a trail that cannot be written holds a release back, unless --no-audit says to do without', async () => {
  const own = await startRedis();
  const locks = openLocks(own);
  await locks.lock('stuck').acquire({ leaseMs: 600_000 });
  await ask(own.port, ['SET', 'holdfast_audit', 'no stream']);
  const words = ['release', 'stuck', '--force', '--reason', 'stuck', '--yes', '--redis', own.url];
  const held = await holdfast(words);
  expect(held).toMatchObject({ code: 69, stdout: '' });
  expect(held.stderr).toMatch(/nothing was released: .*; see --no-audit/);
  expect(await sessionOf(own, 'stuck')).toBe(locks.session);
  const done = await holdfast([...words, '--no-audit']);
  expect(done).toMatchObject({
    code: 0,
    stderr: 'holdfast: warning: --no-audit: this release is written down nowhere\n',
  });
  expect(await ask(own.port, ['EXISTS', 'stuck'])).toBe(0);
  expect(await ask(own.port, ['GET', 'holdfast_audit'])).toBe('no stream');
});
