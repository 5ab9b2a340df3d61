/** A Redis Cluster behind every command. */
import { expect, test } from 'vitest';
import { useCluster } from '../../holdfast/test/support/redis-cluster.ts';
import { useRedis } from '../../holdfast/test/support/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { Finding } from '../src/doctor/finding.ts';
import type { LockList } from '../src/locks/lock-reader.ts';
import { holdfast, start } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';

const cluster = useCluster();
const alone = useRedis();

const servers = (): string[] => ['--cluster', '--redis', cluster.nodes[0]?.url ?? ''];
const FORCE = ['--force', '--reason', 'test', '--yes'];

async function listed(): Promise<LockList['locks']> {
  return readAs<LockList>('ls', (await holdfast(['ls', ...servers(), '--json'])).stdout).locks;
}

test('run, ls, inspect and release work on every shard', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const primaries = await Promise.all(names.map((name) => cluster.primaryOf(name)));
  expect(new Set(primaries).size).toBe(3);
  const jobs = names.map((name) =>
    start(['run', ...servers(), '--lease', '3s', name, '--', 'sh', '-c', 'echo on; sleep 60']),
  );
  await Promise.all(jobs.map((job) => job.says('on', 60_000)));
  const found = await listed();
  expect(found.map(({ name }) => name)).toEqual(names);
  for (const lock of found) expect(lock).toMatchObject({ kind: 'lock', application: 'holdfast run sh' });
  const inspected = await holdfast(['inspect', ...servers(), 'a']);
  expect(inspected).toMatchObject({ code: 0, stderr: '' });
  const busy = await holdfast(['run', ...servers(), '--no-wait', 'a', '--', 'true']);
  expect(busy.code, busy.stderr).toBe(75);
  for (const name of names) {
    expect(await holdfast(['release', name, ...servers(), ...FORCE])).toMatchObject({ code: 0 });
  }
  for (const job of jobs) expect(await job.ended).toMatchObject({ code: 79 });
  expect(await listed()).toEqual([]);
}, 120_000);

test('a job and a watch outlive a failover of their primary', async () => {
  const job = start([
    'run',
    ...servers(),
    '--lease',
    '10s',
    'a',
    '--',
    'sh',
    '-c',
    'echo on; sleep 6; echo done',
  ]);
  const watch = start(['watch', ...servers(), '--json', '--every', '200ms']);
  await job.says('on');
  await watch.says('"a"');
  const before = await cluster.primaryOf('a');
  await cluster.failOver(before);
  expect(await job.ended).toMatchObject({ code: 0, stdout: 'on\ndone\n', stderr: '' });
  await waitFor(() => watch.stdout.includes('"released"'), {
    what: 'the watch to see the end of it',
    limitMs: 10_000,
  }).finally(() => watch.kill('SIGINT'));
  await watch.ended;
}, 60_000);

test('the doctor looks at every primary, and tries a lock and a wake-up', async () => {
  // On a machine that stalls it may not see what it looks for, and says so: then it is asked again.
  await waitFor(
    async () => {
      const ran = await holdfast(['doctor', ...servers(), '--lease', '1s', '--json']);
      const { findings } = readAs<{ findings: Finding[] }>('doctor', ran.stdout);
      const of = (check: string): string[] =>
        findings.filter((finding) => finding.check === check).map(({ level }) => level);
      expect(of('role')).toEqual(['ok', 'ok', 'ok']);
      expect(of('scripts')).toEqual(['ok']);
      expect(of('messages')).toEqual(['ok']);
      expect(of('cluster')).toEqual(['ok']);
      return true;
    },
    { limitMs: 40_000, what: 'a clean bill of health' },
  );
}, 60_000);

test('the environment may say that it is a cluster', async () => {
  const env = { HOLDFAST_REDIS_URL: cluster.nodes[1]?.url ?? '', HOLDFAST_REDIS_CLUSTER: '1' };
  expect(await holdfast(['run', 'env', '--', 'echo', 'on'], { env })).toMatchObject({
    code: 0,
    stdout: 'on\n',
  });
  const odd = await holdfast(['ls'], { env: { ...env, HOLDFAST_REDIS_CLUSTER: 'maybe' } });
  expect(odd.code).toBe(64);
  expect(odd.stderr).toMatch(/HOLDFAST_REDIS_CLUSTER: expected 1 or 0, got "maybe"/);
});

test('a server that is no node of a cluster is told in one line', async () => {
  const ran = await holdfast(['ls', '--cluster', '--redis', alone.url]);
  expect(ran.code).toBe(64);
  expect(ran.stderr).toMatch(/^holdfast: --cluster: expected nodes of a Redis Cluster, got .*disabled.*\n$/);
});

test('a node of a cluster that is taken for a server is told by the doctor', async () => {
  const ran = await holdfast(['doctor', '--redis', cluster.nodes[0]?.url ?? '', '--json']);
  expect(ran.code).toBe(2);
  expect(ran.stdout).toMatch(/part of a Redis Cluster/);
  expect(ran.stdout).toMatch(/use --cluster/);
});
