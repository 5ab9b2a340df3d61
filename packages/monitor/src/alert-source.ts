/**
 * The seam between alerts and the rest: what the HTTP layer serves, and what the alerts are given. `src/alerts/` implements
 * `AlertEngine`; `createMonitor` starts it. Without alerts the monitor serves `NO_ALERTS`.
 */
import type { AlertMatch, AlertPage, AlertView, PlottedLimits } from './api/types.ts';
import type { FiguresSource } from './figures.ts';

/** Who does something to alerts, and why. The audit trail is written by the caller, before and after. */
export interface AlertOrder {
  readonly match: AlertMatch;
  readonly until: number;
  readonly reason: string;
  readonly by: string;
}

/** One figure of `/metrics`; HELP and TYPE come once for all samples of a name. */
export interface Metric {
  /** Without the prefix `holdfast_monitor_`. */
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly samples: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

export interface AlertSource {
  /** All that are not inactive: firing first, then pending, then resolved. */
  views(): readonly AlertView[];
  /** From where rules warn, by the settings in force; null: no rule is judged. */
  limits(): PlottedLimits | null;
  /** `before` comes from `AlertPage.next`. */
  page(before: string | null): Promise<AlertPage>;
  /** Called when `views()` has changed. Returns how to stop. */
  onChange(listener: () => void): () => void;
  /** Resolves to how many alerts it fits now. Rejects when the state cannot be written. */
  silence(order: AlertOrder): Promise<number>;
  ack(order: AlertOrder): Promise<number>;
  metrics(): readonly Metric[];
}

export interface AlertEngine extends AlertSource {
  /** Begins to judge; resolves at once, leads when it can. */
  start(): void;
  close(): Promise<void>;
}

/** One Redis that holds the state of the alerts, by the user that may write. An ioredis `Redis` or `Cluster` fits. */
export interface StateRedis {
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** What `createMonitor` gives to the engine. The leader's lock is taken with `locks` (from `holdfast`) on the same Redis. */
export interface AlertSurroundings {
  readonly fleet: string;
  readonly figures: FiguresSource;
  readonly state: StateRedis;
  /** One line for the operator's log. Never a secret. */
  log(line: string): void;
}

/** Callers look at `limits()` first: to take an order that nothing will heed would be a lie. */
async function noRules(): Promise<never> {
  throw new Error('no rule is judged: the monitor was started without a configuration');
}

export const NO_ALERTS: AlertSource = {
  views: () => [],
  limits: () => null,
  page: async () => ({ active: [], past: [], silences: [], next: null }),
  onChange: () => () => {},
  silence: noRules,
  ack: noRules,
  metrics: () => [],
};
