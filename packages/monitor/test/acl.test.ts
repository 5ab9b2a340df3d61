/** The two users that docs/operate/acl.md has for the monitor: the one that looks can only read, and that is enough. */
import { expect, test } from 'vitest';
import { AUDIT, aclWords, LEAST, LOOKING, MONITOR } from '../../holdfast/test/support/servers/acl-rules.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { addUser, refusedTo } from './support/acl-users.ts';
import { client, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

const TOKEN = 'correct horse battery';
const BEARER = { authorization: `Bearer ${TOKEN}` };

test('a user that can only read sees all, and a second one acts and writes it down', async () => {
  const reader = await addUser(server, 'looks', aclWords(MONITOR));
  const writer = await addUser(server, 'acts', aclWords(LEAST, LOOKING, AUDIT));
  const owner = session(client(server.port), { prefix: 'locks:', application: 'billing' });
  const other = session(client(server.port), { prefix: 'locks:' });
  const first = await owner.lock('order').acquire({ leaseMs: 600_000 });
  const waiting = other
    .lock('order')
    .acquire({ waitMs: 120_000 })
    .catch(() => null);
  const seen = new TestMonitor({
    redis: client(server.port, reader),
    writer: client(server.port, writer),
    prefix: 'locks:',
    token: TOKEN,
    actions: true,
  });
  const row = await seen.untilRow('order', ({ app, waiting: count }) => app === 'billing' && count === 1);
  const detail = await waitFor(async () => {
    const response = await seen.get('api/v1/lock?name=order', BEARER);
    const found = (await response.json()) as { lineLength: number };
    return found.lineLength === 1 ? found : null;
  });
  expect(detail).toMatchObject({ line: [{ session: other.session }] });
  const body = { name: 'order', holder: row.holder, fence: row.fence, reason: 'trial' };
  expect((await seen.post('api/v1/release', body, BEARER)).status).toBe(200);
  expect((await (await seen.get('api/v1/audit', BEARER)).json()) as object).toMatchObject({
    entries: [{ subject: 'order', reason: 'trial' }],
  });
  await waitFor(() => seen.monitor.figures.read().counters.ends.forced === 1);
  expect((await seen.state(BEARER)).forbidden).toEqual([]);
  expect(await refusedTo(server, 'looks')).toEqual([]);
  await (await waiting)?.release();
  await first.release().catch(() => {});
  // None of its commands writes, and no key may be written.
  const scripts = [
    'SET locks:x 1',
    'DEL locks:order',
    'XADD holdfast_audit * a b',
    'PUBLISH holdfast_session:x y',
  ];
  const redis = client(server.port, reader);
  for (const words of scripts) {
    const [command = '', ...args] = words.split(' ');
    await expect(redis.call(command, ...args), words).rejects.toThrow(/NOPERM/);
  }
});

test('what the user may not do is named, with the rule that gives it', async () => {
  const words = aclWords(MONITOR).filter((word) => word !== '+info' && word !== '+scan');
  const poor = await addUser(server, 'poor', words);
  const seen = new TestMonitor({ redis: client(server.port, poor), prefix: 'locks:' });
  const forbidden = await waitFor(async () => {
    const { forbidden: found } = await seen.state();
    return found.length >= 2 ? found : null;
  });
  expect(forbidden.map(({ what }) => what).sort()).toEqual(['find locks', 'read the figures of the server']);
  expect(forbidden.find(({ what }) => what.startsWith('read the figures'))?.aclLine).toBe('+info');
});
