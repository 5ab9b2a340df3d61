/**
 * Decides what receivers are told, and when. Alerts of one rule that fire close together travel in one message; what goes
 * on is repeated; silenced and inhibited alerts wait until the silence ends or the inhibiting alert does. Pure.
 */
import type { AlertSettings } from '../config/settings.ts';
import type { Level } from '../rules/rule.ts';
import type { Alert } from './alert.ts';
import { inhibitions } from './inhibit.ts';
import { type Mute, muteOf } from './mute.ts';

export interface Announcement {
  readonly kind: 'firing' | 'repeat' | 'resolved';
  readonly rule: string;
  /** At least one alert, the worst first. */
  readonly alerts: readonly Alert[];
}

export interface Announced {
  readonly announcements: readonly Announcement[];
  /** The alerts with what they were told of; only those that changed. */
  readonly changed: readonly Alert[];
}

export function announce(
  alerts: ReadonlyMap<string, Alert>,
  mutes: readonly Mute[],
  settings: Pick<AlertSettings, 'groupMs' | 'repeatMs'>,
  nowMs: number,
): Announced {
  const inhibitorOf = inhibitions(alerts.values());
  const groups = new Map<
    string,
    { kind: Announcement['kind']; rule: string; alerts: Alert[]; isRipe: boolean }
  >();
  for (const alert of alerts.values()) {
    const kind = kindOf(alert, settings, nowMs);
    if (kind === null) continue;
    // The end of what was told is told in any case: a pager would keep the incident open.
    const isHeld = inhibitorOf(alert) !== null || muteOf(mutes, 'silence', alert, nowMs) !== undefined;
    if (kind !== 'resolved' && isHeld) continue;
    if (kind === 'repeat' && muteOf(mutes, 'ack', alert, nowMs) !== undefined) continue;
    const name = `${kind} ${alert.rule}`;
    const group = groups.get(name) ?? { kind, rule: alert.rule, alerts: [], isRipe: false };
    const isRipe = kind === 'repeat' || nowMs - (alert.due?.atMs ?? nowMs) >= settings.groupMs;
    groups.set(name, group);
    group.alerts.push(alert);
    group.isRipe ||= isRipe;
  }
  const ripe = [...groups.values()].filter(({ isRipe }) => isRipe);
  // Ends last: a message that something fires must not come after the one that it ended.
  ripe.sort((one, other) => Number(one.kind === 'resolved') - Number(other.kind === 'resolved'));
  return {
    announcements: ripe.map((group) => ({ ...group, alerts: worstFirst(group.alerts) })),
    changed: ripe.flatMap(({ kind, alerts: told }) => told.map((alert) => afterTelling(alert, kind, nowMs))),
  };
}

function kindOf(
  alert: Alert,
  { repeatMs }: Pick<AlertSettings, 'repeatMs'>,
  nowMs: number,
): Announcement['kind'] | null {
  if (alert.due !== null) return alert.due.kind;
  if (alert.state !== 'firing' || alert.told === null) return null;
  return nowMs - alert.told.atMs >= repeatMs[alert.level] ? 'repeat' : null;
}

function afterTelling(alert: Alert, kind: Announcement['kind'], nowMs: number): Alert {
  if (kind === 'resolved') return { ...alert, due: null };
  const levels = new Set<Level>([...(alert.told?.levels ?? []), alert.level]);
  return { ...alert, due: null, told: { levels: [...levels].sort(), atMs: nowMs } };
}

function worstFirst(alerts: readonly Alert[]): Alert[] {
  const rank = ({ level }: Alert): number => (level === 'critical' ? 0 : 1);
  return [...alerts].sort((one, other) => rank(one) - rank(other) || one.sinceMs - other.sinceMs);
}
