/** Whole monitors' alerts on a real Redis, with a configuration file and a receiver of their own. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { makeGuardedFolder } from '../../../../holdfast/test/support/processes/process-guard.ts';
import type { RedisServer } from '../../../../holdfast/test/support/servers/redis-server.ts';
import type { AlertEngine } from '../../../src/alert-source.ts';
import { createAlerts, loadConfig, SettingsHolder } from '../../../src/alerts/index.ts';
import type { Notice } from '../../../src/alerts/machine/notice.ts';
import { card, FakeFigures, figures } from './figures.ts';
import { HttpReceiver } from './http-receiver.ts';

const folder = makeGuardedFolder('holdfast-alerts-');
let fleets = 0;

export interface World {
  readonly server: RedisServer;
  readonly fleet: string;
  readonly file: string;
  readonly web: HttpReceiver;
  configure(change?: object): void;
}

export async function world(server: RedisServer): Promise<World> {
  fleets += 1;
  const fleet = `engine-${fleets}`;
  const file = join(folder, `${fleet}.jsonc`);
  const web = await HttpReceiver.start();
  const configure = (change: object = {}): void =>
    writeFileSync(
      file,
      JSON.stringify({
        fleet,
        rules: {
          'memory-high': { for: '0s', keepFor: '0s' },
          'redis-unreachable': { for: '0s', keepFor: '0s' },
          'config-refused': { for: '0s', keepFor: '0s' },
        },
        receivers: { hook: { type: 'webhook', url: web.url } },
        groupFor: '0s',
        ...change,
      }),
    );
  configure();
  return { server, fleet, file, web, configure };
}

/** One monitor; its picture says how full the server is, and whether it answers. */
export function monitor({ server, fleet, file }: World) {
  const redis = new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 1, retryStrategy: () => 100 });
  redis.on('error', () => {});
  const locks = new Locks(redis);
  const settings = new SettingsHolder(loadConfig(file));
  const shown = { memoryUsed: 100, isDown: false };
  const source = new FakeFigures(() => {
    const at = Date.now();
    const health = shown.isDown ? 'down' : 'up';
    return figures({
      at,
      servers: [card({ seenAt: at, startedAt: at - 86_400_000, health, memoryUsed: shown.memoryUsed })],
    });
  });
  const logged: string[] = [];
  const log = (line: string): void => void logged.push(line);
  const alerts: AlertEngine = createAlerts({
    fleet,
    figures: source,
    state: redis,
    locks,
    leaseMs: 2_000,
    settings,
    log,
  });
  alerts.start();
  const ticking = setInterval(() => source.tick(), 100);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    clearInterval(ticking);
    await alerts.close();
    await locks.close({ graceMs: 0 });
    redis.disconnect();
  };
  onTestFinished(close);
  return { alerts, shown, settings, source, logged, close };
}

export function said({ web }: World): string[] {
  return web.taken.map(({ body }) => {
    const { kind, rule, alerts } = body as unknown as Notice;
    return `${kind} ${rule} ${alerts.map(({ subject }) => subject).join()}`;
  });
}

export function states(alerts: AlertEngine): string[] {
  return alerts.views().map(({ rule, state }) => `${rule} ${state}`);
}
