/** Alerts as the page and the API show them. Times of the state are converted to the clock of the monitor. */
import type { AlertView, DeliveryView, PlottedLimits, SilenceView } from '../api/types.ts';
import type { AlertSettings, Receiver } from './config/settings.ts';
import type { Ledger } from './lead/ledger.ts';
import type { Alert } from './machine/alert.ts';
import { inhibitions } from './machine/inhibit.ts';
import { type Mute, muteOf } from './machine/mute.ts';
import { isFor, toNoticeAlert } from './machine/notice.ts';
import { ruleOf } from './rules/table.ts';

export interface ViewGiven {
  readonly alerts: ReadonlyMap<string, Alert>;
  readonly mutes: readonly Mute[];
  readonly ledger: Ledger;
  readonly receivers: readonly Receiver[];
  /** The time by the clock of the state. */
  readonly nowMs: number;
  /** The monitor's clock less that of the state. */
  readonly aheadMs: number;
}

const ORDER: Readonly<Record<Alert['state'], number>> = { firing: 0, pending: 1, resolved: 2 };

export function viewsOf(given: ViewGiven): AlertView[] {
  const inhibitorOf = inhibitions(given.alerts.values());
  return [...given.alerts.values()]
    .sort(
      (one, other) =>
        ORDER[one.state] - ORDER[other.state] ||
        Number(one.level === 'warning') - Number(other.level === 'warning') ||
        other.sinceMs - one.sinceMs,
    )
    .map((alert) => ({
      ...viewOf(alert, given.aheadMs),
      deliveries: deliveriesOf(alert, given),
      ack: muteView(muteOf(given.mutes, 'ack', alert, given.nowMs), given.aheadMs),
      silence: muteView(muteOf(given.mutes, 'silence', alert, given.nowMs), given.aheadMs),
      inhibitedBy: alert.state === 'resolved' ? null : inhibitorOf(alert),
    }));
}

/** The alert alone: of the history, or before the rest is added. */
export function viewOf(alert: Alert, aheadMs: number): AlertView {
  const { why, remedy } = ruleOf(alert.rule);
  const local = (ms: number | null): number | null => (ms === null ? null : ms + aheadMs);
  return {
    fingerprint: alert.fingerprint,
    incident: alert.incident ?? `${alert.fingerprint}.0`,
    rule: alert.rule,
    level: alert.level,
    subject: alert.subject,
    subjectKind: toNoticeAlert(alert).subjectKind,
    state: alert.state,
    since: alert.sinceMs + aheadMs,
    firedAt: local(alert.firedAtMs),
    resolvedAt: local(alert.resolvedAtMs),
    summary: alert.summary,
    why,
    todo: remedy,
    deliveries: [],
    ack: null,
    silence: null,
    inhibitedBy: null,
  };
}

export function muteView(mute: Mute | undefined, aheadMs: number): SilenceView | null {
  if (mute === undefined) return null;
  const { id, match, by, reason, atMs, untilMs } = mute;
  return { id, match, by, reason, at: atMs + aheadMs, until: untilMs + aheadMs };
}

function deliveriesOf(alert: Alert, given: ViewGiven): DeliveryView[] {
  const { receivers, mutes, nowMs } = given;
  if (alert.state === 'pending') return [];
  const isSilenced = muteOf(mutes, 'silence', alert, nowMs) !== undefined;
  return receivers
    .filter((receiver) => isFor(receiver, alert.state === 'resolved' ? 'resolved' : 'firing', alert))
    .map(({ name }) => deliveryOf(alert, name, isSilenced, given));
}

function deliveryOf(
  alert: Alert,
  receiver: string,
  isSilenced: boolean,
  { ledger, aheadMs }: ViewGiven,
): DeliveryView {
  const waiting = ledger.outboxes.get(receiver)?.find(({ notice }) => isAbout(notice.alerts, alert.key));
  if (waiting !== undefined) {
    const { tries, lastAtMs, nextAtMs, error } = waiting;
    const at = lastAtMs === null ? null : lastAtMs + aheadMs;
    const state = tries === 0 ? 'queued' : 'retrying';
    return { receiver, state, tries, at, nextAt: tries === 0 ? null : nextAtMs + aheadMs, error };
  }
  const outcome = ledger.outcomeOf(receiver, alert.key);
  if (outcome !== undefined && outcome.state !== 'retrying') {
    const { state, tries, atMs, error } = outcome;
    return { receiver, state, tries, at: atMs + aheadMs, nextAt: null, error };
  }
  const told = alert.told === null ? null : alert.told.atMs + aheadMs;
  const state = told !== null ? 'sent' : isSilenced ? 'silenced' : 'queued';
  return { receiver, state, tries: 0, at: told, nextAt: null, error: null };
}

function isAbout(alerts: readonly { readonly key: string }[], key: string): boolean {
  return alerts.some((one) => one.key === key);
}

export function limitsOf({ rules }: AlertSettings): PlottedLimits {
  const warnsFrom = (id: string): number | null => {
    const rule = rules.get(id);
    return rule === undefined || rule.isOff ? null : (rule.warning ?? rule.critical);
  };
  return {
    memoryShare: warnsFrom('memory-high'),
    cpuShare: warnsFrom('cpu-high'),
    clientsShare: warnsFrom('connections-high'),
    roundTripMs: warnsFrom('latency-high'),
  };
}
