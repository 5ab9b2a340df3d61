/**
 * `holdfast monitor` by the two users of docs/operate/acl.md: one that can only read looks, the other keeps the alerts and the
 * audit trail. packages/monitor/test/acl-words.test.ts takes each right away.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { Locks } from '../../holdfast/src/index.ts';
import { type Child, startProgram } from '../../holdfast/test/support/processes/child.ts';
import {
  ALERTS,
  AUDIT,
  aclWords,
  LEAST,
  LOOKING,
  MONITOR,
} from '../../holdfast/test/support/servers/acl-rules.ts';
import { type RedisServer, startRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { addUser, refusedTo } from '../../monitor/test/support/acl-users.ts';
import { MAIN } from './support/built-cli.ts';
import { holdfast } from './support/holdfast.ts';

const TOKEN = 'correct horse battery';
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const PATIENT = { limitMs: 90_000 };

interface Line {
  readonly url?: string;
  readonly kind?: string;
  readonly rule?: string;
}

interface Picture {
  readonly locks: { readonly name: string; readonly holder: string; readonly fence: number }[];
  readonly alerts: { readonly rule: string; readonly state: string; readonly silence: object | null }[];
  readonly forbidden: object[];
}

const READER = aclWords(MONITOR);
const WRITER = aclWords(LEAST, LOOKING, AUDIT, ALERTS);

/** A monitor with alerts for what is held for a tenth of a second. `writer` null: nobody may write. */
async function startMonitor(server: RedisServer, writer: readonly string[]): Promise<[Child<Line>, string]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-users-'));
  const config = join(folder, 'monitor.jsonc');
  const rules = { 'lock-held-long': { above: '100ms', for: '0s', keepFor: '0s' } };
  const receivers = { log: { type: 'stdout' } };
  writeFileSync(config, JSON.stringify({ fleet: 'shop', rules, receivers, groupFor: '0s' }));
  await addUser(server, 'looks', READER);
  await addUser(server, 'acts', writer);
  const urlOf = (user: string): string => `redis://${user}:pass@127.0.0.1:${server.port}`;
  const words = ['monitor', '--config', config, '--prefix', 'locks:', '--port', '0', '--actions', '--json'];
  const child = startProgram<Line>([process.execPath, MAIN, ...words], {
    HOLDFAST_REDIS_URL: urlOf('looks'),
    HOLDFAST_MONITOR_WRITER_URL: urlOf('acts'),
    HOLDFAST_MONITOR_TOKEN: TOKEN,
  });
  onTestFinished(async () => void (await child.kill('SIGKILL')));
  const { url = '' } = await child.next((line) => line.url !== undefined);
  return [child, url];
}

function openLocks({ port }: RedisServer): Locks {
  const locks = new Locks(new Redis(port, { lazyConnect: true }), {
    prefix: 'locks:',
    application: 'billing',
    callTimeoutMs: 20_000,
  });
  onTestFinished(() => locks.close());
  return locks;
}

test('a user that can only read looks, a second one keeps alerts and audit; neither is refused anything', async () => {
  const server = await startRedis({ args: ['--acllog-max-len', '10000'] });
  const locks = openLocks(server);
  const lease = await locks.lock('order').acquire({ leaseMs: 600_000 });
  const [child, url] = await startMonitor(server, WRITER);
  const picture = async (): Promise<Picture> =>
    (await (await fetch(`${url}api/v1/state`, { headers: HEADERS })).json()) as Picture;
  const post = async (path: string, body: object): Promise<number> => {
    const { status } = await fetch(`${url}api/v1/${path}`, {
      method: 'POST',
      headers: { ...HEADERS, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return status;
  };
  await child.next(({ kind, rule }) => kind === 'firing' && rule === 'lock-held-long');
  const order = { match: { rule: 'lock-held-long' }, until: Date.now() + 3_600_000, reason: 'known' };
  expect([await post('ack', order), await post('silence', order)]).toEqual([200, 200]);
  await waitFor(async () => (await picture()).alerts.some(({ silence }) => silence !== null), PATIENT);
  const row = (await picture()).locks.find(({ name }) => name === 'order');
  expect(row?.holder).toBe(`${locks.session}:1`);
  const { holder, fence } = row ?? { holder: '', fence: 0 };
  expect(await post('release', { name: 'order', holder, fence, reason: 'trial' })).toBe(200);
  const isOver = ({ rule, state }: Picture['alerts'][number]): boolean =>
    rule !== 'lock-held-long' || state === 'resolved';
  await waitFor(async () => (await picture()).alerts.every(isOver), PATIENT);
  process.kill(child.pid, 'SIGHUP');
  const trail = await waitFor(
    async () => {
      const { stdout } = await holdfast(['audit', '--json', '--redis', server.url]);
      const { entries } = JSON.parse(stdout) as { entries: { action: string; result: string | null }[] };
      return entries.filter(({ result }) => result !== null).length === 4 ? entries : null;
    },
    { ...PATIENT, what: 'four actions in the trail, each with its result' },
  );
  expect(trail.map(({ action }) => action).sort()).toEqual(['ack', 'release', 'reload', 'silence']);
  expect((await picture()).forbidden).toEqual([]);
  expect(await refusedTo(server, 'looks')).toEqual([]);
  expect(await refusedTo(server, 'acts')).toEqual([]);
  // Also after a reload.
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  await lease.release().catch(() => {});
});

test('without the right to write the trail nothing is taken away, and without that to the state nothing is told', async () => {
  const server = await startRedis();
  const locks = openLocks(server);
  await locks.lock('order').acquire({ leaseMs: 600_000 });
  const without = WRITER.filter((word) => word !== '+xadd' && !word.startsWith('~holdfast_monitor'));
  const [child, url] = await startMonitor(server, without);
  const row = await waitFor(async () => {
    const { locks: rows } = (await (
      await fetch(`${url}api/v1/state`, { headers: HEADERS })
    ).json()) as Picture;
    return rows.find(({ name }) => name === 'order');
  }, PATIENT);
  const { holder, fence } = row;
  const response = await fetch(`${url}api/v1/release`, {
    method: 'POST',
    headers: { ...HEADERS, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'order', holder, fence, reason: 'trial' }),
  });
  expect(response.status).toBe(503);
  expect(await response.text()).toContain('audit-failed');
  expect(await locks.inspect('order')).toMatchObject({ kind: 'lock', owner: holder });
  await waitFor(
    async () => (await refusedTo(server, 'acts')).some((key) => key.startsWith('holdfast_monitor:')),
    {
      ...PATIENT,
      what: 'the refused state of the alerts',
    },
  );
  expect(child.lines.filter(({ kind }) => kind !== undefined)).toEqual([]);
});
