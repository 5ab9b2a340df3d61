/** Several servers are a quorum: commands work while a majority answers. */
import { expect, onTestFinished, test } from 'vitest';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { LockList } from '../src/locks/lock-reader.ts';
import { answered, holdfast, start } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';
import { untilUpFor } from './support/uptime.ts';

const servers = [useRedis(), useRedis(), useRedis()] as const;

const urls = (): string[] => servers.flatMap(({ url }) => ['--redis', url]);
/** A short grace leaves a renewal time to come late on a busy machine. */
const TERMS = ['--lease', '8s', '--grace', '50ms'];
const run = (...job: readonly string[]) => ['run', '--quiet', ...urls(), ...TERMS, 'job', '--', ...job];

test('run, ls and release work on a quorum, also with one server down, and not with two', async () => {
  // A server does not vote until it has been up for the longest lease.
  for (const server of servers) await untilUpFor(server, 10);
  const holder = start(run('sh', '-c', 'echo on; sleep 600'));
  await holder.says('on');
  const listed = async () =>
    readAs<LockList>('ls', (await holdfast(['ls', ...urls(), '--json'])).stdout).locks;
  // The record of its owner is written beside the lock, and may come a moment later.
  await waitFor(async () => (await listed()).every(({ application }) => application !== null), {
    what: 'the record',
    limitMs: 60_000,
  });
  expect(await listed()).toMatchObject([{ name: 'job', kind: 'lock', application: 'holdfast run sh' }]);
  await servers[2].kill();
  expect(await listed()).toMatchObject([{ name: 'job', application: 'holdfast run sh' }]);
  const busy = await answered(['run', ...urls(), ...TERMS, '--no-wait', 'job', '--', 'true']);
  expect(busy.code, busy.stderr).toBe(75);
  const force = ['--force', '--reason', 'test', '--yes'];
  // On a busy machine a server may take longer to answer than it is given, and then it is asked for again.
  await waitFor(async () => (await holdfast(['release', 'job', ...urls(), ...force])).code === 0, {
    what: 'the release by force',
    limitMs: 120_000,
  });
  expect(await holder.ended).toMatchObject({ code: 79 });
  expect(await answered(run('echo', 'on'))).toMatchObject({ code: 0, stdout: 'on\n', stderr: '' });

  await servers[1].kill();
  const down = await holdfast(run('echo', 'never'));
  expect(down).toMatchObject({ code: 69, stdout: '' });
  expect(down.stderr).toMatch(
    /^holdfast: 2 of 3 servers: redis:\S+: nothing listens there.*; redis:\S+: .*\n$/,
  );
});

test('of two servers that have just been started, run says what it waits for, and that two are few', async () => {
  const young = await Promise.all([startRedis(), startRedis()]);
  onTestFinished(async () => void (await Promise.all(young.map((server) => server.stop()))));
  const args = young.flatMap(({ url }) => ['--redis', url]);
  // Longer than a lock that nobody can grant is asked for: it ends with the outage.
  const { code, stdout, stderr } = await holdfast([
    'run',
    ...args,
    '--lease',
    '5m',
    'job',
    '--',
    'echo',
    'on',
  ]);
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
  const [warning, ...notices] = stderr.trimEnd().split('\n');
  expect(warning).toBe(
    'holdfast: warning: of 2 servers 2 must answer, so none may fail, no more than with 1: use an odd number',
  );
  const rule = 'a server of a quorum does not vote before it has been up for the lease of 5m';
  expect(notices).toEqual([
    expect.stringMatching(
      new RegExp(
        `^holdfast: waiting for lock "job": nobody holds it, but ${rule}: redis:\\S+, redis:\\S+ in about \\d`,
      ),
    ),
    expect.stringMatching(/^holdfast: lock "job": .*it votes in/),
  ]);
});
