/** What one receiver is sent: an announcement with all the words, as JSON. This is also the format of our own webhook. */
import type { AlertSettings, Receiver } from '../config/settings.ts';
import type { Level } from '../rules/rule.ts';
import { ruleOf } from '../rules/table.ts';
import type { Alert } from './alert.ts';
import type { Announcement } from './announce.ts';

/** More names than anybody reads in a chat. */
const NAMED_MAX = 20;

/** Who speaks: the leader, or a monitor that cannot reach the state during an outage. */
export type Voice = 'leader' | 'last-leader' | 'second-voice';

export interface NoticeAlert {
  readonly key: string;
  readonly fingerprint: string;
  readonly incident: string | null;
  readonly subject: string;
  readonly subjectKind: 'lock' | 'server' | 'fleet';
  readonly level: Level;
  readonly state: 'firing' | 'resolved';
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly firedAt: number | null;
  readonly resolvedAt: number | null;
  readonly summary: string;
}

export interface Notice {
  readonly version: 1;
  /** One message, one key, however often it is sent. */
  readonly key: string;
  readonly kind: Announcement['kind'];
  readonly fleet: string;
  readonly rule: string;
  readonly level: Level;
  readonly title: string;
  readonly why: string;
  readonly todo: string;
  readonly at: number;
  readonly voice: Voice;
  /** How many alerts it is about; `alerts` has at most the first twenty. */
  readonly total: number;
  readonly alerts: readonly NoticeAlert[];
  /** The message that these fire was not delivered before they ended: this one says both. */
  readonly saysBoth: boolean;
}

/** Whether the receiver wants to hear of an alert. Of an end it hears when it may have heard of the beginning. */
export function isFor(receiver: Receiver, kind: Announcement['kind'], alert: Alert): boolean {
  if (receiver.rules !== null && !receiver.rules.includes(alert.rule)) return false;
  if (kind !== 'resolved') return receiver.levels.includes(alert.level);
  return (
    receiver.isToldOfEnds && receiver.levels.some((level) => alert.told?.levels.includes(level) === true)
  );
}

/**
 * The notices for one receiver. Pagers get one for each alert, because each is an incident of its own; the others get
 * one, with the first twenty alerts named.
 */
export function noticesFor(
  receiver: Receiver,
  announcement: Announcement,
  settings: Pick<AlertSettings, 'fleet'>,
  key: string,
  nowMs: number,
): Notice[] {
  const alerts = announcement.alerts.filter((alert) => isFor(receiver, announcement.kind, alert));
  if (alerts.length === 0) return [];
  const make = (own: readonly Alert[], ownKey: string, namedMax: number): Notice => ({
    ...makeNotice(announcement, own.slice(0, namedMax), settings.fleet, ownKey, nowMs),
    total: own.length,
  });
  if (receiver.type === 'pagerduty') return alerts.map((alert, at) => make([alert], `${key}.${at}`, 1));
  return [make(alerts, key, receiver.type === 'alertmanager' ? alerts.length : NAMED_MAX)];
}

export function makeNotice(
  { kind, rule: id }: Pick<Announcement, 'kind' | 'rule'>,
  alerts: readonly Alert[],
  fleet: string,
  key: string,
  nowMs: number,
): Notice {
  const rule = ruleOf(id);
  return {
    version: 1,
    key,
    kind,
    fleet,
    rule: rule.id,
    level: alerts.some(({ level }) => level === 'critical') ? 'critical' : 'warning',
    title: rule.title,
    why: rule.why,
    todo: rule.remedy,
    at: nowMs,
    voice: 'leader',
    total: alerts.length,
    alerts: alerts.map(toNoticeAlert),
    saysBoth: false,
  };
}

export function toNoticeAlert(alert: Alert): NoticeAlert {
  const { about } = ruleOf(alert.rule);
  return {
    key: alert.key,
    fingerprint: alert.fingerprint,
    incident: alert.incident,
    subject: alert.subject,
    subjectKind: about === 'lock' || about === 'server' ? about : 'fleet',
    level: alert.level,
    state: alert.state === 'resolved' ? 'resolved' : 'firing',
    since: alert.sinceMs,
    firedAt: alert.firedAtMs,
    resolvedAt: alert.resolvedAtMs,
    summary: alert.summary,
  };
}
