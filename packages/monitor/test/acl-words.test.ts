/**
 * Every word that docs/operate/acl.md has for the users of the monitor is needed: without it the server refuses something.
 * `npm run test:monitor`; acl.test.ts has the lists as a whole.
 */
import type { Locks } from 'holdfast';
import { describe, expect, test } from 'vitest';
import {
  ALERTS,
  AUDIT,
  aclWords,
  LEAST,
  LOOKING,
  MONITOR,
} from '../../holdfast/test/support/servers/acl-rules.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { type RedisServer, startRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { SettingsHolder } from '../src/alerts/config/holder.ts';
import { HttpReceiver, type Received, useHttpReceivers } from './alerts/support/http-receiver.ts';
import { settingsWith } from './alerts/support/machine.ts';
import { webReceiver } from './alerts/support/notices.ts';
import { addUser, refusedTo } from './support/acl-users.ts';
import { isLong, LONG_TEST } from './support/long.ts';
import { client, closing, session, TestMonitor } from './support/monitor.ts';

useHttpReceivers();

const TOKEN = 'correct horse battery';
const BEARER = { authorization: `Bearer ${TOKEN}` };
/** Four monitors at a time start and stop on a machine that may be full. */
const LIMIT = { limitMs: 240_000 };
/** Servers with a monitor each, side by side. */
const AT_ONCE = 4;

const READER = aclWords(MONITOR);
const WRITER = [...new Set(aclWords(LEAST, LOOKING, AUDIT, ALERTS))];

/**
 * The lock of the leader is a lock as any other: acl-words.test.ts of holdfast takes each right of a lock away, also those that
 * matter only beside another library, as the public channel does.
 */
const WRITER_WORDS = aclWords(AUDIT, ALERTS).filter(
  (word) => !aclWords(LEAST).includes(word) && !word.startsWith('&redisson_lock__channel'),
);

/** Two monitors of one fleet: the second takes over from the first. */
interface World {
  readonly server: RedisServer;
  readonly seen: TestMonitor;
  readonly second: TestMonitor;
  readonly hook: HttpReceiver;
}

async function startWorld(reader: readonly string[], writer: readonly string[]): Promise<World> {
  const server = await startRedis({ args: ['--acllog-max-len', '10000'] });
  closing({ close: () => server.stop() });
  const hook = await HttpReceiver.start();
  closing({ close: () => hook.stop() });
  const rules = { 'lock-held-long': { warning: 1, forMs: 0, keepForMs: 0 } };
  const settings = new SettingsHolder({
    ...settingsWith(rules),
    fleet: 'shop',
    groupMs: 0,
    receivers: [webReceiver(hook.url)],
  });
  const users = [await addUser(server, 'looks', reader), await addUser(server, 'acts', writer)];
  const start = (): TestMonitor => {
    const [redis, acting] = users.map((user) => client(server.port, user));
    if (redis === undefined || acting === undefined) throw new Error('expected two users');
    const terms = { prefix: 'locks:', token: TOKEN, actions: true, mutexes: ['strange:*'] };
    return new TestMonitor({ redis, writer: acting, settings, ...terms });
  };
  const seen = start();
  // Not before the first leads, or nobody has: what is refused shows either way.
  await waitFor(async () => (await leads(seen)) || (await refusedTo(server, 'acts')).length > 0, LIMIT).catch(
    () => {},
  );
  return { server, seen, second: start(), hook };
}

async function leads(seen: TestMonitor): Promise<boolean> {
  return /alerts_leader\{.*\} 1/.test(await (await seen.get('metrics', BEARER)).text());
}

/** Everything that operators do with the monitor, and all that it does by itself. */
async function useAll({ server, seen, second, hook }: World): Promise<void> {
  const locks = (): Locks => session(client(server.port), { prefix: 'locks:', application: 'billing' });
  const [owner, next] = [locks(), locks()];
  const lease = await owner.lock('order').acquire({ leaseMs: 600_000 });
  await owner.mutex('stock').acquire({ leaseMs: 600_000 });
  await ask(server.port, ['SET', 'locks:strange:1', 'f3b0c44298fc1c149afbf4c8996fb924', 'PX', '600000']);
  const waiting = next.lock('order').acquire({ waitMs: 300_000 });
  waiting.catch(() => {});
  const row = await seen.untilRow('order', (found) => found.app === 'billing' && found.waiting === 1);
  await Promise.all(['stock', 'strange:1'].map((name) => seen.untilRow(name)));
  await waitFor(async () => {
    const detail = (await (await seen.get('api/v1/lock?name=order', BEARER)).json()) as {
      line: { listening: boolean }[];
    };
    return detail.line[0]?.listening === true;
  }, LIMIT);
  await waitFor(() => isTold(hook, 'firing', 'order'), LIMIT);
  const order = { match: { subject: 'order' }, until: Date.now() + 3_600_000, reason: 'trial' };
  for (const path of ['ack', 'silence']) await seen.post(`api/v1/${path}`, order, BEARER);
  const body = { name: 'order', holder: row.holder, fence: row.fence, reason: 'trial' };
  await seen.post('api/v1/release', body, BEARER);
  await (await waiting).release();
  await lease.release().catch(() => {});
  await waitFor(() => seen.monitor.figures.read().counters.ends.forced === 1, LIMIT);
  // It ends before it could be told: the first message is dropped for one that says both.
  hook.usual = 'fail';
  const late = await owner.lock('late').acquire({ leaseMs: 600_000 });
  await waitFor(() => isShown(seen, 'firing', 'late'), LIMIT);
  await late.release();
  await waitFor(() => isShown(seen, 'resolved', 'late'), LIMIT);
  hook.usual = 'take';
  await waitFor(() => isTold(hook, 'resolved', 'late'), LIMIT);
  for (const path of ['audit', 'alerts']) expect((await seen.get(`api/v1/${path}`, BEARER)).status).toBe(200);
  await seen.monitor.close();
  await waitFor(() => leads(second), LIMIT);
  // So many silences that one more is refused.
  const mute = JSON.stringify({ ...order, id: 'x', kind: 'silence', by: 'ann', at: Date.now() });
  const filler = Array.from({ length: 1_000 }, (_, at) => [`s${at}`, mute]).flat();
  await ask(server.port, ['HSET', 'holdfast_monitor:{shop}:silences', ...filler]);
  await second.post('api/v1/silence', order, BEARER);
}

type Kind = 'firing' | 'resolved';

function about({ body }: Received, kind: Kind, subject: string): boolean {
  const alerts = (body['alerts'] ?? []) as { subject: string }[];
  return body['kind'] === kind && alerts.some((alert) => alert.subject === subject);
}

function isTold(hook: HttpReceiver, kind: Kind, subject: string): boolean {
  return hook.taken.some((one) => about(one, kind, subject));
}

async function isShown(seen: TestMonitor, state: Kind, subject: string): Promise<boolean> {
  const { alerts } = await seen.state(BEARER);
  return alerts.some((alert) => alert.subject === subject && alert.state === state);
}

/** The words without which nothing was refused to that user. */
async function needless(user: 'looks' | 'acts', words: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const tryWithout = async (word: string): Promise<void> => {
    const rest = (all: readonly string[], mine: boolean): string[] =>
      all.filter((one) => !mine || one !== word);
    const world = await startWorld(rest(READER, user === 'looks'), rest(WRITER, user === 'acts'));
    let end: 'well' | 'ill' | null = null;
    void useAll(world).then(
      () => {
        end = 'well';
      },
      () => {
        end = 'ill';
      },
    );
    const isRefused = async (): Promise<boolean> => (await refusedTo(world.server, user)).length > 0;
    const isOver = (): boolean => end !== null;
    const limit = { limitMs: 1_200_000, what: `the end of ${word}` };
    await waitFor(async () => isOver() || (await isRefused()), limit);
    // What cannot go on is refused too, where a script asks for its rights before it begins.
    if (end === 'well' && !(await isRefused())) found.push(word);
    await Promise.all([world.seen.monitor.close(), world.second.monitor.close()]);
  };
  const queue = [...words];
  const work = async (): Promise<void> => {
    for (let word = queue.shift(); word !== undefined; word = queue.shift()) await tryWithout(word);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

describe.runIf(isLong)('the rights of the monitor', () => {
  test('are enough: nothing is refused', LONG_TEST, async () => {
    const world = await startWorld(READER, WRITER);
    await useAll(world);
    expect(await refusedTo(world.server, 'looks')).toEqual([]);
    expect(await refusedTo(world.server, 'acts')).toEqual([]);
  });

  test('are all needed by the user that looks', LONG_TEST, async () => {
    expect(await needless('looks', READER)).toEqual([]);
  });

  test('are all needed by the user that keeps alerts and audit', LONG_TEST, async () => {
    expect(await needless('acts', WRITER_WORDS)).toEqual([]);
  });
});
