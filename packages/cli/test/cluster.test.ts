/** A Redis Cluster behind every command. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { CALM, useCluster } from '../../holdfast/test/support/servers/redis-cluster.ts';
import { type RedisServer, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { Finding } from '../src/doctor/finding.ts';
import type { LockList } from '../src/locks/lock-reader.ts';
import { answered, holdfast, start } from './support/holdfast.ts';
import { useTraces } from './support/job.ts';
import { readAs } from './support/schema.ts';

const cluster = useCluster(CALM);
const alone = useRedis();
const makeTraces = useTraces();

const servers = (): string[] => ['--cluster', '--redis', cluster.nodes[0]?.url ?? ''];
const FORCE = ['--force', '--reason', 'test', '--yes'];

async function listed(): Promise<LockList['locks']> {
  return readAs<LockList>('ls', (await holdfast(['ls', ...servers(), '--json'])).stdout).locks;
}

/** Until more is left of its lease than a moment ago. */
async function renewed({ port }: RedisServer, name: string): Promise<void> {
  let leastMs = Number.POSITIVE_INFINITY;
  await waitFor(
    async () => {
      const leftMs = Number(await ask(port, ['PTTL', name]));
      const isRenewed = leftMs > leastMs;
      leastMs = Math.min(leastMs, leftMs);
      return isRenewed;
    },
    { what: `a renewal of ${name}`, limitMs: 60_000 },
  );
}

test('run, ls, inspect and release work on every shard', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const primaries = await Promise.all(names.map((name) => cluster.primaryOf(name)));
  expect(new Set(primaries).size).toBe(3);
  // Long enough that none is lost while so many processes start, short enough to hear of a loss soon.
  const terms = ['--lease', '9s', '--grace', '50ms'];
  const jobs = names.map((name) =>
    start(['run', ...servers(), ...terms, name, '--', 'sh', '-c', 'echo on; sleep 120']),
  );
  await Promise.all(jobs.map((job) => job.says('on', 60_000)));
  // The record of an owner is written beside its lock, and may come a moment later.
  await waitFor(async () => (await listed()).every(({ application }) => application !== null), {
    what: 'the records',
    limitMs: 60_000,
  });
  const found = await listed();
  expect(found.map(({ name }) => name)).toEqual(names);
  for (const lock of found) expect(lock).toMatchObject({ kind: 'lock', application: 'holdfast run sh' });
  const inspected = await holdfast(['inspect', ...servers(), 'a']);
  expect(inspected).toMatchObject({ code: 0, stderr: '' });
  const busy = await answered(['run', ...servers(), '--no-wait', 'a', '--', 'true']);
  expect(busy.code, busy.stderr).toBe(75);
  for (const name of names) {
    expect(await holdfast(['release', name, ...servers(), ...FORCE])).toMatchObject({ code: 0 });
  }
  for (const job of jobs) expect(await job.ended).toMatchObject({ code: 79 });
  expect(await listed()).toEqual([]);
});

test('a job and a watch outlive a failover of their primary', async () => {
  const traces = makeTraces();
  const terms = ['--lease', '9s', '--grace', '50ms'];
  const script = 'echo on; until [ -e go ]; do sleep 0.05; done; echo done';
  const job = start(['run', '--quiet', ...servers(), ...terms, 'a', '--', 'sh', '-c', script], {
    cwd: traces.folder,
  });
  const watch = start(['watch', ...servers(), '--json', '--every', '200ms']);
  await job.says('on');
  await watch.says('"a"');
  const before = await cluster.primaryOf('a');
  await renewed(await cluster.failOver(before), 'a');
  writeFileSync(traces.path('go'), '');
  expect(await job.ended).toMatchObject({ code: 0, stdout: 'on\ndone\n', stderr: '' });
  await waitFor(() => watch.stdout.includes('"released"'), {
    what: 'the watch to see the end of it',
    limitMs: 60_000,
  }).finally(() => watch.kill('SIGINT'));
  await watch.ended;
});

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
    { limitMs: 120_000, what: 'a clean bill of health' },
  );
});

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
