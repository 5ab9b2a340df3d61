/** The alerts: rules, configuration, and the engine that judges and delivers. */
import { type Clock, Locks } from 'holdfast';
import { Redis } from 'ioredis';
import type { AlertEngine, AlertSurroundings } from '../alert-source.ts';
import type { SettingsHolder } from './config/holder.ts';
import { Alerts } from './engine.ts';
import { systemClock } from './system-clock.ts';

export { defaultSettings } from './config/defaults.ts';
export { ConfigError, loadConfig, SettingsHolder } from './config/holder.ts';
export type { AlertSettings, Receiver } from './config/settings.ts';
export { prometheusRules } from './prometheus/rule-file.ts';

export interface CreateAlertsOptions extends AlertSurroundings {
  readonly settings: SettingsHolder;
  /** On the Redis that holds the state. */
  readonly locks: Locks;
  /** How long the fleet is without a leader when one dies. @default 10_000 */
  readonly leaseMs?: number;
  /** @default the machine's clock */
  readonly clock?: Clock;
  /** Where a receiver `stdout` writes its lines. @default standard output */
  readonly print?: (line: string) => void;
}

/**
 * How long the fleet is without a leader when one dies. Shorter leases are lost by a busy machine, and a leader that
 * changes for no reason is noise.
 */
const LEASE_MS_DEFAULT = 10_000;

/** Not started yet: `start()` begins to judge. With `state.redis` in the settings the state is kept there. */
export function createAlerts(options: CreateAlertsOptions): AlertEngine {
  const { settings, clock = systemClock, print = printLine, leaseMs = LEASE_MS_DEFAULT } = options;
  const elsewhere = settings.current.stateUrl === null ? null : connect(settings.current.stateUrl.reveal());
  const locks = elsewhere === null ? options.locks : new Locks(elsewhere);
  const around = elsewhere === null ? options : { ...options, state: stateOf(elsewhere) };
  const engine = new Alerts(around, { settings, locks, clock, leaseMs, chance: Math.random, print });
  return elsewhere === null ? engine : new AlertsElsewhere(engine, locks, elsewhere);
}

function connect(url: string): Redis {
  // A call that cannot be sent fails: the next tick tries again, and knows that the state is away.
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    connectionName: 'holdfast-monitor',
  });
  redis.on('error', () => {});
  return redis;
}

function stateOf(redis: Redis): AlertSurroundings['state'] {
  return { call: (command, ...args) => redis.call(command, ...args) };
}

/** An engine with a Redis of its own for its state. */
class AlertsElsewhere implements AlertEngine {
  readonly #engine: Alerts;
  readonly #locks: Locks;
  readonly #redis: Redis;

  constructor(engine: Alerts, locks: Locks, redis: Redis) {
    this.#engine = engine;
    this.#locks = locks;
    this.#redis = redis;
  }

  views: AlertEngine['views'] = () => this.#engine.views();
  page: AlertEngine['page'] = (before) => this.#engine.page(before);
  onChange: AlertEngine['onChange'] = (listener) => this.#engine.onChange(listener);
  silence: AlertEngine['silence'] = (order) => this.#engine.silence(order);
  ack: AlertEngine['ack'] = (order) => this.#engine.ack(order);
  metrics: AlertEngine['metrics'] = () => this.#engine.metrics();
  start: AlertEngine['start'] = () => this.#engine.start();

  async close(): Promise<void> {
    await this.#engine.close();
    await this.#locks.close();
    this.#redis.disconnect();
  }
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
