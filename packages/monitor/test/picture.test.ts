/** What the monitor sees of a real server. */
import { beforeEach, expect, test } from 'vitest';
import { freePort } from '../../holdfast/test/support/servers/free-port.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { client, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

beforeEach(async () => void (await ask(server.port, ['FLUSHALL'])));

// The line of a name with a brace has a key of another form.
test.each(['order:1', '{order}:1'])(
  '%s is seen with its owner, its lease and those who wait for it',
  async (name) => {
    const locks = session(client(server.port), { application: 'billing' });
    const other = session(client(server.port), { application: 'mailer' });
    const before = Date.now();
    const lease = await locks.lock(name).acquire({ leaseMs: 30_000 });
    const waiting = other.lock(name).acquire({ waitMs: 120_000 });
    const seen = new TestMonitor({ redis: client(server.port) });
    const row = await seen.untilRow(name, ({ app, waiting }) => app !== null && waiting === 1);
    expect(row).toMatchObject({
      kind: 'lock',
      holder: `${locks.session}:1`,
      app: 'billing',
      pid: process.pid,
      exact: true,
      count: 1,
      eternal: false,
      votes: null,
      server: `127.0.0.1:${server.port}`,
    });
    expect(row.grantedAt).toBeGreaterThan(before - 1_000);
    expect(row.expiresAt).toBeGreaterThan(before);
    expect(row.firstWaitAt).toBeGreaterThan(before - 1_000);
    const detail = await waitFor(async () => {
      const found = await seen.detail(name);
      return found.line[0]?.app === 'mailer' ? found : null;
    });
    expect(detail).toMatchObject({
      lineLength: 1,
      line: [{ place: 1, session: other.session, listening: true }],
    });
    await lease.release();
    await seen.untilRow(name, ({ app }) => app === 'mailer');
    await (await waiting).release();
    await waitFor(() => seen.row(name) === undefined);
  },
);

test('mutexes of ours are seen by a digest, strings of others only under a pattern', async () => {
  const redis = client(server.port);
  const locks = session(client(server.port));
  await locks.mutex('mine').acquire();
  await redis.set('cache:1', 'f3b0c44298fc1c149afbf4c8996fb924', 'PX', 60_000);
  await redis.set('token:1', 'f3b0c44298fc1c149afbf4c8996fb925', 'PX', 60_000);
  // What an operator said to an owner is no mutex, whatever the patterns are.
  await redis.set('holdfast_revoked:{cache:2}:1', 'revoked stuck since noon', 'PX', 60_000);
  const seen = new TestMonitor({ redis, mutexes: ['cache:*', 'holdfast_*'] });
  const mine = await seen.untilRow('mine');
  const cache = await seen.untilRow('cache:1');
  expect([mine.kind, cache.kind]).toEqual(['mutex', 'mutex']);
  expect(mine.holder).toMatch(/^[0-9a-f]{40}$/);
  const { survey } = await waitFor(async () => {
    const state = await seen.state();
    return state.survey.passedAt === null ? null : state;
  });
  expect(survey.keys).toBeGreaterThan(2);
  expect(seen.row('token:1')).toBeUndefined();
  expect(seen.row('holdfast_revoked:{cache:2}:1')).toBeUndefined();
  expect(JSON.stringify(await seen.state())).not.toContain('f3b0c44298fc1c149afbf4c8996fb92');
});

test('a lock without an expiry is eternal', async () => {
  const redis = client(server.port);
  await redis.hset('stuck', '8743c9c0-0795-4907-87fd-6c719a6b4586:41', '1');
  const seen = new TestMonitor({ redis });
  expect(await seen.untilRow('stuck')).toMatchObject({ eternal: true, expiresAt: null, kind: 'lock' });
});

test('a mutex of ours without an expiry is eternal, and no string of others is', async () => {
  const redis = client(server.port);
  const locks = session(client(server.port));
  await locks.mutex('stuck').acquire({ leaseMs: 600_000 });
  await redis.set('cache:1', 'f3b0c44298fc1c149afbf4c8996fb924', 'PX', 600_000);
  const seen = new TestMonitor({ redis, mutexes: ['cache:*'] });
  await Promise.all(['stuck', 'cache:1'].map((name) => seen.untilRow(name)));
  await redis.persist('stuck');
  await redis.persist('cache:1');
  const row = await seen.untilRow('stuck', ({ eternal }) => eternal);
  expect(row).toMatchObject({ kind: 'mutex', expiresAt: null });
  await waitFor(() => seen.row('cache:1') === undefined, { what: 'the string of others to be no mutex' });
});

test('the card of a server has what INFO and TIME say', async () => {
  const seen = new TestMonitor({ redis: client(server.port), memoryLimit: 1_000_000_000 });
  const [card] = await waitFor(async () => {
    const { servers } = await seen.state();
    const [first] = servers;
    return first?.memoryUsed != null && first.clockOffsetMs !== null ? servers : null;
  });
  expect(card).toMatchObject({
    id: `127.0.0.1:${server.port}`,
    role: 'primary',
    health: 'up',
    memoryLimit: 1_000_000_000,
    memoryLimitFrom: 'config',
    mayEvict: false,
    persistence: 'ok',
    replicas: 0,
  });
  expect(Math.abs(card?.clockOffsetMs ?? 1e9)).toBeLessThan(5_000);
});

test('a server counts as surveyed once all its locks are in the picture', async () => {
  const redis = client(server.port);
  const names = Array.from({ length: 100 }, (_, i) => `many:${i}`);
  await Promise.all(names.map((name) => redis.hset(name, '8743c9c0-0795-4907-87fd-6c719a6b4586:41', '1')));
  // So many other keys that the locks found first are looked at while the walk goes on.
  await redis.mset(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`other:${i}`, ''])));
  const { figures } = new TestMonitor({ redis }).monitor;
  expect([...figures.read().unsurveyed]).toEqual([`127.0.0.1:${server.port}`]);
  const { locks } = await waitFor(() => {
    const seen = figures.read();
    return seen.unsurveyed.size === 0 ? seen : null;
  });
  expect(locks.size).toBe(names.length);
});

test('locks beyond the limit are counted, and said to be left out as long as there are any', async () => {
  const redis = client(server.port);
  const names = Array.from({ length: 7 }, (_, i) => `crowd:${i}`);
  for (const name of names) {
    await redis.hset(name, '8743c9c0-0795-4907-87fd-6c719a6b4586:41', '1');
    await redis.pexpire(name, 600_000);
  }
  const seen = new TestMonitor({ redis, locksMax: 4 });
  const leftOut = async (): Promise<readonly [number, string | undefined]> => {
    const text = await (await seen.get('metrics')).text();
    return [(await seen.state()).survey.leftOut, /locks_left_out\{.*\} (.*)/.exec(text)?.[1]];
  };
  const says = (count: number) => async () => (await leftOut()).join() === `${count},${count}`;
  await waitFor(says(3), { what: 'three that found no room', limitMs: 60_000 });
  await waitFor(() => names.filter((name) => seen.row(name) !== undefined).length === 4);
  // More walks find the same three, and not three more.
  const { passedAt } = (await seen.state()).survey;
  await waitFor(async () => (await seen.state()).survey.passedAt !== passedAt, { limitMs: 60_000 });
  expect(await leftOut()).toEqual([3, '3']);
  await redis.del(...names.filter((name) => seen.row(name) === undefined));
  await waitFor(says(0), { what: 'none that finds no room', limitMs: 60_000 });
});

test.each([0, 1.5, Number.NaN])('a limit of %s locks is refused', (locksMax) => {
  expect(() => new TestMonitor({ redis: client(server.port), locksMax })).toThrow(/expected locksMax/);
});

test('/healthz is well without Redis, and not ready before a look', async () => {
  const blind = new TestMonitor({ redis: client(await freePort()) });
  await waitFor(async () => (await blind.state()).servers[0]?.trouble?.includes('ECONNREFUSED') === true);
  expect((await blind.get('healthz')).status).toBe(200);
  expect((await blind.get('healthz?ready')).status).toBe(503);
});

test('a server that is down is said to be down, and the last picture stays', async () => {
  const redis = client(server.port);
  await redis.hset('stays', '8743c9c0-0795-4907-87fd-6c719a6b4586:41', '1');
  await redis.pexpire('stays', 600_000);
  const seen = new TestMonitor({ redis });
  await seen.untilRow('stays');
  await waitFor(async () => (await seen.get('healthz?ready')).status === 200, { what: 'a first look' });
  await server.kill();
  // A call that was under way when it died says so in other words; the next one says why.
  await waitFor(
    async () => {
      const [card] = (await seen.state()).servers;
      return card?.health === 'down' && card.trouble?.includes('ECONNREFUSED') === true;
    },
    { what: 'a server that is down, and why' },
  );
  expect(seen.row('stays')).toMatchObject({ name: 'stays', kind: 'lock' });
  expect((await seen.get('healthz')).status).toBe(200);
  await server.restart();
  await waitFor(async () => (await seen.state()).servers[0]?.health === 'up');
});
