/** Alerts that say nothing new while another one fires. */
import type { Alert } from './alert.ts';

const UNREACHABLE = 'redis-unreachable';

/**
 * For each firing alert, which rule speaks for it: a server that cannot be reached explains all that is wrong with it and
 * with its locks, and why the monitor does not see.
 */
export function inhibitions(alerts: Iterable<Alert>): (alert: Alert) => string | null {
  const away = new Set<string>();
  for (const { rule, state, subject } of alerts)
    if (rule === UNREACHABLE && state === 'firing') away.add(subject);
  return ({ rule, server }) => {
    if (rule === UNREACHABLE || away.size === 0) return null;
    const isExplained = rule === 'monitor-blind' || (server !== null && away.has(server));
    return isExplained ? UNREACHABLE : null;
  };
}
