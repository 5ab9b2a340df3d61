/**
 * Alertmanager, API v2. It forgets an alert that is not posted again before `endsAt`, so the leader posts what fires once a
 * minute; an alert whose monitors are all gone ends by itself.
 */
import type { Notice, NoticeAlert } from '../machine/notice.ts';
import { alertName } from '../prometheus/alert-name.ts';
import { ruleOf } from '../rules/table.ts';

const PATH = '/api/v2/alerts';

/** Five posts may be lost before it ends. */
const LASTS_MS = 300_000;

/** Posted again this often. */
export const REFRESH_MS = 60_000;

/** A base URL gets the path of the API; one that names it already is taken as it is. */
export function alertmanagerUrl(url: string): string {
  const parsed = new URL(url);
  if (parsed.pathname.endsWith(PATH)) return url;
  parsed.pathname = `${parsed.pathname.replace(/\/$/, '')}${PATH}`;
  return parsed.toString();
}

export function alertmanagerBody(notice: Pick<Notice, 'fleet' | 'rule' | 'alerts' | 'at'>): unknown[] {
  return notice.alerts.map((alert) => oneAlert(alert, notice.rule, notice.fleet, notice.at));
}

function oneAlert(alert: NoticeAlert, id: string, fleet: string, atMs: number): unknown {
  const { title, why, remedy } = ruleOf(id);
  const endsAt = alert.state === 'resolved' ? (alert.resolvedAt ?? atMs) : atMs + LASTS_MS;
  return {
    labels: {
      alertname: alertName(id),
      fleet,
      rule: id,
      severity: alert.level,
      subject: alert.subject,
      subject_kind: alert.subjectKind,
    },
    annotations: { summary: `${title}: ${alert.summary}`, why, todo: remedy, incident: alert.incident ?? '' },
    startsAt: new Date(alert.firedAt ?? alert.since).toISOString(),
    endsAt: new Date(endsAt).toISOString(),
  };
}
