/** Taking a lock away from the page, and what is written down. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { aborted } from '../../holdfast/test/support/aborted.ts';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { AuditPage } from '../src/api/types.ts';
import { AuditTrail, type MonitorOptions } from '../src/index.ts';
import { client, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

beforeEach(async () => void (await ask(server.port, ['FLUSHALL'])));

/** The end of the hold that the tests of the trail take away, whenever that was. */
const END = { name: 'a', holder: 'h:1', server: 's', seenMs: 0, goneMs: Number.POSITIVE_INFINITY };

const TOKEN = 'correct horse battery';
const BEARER = { authorization: `Bearer ${TOKEN}` };

function acting(options: Partial<MonitorOptions> = {}): TestMonitor {
  return new TestMonitor({ redis: client(server.port), token: TOKEN, actions: true, ...options });
}

async function trail(seen: TestMonitor): Promise<AuditPage> {
  return (await (await seen.get('api/v1/audit', BEARER)).json()) as AuditPage;
}

describe('a release by force', () => {
  test('takes the lock from the owner that was shown, tells it why, and is written down', async () => {
    const locks = session(client(server.port));
    const other = session(client(server.port));
    // An owner that has waited before listens to its session's channel.
    const first = await other.lock('order').acquire();
    const waiting = locks.lock('order').acquire({ leaseMs: 60_000, waitMs: 120_000 });
    await waitFor(async () => (await ask(server.port, ['EXISTS', 'holdfast_line:{order}'])) === 1);
    await first.release();
    const loss = aborted((await waiting).signal);
    const seen = acting();
    const row = await seen.untilRow('order', ({ holder }) => holder.startsWith(locks.session));
    const body = { name: 'order', holder: row.holder, fence: row.fence, reason: 'stuck since noon' };
    // What was read of the trail is kept for a second: not beyond an action.
    expect((await trail(seen)).entries).toEqual([]);
    const response = await seen.post('api/v1/release', body, BEARER, '10.1.2.3');
    expect([response.status, await response.json()]).toEqual([200, { released: row.holder }]);
    expect(await loss).toMatchObject({
      code: 'ELOCKLOST',
      reason: 'revoked',
      message: expect.stringContaining('stuck since noon'),
    });
    const { entries } = await trail(seen);
    expect(entries).toMatchObject([
      {
        action: 'release',
        subject: 'order',
        holder: row.holder,
        fence: row.fence,
        by: 'token',
        via: 'page',
        address: '10.1.2.3',
        reason: 'stuck since noon',
        result: `released from ${row.holder}`,
      },
    ]);
    await waitFor(async () => (await seen.monitor.figures.read()).counters.ends.forced === 1);
  });

  test('tells an owner that does not listen why, by its next renewal', async () => {
    const lease = await session(client(server.port)).lock('order').acquire({ leaseMs: 60_000 });
    const seen = acting();
    const row = await seen.untilRow('order');
    const body = { name: 'order', holder: row.holder, fence: row.fence, reason: 'stuck since noon' };
    expect((await seen.post('api/v1/release', body, BEARER)).status).toBe(200);
    // A renewal, now instead of after 20 s.
    expect(await rejection(lease.extend(60_000))).toMatchObject({
      reason: 'revoked',
      message: expect.stringContaining('released by force: "stuck since noon"'),
    });
  });

  test('from another owner than was shown is refused with who has it now, and nothing is done', async () => {
    const locks = session(client(server.port));
    await locks.lock('order').acquire({ leaseMs: 60_000 });
    const seen = acting();
    const row = await seen.untilRow('order');
    const body = { name: 'order', holder: `${locks.session}:999`, fence: null, reason: 'stuck' };
    const response = await seen.post('api/v1/release', body, BEARER);
    expect([response.status, await response.json()]).toMatchObject([
      409,
      { error: { code: 'changed' }, now: { holder: row.holder } },
    ]);
    const older = { ...body, holder: row.holder, fence: (row.fence ?? 0) - 1 };
    expect((await seen.post('api/v1/release', older, BEARER)).status).toBe(409);
    expect(await ask(server.port, ['EXISTS', 'order'])).toBe(1);
    expect((await trail(seen)).entries[0]?.result).toMatch(/^not done: /);
  });

  test('that cannot be written down is not done, unless that was switched off', async () => {
    const locks = session(client(server.port));
    await locks.lock('order').acquire({ leaseMs: 60_000 });
    // Something else stands where the trail should be.
    await ask(server.port, ['SET', 'holdfast_audit', 'mine']);
    const seen = acting();
    const row = await seen.untilRow('order');
    const body = { name: 'order', holder: row.holder, fence: row.fence, reason: 'stuck' };
    const refused = await seen.post('api/v1/release', body, BEARER);
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: 'audit-failed' } }]);
    expect(await ask(server.port, ['EXISTS', 'order'])).toBe(1);
    const careless = acting({ audit: false });
    await careless.untilRow('order');
    expect((await careless.post('api/v1/release', body, BEARER)).status).toBe(200);
    expect(await ask(server.port, ['EXISTS', 'order'])).toBe(0);
  });

  test.each([
    [{ holder: 'x', fence: null, reason: 'r' }, /expected name/],
    [{ name: 'a', fence: null, reason: 'r' }, /expected holder/],
    [{ name: 'a', holder: 'x', fence: null }, /expected reason/],
    [{ name: 'a', holder: 'x', fence: null, reason: '   ' }, /expected reason to say why/],
    [{ name: 'a', holder: 'x', fence: null, reason: 'r'.repeat(501) }, /expected reason/],
    [{ name: 'a', holder: 'x', fence: '7', reason: 'r' }, /expected fence/],
  ])('with %j is refused before anything is done', async (body, message) => {
    const seen = acting();
    const response = await seen.post('api/v1/release', body, BEARER);
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(message);
    expect((await trail(seen)).entries).toEqual([]);
  });
});

test.each(['silence', 'ack'])(
  '%s of a monitor without rules is refused, and is not in the trail',
  async (path) => {
    const seen = acting();
    const body = { match: { rule: 'memory-high' }, until: Date.now() + 60_000, reason: 'known' };
    const response = await seen.post(`api/v1/${path}`, body, BEARER);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('no rule is judged: start the monitor with --config');
    expect((await trail(seen)).entries).toEqual([]);
    expect((await seen.state(BEARER)).limits).toBeNull();
  },
);

test('the audit trail is written to a majority, read from all, and an end joins its beginning', async () => {
  const stored: string[][] = [];
  const good = {
    call: vi.fn(async (command: string, ...args: string[]): Promise<unknown> => {
      if (command === 'XADD') {
        stored.push(args.slice(5));
        return '1-0';
      }
      return stored.map((words, i) => [`${1_000 + i}-0`, words]).reverse();
    }),
  };
  const bad = { call: async (): Promise<unknown> => Promise.reject(new Error('NOPERM no')) };
  const audit = new AuditTrail([good, bad, good]);
  const action = {
    action: 'release',
    subject: 'a',
    holder: 'h:1',
    by: 'me',
    via: 'cli',
    reason: 'r',
  } as const;
  const id = await audit.ask(action);
  expect(audit.takeForced(END)).toBe(true);
  expect((await audit.page(null)).entries).toMatchObject([{ id, result: null, doneAt: null }]);
  await audit.done(id, 'released');
  expect((await audit.page(null)).entries).toMatchObject([{ id, result: 'released', subject: 'a' }]);
  const poor = new AuditTrail([good, bad, bad]);
  await expect(poor.ask(action)).rejects.toThrow('could not be written: NOPERM no');
  expect(poor.takeForced(END)).toBe(false);
});

/** Every action, page by page. */
async function allOf(audit: AuditTrail): Promise<AuditPage['entries'][number][]> {
  const found: AuditPage['entries'][number][] = [];
  for (let before: string | null = null, pages = 0; pages === 0 || before !== null; pages += 1) {
    const page: AuditPage = await audit.page(before);
    found.push(...page.entries);
    before = page.next;
    expect(pages).toBeLessThan(20);
  }
  return found;
}

test('page by page the trail has every action once, with its end, whatever stands in between', async () => {
  const audit = new AuditTrail([client(server.port)]);
  const ended: string[] = [];
  const askFor = (subject: string): Promise<string> =>
    audit.ask({ action: 'release', subject, by: 'ada', via: 'cli', reason: 'stuck' });
  // Actions that overlap, one that never ended, and what somebody else wrote: no page ends where an action does.
  let last = await askFor('0');
  for (let at = 1; at <= 250; at += 1) {
    const next = await askFor(String(at));
    if (at % 100 === 0) await ask(server.port, ['XADD', 'holdfast_audit', '*', 'no', 'id']);
    else {
      await audit.done(last, `ended ${at - 1}`);
      ended.push(String(at - 1));
    }
    last = next;
  }
  // More actions in a row that were only asked for than a page has.
  for (let at = 251; at <= 500; at += 1) await askFor(String(at));
  const found = await allOf(audit);
  expect(found.map(({ subject }) => subject)).toEqual(Array.from({ length: 501 }, (_, at) => `${500 - at}`));
  expect(
    found.filter(({ result }) => result !== null).map(({ subject, result }) => [subject, result]),
  ).toEqual(ended.reverse().map((subject) => [subject, `ended ${subject}`]));
});

test('page by page the trail of a quorum has every action once, whichever servers have it', async () => {
  // Three keyspaces are as good as three servers, and quicker.
  const servers = [0, 1, 2].map((db) => client(server.port, { db }));
  for (let at = 0; at < 600; at += 1) {
    // The first server is away half of the time, so that its page goes further back than those of the others.
    const away = [0, 1, 0, 2][Math.floor(at / 10) % 4];
    const audit = new AuditTrail(servers.filter((_, index) => index !== away));
    const id = await audit.ask({
      action: 'release',
      subject: `${at}`,
      by: 'ada',
      via: 'cli',
      reason: 'stuck',
    });
    await audit.done(id, `ended ${at}`);
  }
  // Those of one millisecond may stand in any order: each server has counted them for itself.
  const found = (await allOf(new AuditTrail(servers))).sort((a, b) => Number(a.subject) - Number(b.subject));
  expect(found.map(({ subject, result }) => [subject, result])).toEqual(
    Array.from({ length: 600 }, (_, at) => [`${at}`, `ended ${at}`]),
  );
});

test('the trail keeps about ten thousand entries', async () => {
  const fill = "for i = 1, 10500 do redis.call('XADD', KEYS[1], '*', 'id', i, 'phase', 'asked') end";
  await ask(server.port, ['EVAL', fill, '1', 'holdfast_audit']);
  const audit = new AuditTrail([client(server.port)]);
  await audit.ask({ action: 'release', subject: 'order', by: 'ada', via: 'cli', reason: 'stuck' });
  const kept = Number(await ask(server.port, ['XLEN', 'holdfast_audit']));
  expect(kept).toBeGreaterThanOrEqual(10_000);
  expect(kept).toBeLessThan(10_200);
});

test('what somebody else wrote into the trail does not hide a release', async () => {
  const fill = "for i = 1, 1200 do redis.call('XADD', KEYS[1], '*', 'no', 'id') end";
  await ask(server.port, ['EVAL', fill, '1', 'holdfast_audit']);
  const [writer, reader] = [0, 1].map(() => new AuditTrail([client(server.port)]));
  await writer?.ask({ action: 'release', subject: 'a', holder: 'h:1', by: 'me', via: 'cli', reason: 'r' });
  for (let reads = 0; reads < 3; reads += 1) await reader?.readNew();
  expect(reader?.takeForced(END)).toBe(true);
});

test('the trail of a real quorum is written by a majority, and joins what each server has of an action', async () => {
  const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
  const [first, second, third] = servers.map(({ port }) => port) as [number, number, number];
  const clients = servers.map(({ port }) => client(port));
  const audit = new AuditTrail(clients);
  const exists = () => Promise.all(servers.map(({ port }) => ask(port, ['EXISTS', 'holdfast_audit'])));
  const action = { action: 'release', subject: 'a', holder: 'h:1', by: 'me', via: 'cli' } as const;
  // One server was away when it was asked for, another when it was done.
  await ask(first, ['SET', 'holdfast_audit', 'no stream']);
  const id = await audit.ask({ ...action, reason: 'one' });
  await ask(first, ['DEL', 'holdfast_audit']);
  await ask(second, ['RENAME', 'holdfast_audit', 'kept']);
  await ask(second, ['SET', 'holdfast_audit', 'no stream']);
  await audit.done(id, 'released');
  await ask(second, ['RENAME', 'kept', 'holdfast_audit']);
  expect(await exists()).toEqual([1, 1, 1]);
  const told = [{ id, reason: 'one', result: 'released', subject: 'a' }];
  expect((await audit.page(null)).entries).toMatchObject(told);
  // The third alone has both halves: without it they come from two servers.
  await ask(third, ['DEL', 'holdfast_audit']);
  const another = new AuditTrail(clients);
  expect((await another.page(null)).entries).toMatchObject(told);
  await another.readNew();
  expect(another.takeForced(END)).toBe(true);
  await ask(first, ['SET', 'holdfast_audit', 'no stream']);
  await ask(second, ['SET', 'holdfast_audit', 'no stream']);
  await expect(audit.ask({ ...action, reason: 'two' })).rejects.toThrow(/could not be written: WRONGTYPE/);
});
