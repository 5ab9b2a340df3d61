/** The alerts: rules, configuration, and the engine that judges and delivers. */
import type { Clock, Locks } from 'holdfast';
import type { AlertEngine, AlertSurroundings } from '../alert-source.ts';
import type { SettingsHolder } from './config/holder.ts';
import { Alerts } from './engine.ts';
import { systemClock } from './system-clock.ts';

export { defaultSettings } from './config/defaults.ts';
export { ConfigError, loadConfig, SettingsHolder } from './config/holder.ts';
export type { AlertSettings } from './config/settings.ts';
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

/** Not started yet: `start()` begins to judge. */
export function createAlerts(options: CreateAlertsOptions): AlertEngine {
  const { settings, locks, clock = systemClock, print = printLine, leaseMs = LEASE_MS_DEFAULT } = options;
  return new Alerts(options, { settings, locks, clock, leaseMs, chance: Math.random, print });
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
