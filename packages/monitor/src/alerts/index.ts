/** The alerts: rules, configuration, and the engine that judges and delivers. */
import type { Clock, Locks } from 'holdfast';
import type { AlertSurroundings } from '../alert-source.ts';
import type { SettingsHolder } from './config/holder.ts';
import { Alerts } from './engine.ts';
import { systemClock } from './system-clock.ts';

export { defaultSettings } from './config/defaults.ts';
export { ConfigError, loadConfig, SettingsHolder } from './config/holder.ts';
export type { AlertSettings, Receiver } from './config/settings.ts';
export { Alerts } from './engine.ts';
export { prometheusRules } from './prometheus/rule-file.ts';

export interface CreateAlertsOptions extends AlertSurroundings {
  readonly settings: SettingsHolder;
  /** On the Redis that holds the state. */
  readonly locks: Locks;
  /** @default the machine's clock */
  readonly clock?: Clock;
  /** Where a receiver `stdout` writes its lines. @default standard output */
  readonly print?: (line: string) => void;
}

/** Not started yet: `start()` begins to judge. */
export function createAlerts(options: CreateAlertsOptions): Alerts {
  const { settings, locks, clock = systemClock, print = printLine } = options;
  return new Alerts(options, { settings, locks, clock, chance: Math.random, print });
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
