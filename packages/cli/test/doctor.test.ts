/** The doctor on real servers, well and unwell. */
import { describe, expect, test } from 'vitest';
import { freePort } from '../../holdfast/test/support/servers/free-port.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { Finding, Level } from '../src/doctor/finding.ts';
import { holdfast } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';
import { untilUpFor } from './support/uptime.ts';

const first = useRedis({
  args: ['--appendonly', 'yes', '--appendfsync', 'always', '--repl-diskless-sync-delay', '0'],
});
const second = useRedis();
const TRIES_MAX = 5;

interface Report {
  readonly worst: Level;
  readonly findings: readonly Finding[];
}

async function examine(
  urls: readonly string[],
  ...args: readonly string[]
): Promise<Report & { code: number | null }> {
  const servers = urls.flatMap((url) => ['--redis', url]);
  for (let tries = 1; ; tries += 1) {
    const { code, stdout, stderr } = await holdfast(['doctor', ...servers, '--json', ...args]);
    expect(stderr).toBe('');
    const report = { code, ...readAs<Report>('doctor', stdout) };
    // What a busy machine answers too late is told as it is, and asked again.
    const isSlow = report.findings.some(({ message }) => message.includes('no answer within'));
    if (!isSlow || tries === TRIES_MAX) return report;
  }
}

const of = ({ findings }: Report, check: Finding['check']): string[] =>
  findings.filter((finding) => finding.check === check).map(({ level, message }) => `${level}: ${message}`);

/** Servers of a test file are young. */
const YOUNG = ['--lease', '1s'];

/** The keys of locks that begin with `locks:`. */
const NARROW_KEYS = ['~locks:*', '~redisson_lock_token:{locks:*', '~holdfast_line:{locks:*'];

describe('the doctor', () => {
  test('finds a server well that keeps every lock, and leaves nothing on it', async () => {
    await untilUpFor(first, 1);
    // What it tries has a quarter of a second to be answered. A machine that takes longer is told as it is, and asked again.
    const report = await waitFor(
      async () => {
        const found = await examine([first.url], ...YOUNG);
        const { findings } = found;
        expect(findings.filter(({ level, check }) => level !== 'ok' && check !== 'latency')).toEqual([]);
        return found;
      },
      { what: 'a clean bill of health', limitMs: 120_000 },
    );
    expect(of(report, 'version')).toEqual([expect.stringMatching(/^ok: Redis 7\./)]);
    expect(of(report, 'persistence')).toEqual(['ok: every lock is on disk before it is granted']);
    expect(of(report, 'scripts')).toEqual([
      'ok: a lock and a mutex can be taken, renewed, handed over and released',
    ]);
    const keys = [await ask(first.port, ['KEYS', '*'])].flat().map(String);
    expect(keys.filter((key) => !key.startsWith('redisson_lock_token:'))).toEqual([]);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      const leftMs = Number(await ask(first.port, ['PTTL', key]));
      // Gone by now, or within a minute.
      expect(leftMs === -2 || (leftMs > 0 && leftMs <= 60_000), `${key}: ${leftMs} ms`).toBe(true);
    }
  });

  test('tries the channel that a lock with a brace in its prefix has', async () => {
    const channels = ['redisson_lock__channel', 'holdfast_mutex__channel'].map((kind) => `&${kind}:{tag}:*`);
    const user = ['on', '>pass', '~*', 'resetchannels', ...channels, '&holdfast_session:*', '+@all'];
    await ask(first.port, ['ACL', 'SETUSER', 'braced', 'reset', ...user]);
    const report = await examine([first.url.replace('//', '//braced:pass@')], ...YOUNG, '--prefix', '{tag}:');
    expect(of(report, 'messages')).toEqual(['ok: waiters can be woken by messages']);
  });

  test('exits by the worst: 0, 1 with a warning, 2 with a problem, and says so in words', async () => {
    const long = ['--lease', '1h'];
    await untilUpFor(first, 1);
    const well = await examine([first.url], ...YOUNG);
    // A busy machine may be slow enough for a warning, or for a problem.
    expect(well.code).toBe(['ok', 'warning', 'problem'].indexOf(well.worst));
    const young = await holdfast(['doctor', '--redis', first.url, ...long]);
    expect(young.code, young.stdout).toBe(1);
    expect(young.stdout).toMatch(/^ {2}warning {2}uptime {7}up for .* only: owners from before/m);
    expect(young.stdout).toMatch(/^ +→ wait until it has been up for 1h$/m);
    expect(young.stdout).toMatch(/\nno problems, \d warnings?\n$/);
    const lenient = await holdfast(['doctor', '--redis', first.url, ...long, '--fail-on', 'problem']);
    expect(lenient.code, lenient.stdout).toBe(0);
    expect(lenient.stdout).toMatch(/^ {2}warning {2}uptime/m);
    await ask(second.port, ['CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru']);
    const sick = await examine([second.url]);
    expect(sick).toMatchObject({ code: 2, worst: 'problem' });
    expect(await examine([second.url], '--fail-on', 'problem')).toMatchObject({ code: 2, worst: 'problem' });
    expect(of(sick, 'eviction')).toEqual([
      expect.stringContaining('problem: maxmemory-policy is allkeys-lru'),
    ]);
    expect(of(sick, 'persistence')).toEqual([expect.stringContaining('warning: nothing is kept')]);
    await ask(second.port, ['CONFIG', 'SET', 'maxmemory', '0']);
  });

  test('sees a replica, one that is cut off, and a primary that does not mind', async () => {
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(first.port)] });
    try {
      await waitFor(
        async () => String(await ask(first.port, ['INFO', 'replication'])).includes('state=online'),
        {
          limitMs: 60_000,
        },
      );
      await waitFor(
        async () => {
          const primary = await examine([first.url], ...YOUNG);
          // A replica that has just stalled lags, which is told too.
          expect(of(primary, 'replicas')).toEqual([
            expect.stringContaining('warning: min-replicas-to-write is 0'),
          ]);
          return true;
        },
        { what: 'a replica that does not lag', limitMs: 90_000 },
      );
      const other = await examine([replica.url], ...YOUNG);
      expect(of(other, 'role')).toEqual([expect.stringContaining('problem: it is a replica')]);
      expect(other.code).toBe(2);
    } finally {
      await replica.stop();
    }
  });

  test('sees what the rights of the user do not reach', async () => {
    const user = ['on', '>pass', ...NARROW_KEYS, '+@all', '-info', '-subscribe'];
    await ask(first.port, ['ACL', 'SETUSER', 'narrow', 'reset', ...user, 'resetchannels']);
    const url = first.url.replace('//', '//narrow:pass@');
    const report = await examine([url], ...YOUNG);
    expect(report.code).toBe(2);
    expect(of(report, 'version')).toEqual([expect.stringContaining('warning: the user may not run INFO')]);
    expect(of(report, 'scripts')).toEqual([
      expect.stringMatching(/^problem: a lock cannot be taken.*NOPERM/),
    ]);
    expect(of(report, 'messages')).toEqual([
      expect.stringMatching(/^warning: waiters cannot be woken.*NOPERM/),
    ]);
    const right = await examine([url], ...YOUNG, '--prefix', 'locks:');
    expect(of(right, 'scripts')).toEqual([
      'ok: a lock and a mutex can be taken, renewed, handed over and released',
    ]);
  });

  test.each([
    ['&redisson_lock__channel:*', 'redisson_lock__channel:*'],
    ['&holdfast_mutex__channel:*', 'holdfast_mutex__channel:*'],
    ['&holdfast_session:*', 'holdfast_session:*'],
  ])('sees that a user has the channels of the page but %s', async (without, named) => {
    const all = ['&redisson_lock__channel:*', '&holdfast_mutex__channel:*', '&holdfast_session:*'];
    const user = ['on', '>pass', '~*', 'resetchannels', ...all.filter((one) => one !== without), '+@all'];
    await ask(first.port, ['ACL', 'SETUSER', 'mute', 'reset', ...user]);
    const report = await examine([first.url.replace('//', '//mute:pass@')], ...YOUNG);
    const [message] = of(report, 'messages');
    expect(message).toContain(`warning: waiters cannot be woken by messages on ${named}`);
    expect(of(report, 'scripts')).toEqual([expect.stringMatching(/^ok/)]);
  });

  test.each(['-hmget', '-hlen', '-hset'])('sees that a user may not hand a lock over: %s', async (right) => {
    const user = ['on', '>pass', '~*', '&*', '+@all', right];
    await ask(first.port, ['ACL', 'SETUSER', 'alone', 'reset', ...user]);
    const report = await examine([first.url.replace('//', '//alone:pass@')], ...YOUNG);
    expect(of(report, 'scripts')).toEqual([
      expect.stringMatching(/^problem: a lock cannot .*can't run this command/),
    ]);
  });

  test('sees that a user may release locks and no mutexes', async () => {
    const user = ['on', '>pass', '~*', '&*', '+@all', '-del'];
    await ask(first.port, ['ACL', 'SETUSER', 'keeper', 'reset', ...user]);
    const report = await examine([first.url.replace('//', '//keeper:pass@')], ...YOUNG);
    expect(of(report, 'scripts')).toEqual([
      expect.stringMatching(/^problem: a mutex cannot be taken, handed over and released/),
    ]);
  });

  test('sees a quorum with a server twice, with one that is down, and an even number', async () => {
    const twice = `redis://localhost:${first.port}`;
    const down = `redis://127.0.0.1:${await freePort()}`;
    const report = await examine([first.url, second.url, twice, down]);
    expect(report.code).toBe(2);
    expect(of(report, 'quorum')).toEqual([
      expect.stringMatching(/^problem: redis:\S+ and redis:\S+ are one and the same server/),
      'warning: 4 servers: 1 may fail, no more than with 3',
    ]);
    expect(of(report, 'reach')).toEqual([expect.stringContaining('problem: nothing listens there')]);
    expect(of(report, 'persistence')).toContainEqual(
      expect.stringMatching(/^ok: nothing is kept.*does not vote/),
    );
    expect(of(report, 'clock').at(-1)).toMatch(/^ok: the clocks of the servers are at most \d+ ms apart$/);
  });

  test('of no server at all says why in one line', async () => {
    const ran = await holdfast(['doctor', '--redis', `redis://127.0.0.1:${await freePort()}`]);
    expect(ran).toMatchObject({ code: 69, stdout: '' });
    expect(ran.stderr).toMatch(/^holdfast: redis:\S+: nothing listens there.*\n$/);
  });
});
