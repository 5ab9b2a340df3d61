/** Notices and receivers for tests of formats and delivery. */
import { Secret } from '../../../src/alerts/config/secret.ts';
import type { Receiver } from '../../../src/alerts/config/settings.ts';
import type { Notice, NoticeAlert } from '../../../src/alerts/machine/notice.ts';
import { AT } from './figures.ts';

const COMMON = { levels: ['warning', 'critical'], rules: null, isToldOfEnds: true } as const;

export function webReceiver(
  url: string,
  type: 'webhook' | 'slack' | 'teams' | 'alertmanager' = 'webhook',
  name = 'ops',
): Receiver {
  return { ...COMMON, name, type, url: new Secret(url), headers: {}, ca: null };
}

export function pagerReceiver(url: string): Receiver {
  return {
    ...COMMON,
    name: 'pager',
    type: 'pagerduty',
    url: new Secret(url),
    routingKey: new Secret('r0uting-key'),
    ca: null,
  };
}

export function mailReceiver(url: string, password: string | null = null): Receiver {
  return {
    ...COMMON,
    name: 'mail',
    type: 'smtp',
    url: new Secret(url),
    password: password === null ? null : new Secret(password),
    ca: null,
    from: 'monitor@example.test',
    to: ['ops@example.test'],
  };
}

export function commandReceiver(...argv: string[]): Receiver {
  return { ...COMMON, name: 'script', type: 'command', argv };
}

export const STDOUT: Receiver = { ...COMMON, name: 'log', type: 'stdout' };

export function noticeAlert(given: Partial<NoticeAlert> = {}): NoticeAlert {
  return {
    key: 'f1.7',
    fingerprint: 'f1',
    incident: 'f1.7',
    subject: 'redis-2:6379',
    subjectKind: 'server',
    level: 'critical',
    state: 'firing',
    since: AT - 10_000,
    firedAt: AT,
    resolvedAt: null,
    summary: 'down: connection refused',
    ...given,
  };
}

export function notice(given: Partial<Notice> = {}): Notice {
  return {
    version: 1,
    key: 'k1-1-0',
    kind: 'firing',
    fleet: 'shop',
    rule: 'redis-unreachable',
    level: 'critical',
    title: 'a server cannot be reached',
    why: 'Nobody can lock on it.',
    todo: 'Start it.',
    at: AT,
    voice: 'leader',
    total: 1,
    alerts: [noticeAlert()],
    saysBoth: false,
    ...given,
  };
}
