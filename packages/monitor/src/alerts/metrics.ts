/** The figures of the alerts for `/metrics`. */
import type { Metric } from '../alert-source.ts';
import type { AlertView } from '../api/types.ts';
import { LEVELS } from './rules/rule.ts';

export interface MetricsGiven {
  readonly fleet: string;
  readonly views: readonly AlertView[];
  readonly waiting: readonly { readonly receiver: string; readonly ageMs: number }[];
  readonly isConfigGood: boolean;
  readonly isLeading: boolean;
  readonly isStateAway: boolean;
}

export function alertMetrics(given: MetricsGiven): Metric[] {
  const { fleet, views, waiting } = given;
  const flag = (name: string, help: string, isSo: boolean): Metric => ({
    name,
    type: 'gauge',
    help,
    samples: [{ labels: { fleet }, value: isSo ? 1 : 0 }],
  });
  const firing = LEVELS.map((level) => ({
    labels: { fleet, level },
    value: views.filter((view) => view.state === 'firing' && view.level === level).length,
  }));
  const oldest = waiting.map(({ receiver, ageMs }) => ({
    labels: { fleet, receiver },
    value: Math.max(0, ageMs / 1_000),
  }));
  return [
    flag('config_ok', 'Whether the last configuration was taken.', given.isConfigGood),
    flag('alerts_leader', 'Whether this monitor leads the alerts of the fleet.', given.isLeading),
    flag(
      'alerts_state_up',
      'Whether the Redis that holds the state of the alerts answers.',
      !given.isStateAway,
    ),
    { name: 'alerts_firing', type: 'gauge', help: 'Alerts that fire, by level.', samples: firing },
    {
      name: 'outbox_oldest_seconds',
      type: 'gauge',
      help: 'The age of the oldest message that a receiver has not taken.',
      samples: oldest,
    },
  ];
}
