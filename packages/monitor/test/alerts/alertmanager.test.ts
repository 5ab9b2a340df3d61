/** A real Alertmanager takes what the monitor posts: it shows the alert while it fires, and tells its own receiver of the end. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasTool, needs } from '../../../holdfast/test/support/needs.ts';
import { guardProcess, makeGuardedFolder } from '../../../holdfast/test/support/processes/process-guard.ts';
import { freePort } from '../../../holdfast/test/support/servers/free-port.ts';
import { useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { SettingsHolder } from '../../src/alerts/config/holder.ts';
import { client, closing, session, TestMonitor } from '../support/monitor.ts';
import { HttpReceiver, useHttpReceivers } from './support/http-receiver.ts';
import { settingsWith } from './support/machine.ts';
import { webReceiver } from './support/notices.ts';

const server = useRedis();
useHttpReceivers();

const PROGRAM = 'prometheus-alertmanager';
const isThere = needs(PROGRAM, hasTool(PROGRAM, '--version'), 'the monitor beside a real Alertmanager');
const LIMIT = { limitMs: 90_000 };

interface Shown {
  readonly labels: Readonly<Record<string, string>>;
  readonly status: { readonly state: string };
}

/** Starts one that tells `webhook` of all it hears, at once. Returns its address. */
async function startAlertmanager(webhook: string): Promise<string> {
  const folder = makeGuardedFolder('holdfast-alertmanager-');
  mkdirSync(join(folder, 'data'));
  const file = join(folder, 'alertmanager.yml');
  writeFileSync(
    file,
    JSON.stringify({
      route: { receiver: 'hook', group_by: ['...'], group_wait: '0s', group_interval: '1s' },
      receivers: [{ name: 'hook', webhook_configs: [{ url: webhook, send_resolved: true }] }],
    }),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const args = [
    `--config.file=${file}`,
    `--storage.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
    // Alone: it looks for no others and opens no port for them.
    '--cluster.listen-address=',
  ];
  const child = spawn(PROGRAM, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  guardProcess(child);
  closing({ close: () => child.kill('SIGKILL') });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log = `${log}${chunk.toString()}`.slice(-4_000);
  });
  await waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${log}`);
      return (await fetch(`http://${address}/-/ready`)).ok;
    },
    { ...LIMIT, what: 'an Alertmanager that is ready' },
  );
  return `http://${address}`;
}

async function shownBy(url: string): Promise<Shown[]> {
  return (await (await fetch(`${url}/api/v2/alerts`)).json()) as Shown[];
}

function statuses({ taken }: HttpReceiver): string[] {
  return taken.flatMap(({ body }) =>
    (body['alerts'] as { status: string; labels: Record<string, string> }[]).map(
      ({ status, labels }) => `${status} ${labels['rule']} ${labels['subject']}`,
    ),
  );
}

test.runIf(isThere)('Alertmanager shows our alert as active, and tells that it is resolved', async () => {
  const hook = await HttpReceiver.start();
  const url = await startAlertmanager(hook.url);
  const settings = new SettingsHolder({
    ...settingsWith({ 'lock-held-long': { warning: 1, forMs: 0, keepForMs: 0 } }),
    fleet: 'shop',
    groupMs: 0,
    receivers: [webReceiver(url, 'alertmanager')],
  });
  new TestMonitor({ redis: client(server.port), settings });
  const locks = session(client(server.port));
  const lease = await locks.lock('order:1').acquire({ leaseMs: 600_000 });
  const [alert] = await waitFor(
    async () => {
      const shown = (await shownBy(url)).filter(({ labels }) => labels['subject'] === 'order:1');
      return shown.length > 0 ? shown : null;
    },
    { ...LIMIT, what: 'the alert in Alertmanager' },
  );
  expect(alert).toMatchObject({
    status: { state: 'active' },
    labels: {
      alertname: 'HoldfastLockHeldLong',
      fleet: 'shop',
      rule: 'lock-held-long',
      severity: 'warning',
      subject_kind: 'lock',
    },
  });
  await waitFor(() => statuses(hook).includes('firing lock-held-long order:1'), LIMIT);
  await lease.release();
  await waitFor(() => statuses(hook).includes('resolved lock-held-long order:1'), LIMIT);
  // What is resolved it shows no more.
  await waitFor(
    async () => (await shownBy(url)).every(({ labels }) => labels['subject'] !== 'order:1'),
    LIMIT,
  );
});
