/** The HTTP formats: our own webhook, Slack and Mattermost, Teams, PagerDuty, Alertmanager. */
import { printable } from 'holdfast';
import type { HttpReceiver, PagerReceiver } from '../config/settings.ts';
import type { Notice } from '../machine/notice.ts';
import { alertmanagerBody, alertmanagerUrl } from './alertmanager.ts';
import type { HttpMessage } from './http.ts';
import { textOf } from './text.ts';

const PAGER_SUMMARY_LENGTH_MAX = 1_024;

export function httpMessage(receiver: HttpReceiver | PagerReceiver, notice: Notice): HttpMessage {
  const url = receiver.url.reveal();
  const { ca } = receiver;
  if (receiver.type === 'pagerduty')
    return post(url, ca, {}, pagerBody(notice, receiver.routingKey.reveal()));
  const headers = Object.fromEntries(
    Object.entries(receiver.headers).map(([name, secret]) => [name, secret.reveal()]),
  );
  switch (receiver.type) {
    case 'slack':
      return post(url, ca, headers, slackBody(notice));
    case 'teams':
      return post(url, ca, headers, teamsBody(notice));
    case 'alertmanager':
      return post(alertmanagerUrl(url), ca, headers, alertmanagerBody(notice));
    default:
      return post(url, ca, { ...headers, 'Idempotency-Key': notice.key }, notice);
  }
}

function post(
  url: string,
  ca: string | null,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): HttpMessage {
  return {
    url,
    ca,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'User-Agent': 'holdfast-monitor', ...headers },
    body: JSON.stringify(body),
  };
}

/** Slack reads `<…>` as a link or a mention; Mattermost reads `@all` anywhere, so a zero-width space breaks it up. */
function slackBody(notice: Notice): unknown {
  const { headline, lines } = textOf(notice);
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200b');
  return { text: [`*${escaped(headline)}*`, ...lines.map(escaped)].join('\n') };
}

/** An adaptive card inside `attachments`, as Workflows takes it. Its text blocks know a little Markdown. */
function teamsBody(notice: Notice): unknown {
  const { headline, lines } = textOf(notice);
  const escaped = (text: string): string => text.replace(/[\\[\]()*_`#<>~]/g, '\\$&');
  const color = notice.kind === 'resolved' ? 'good' : notice.level === 'critical' ? 'attention' : 'warning';
  const block = (text: string, more: object): object => ({
    type: 'TextBlock',
    text: escaped(text),
    wrap: true,
    ...more,
  });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [block(headline, { weight: 'bolder', color }), ...lines.map((line) => block(line, {}))],
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}

/** Events API v2. One alert for each event, under the key of its incident: PagerDuty merges what comes twice. */
function pagerBody(notice: Notice, routingKey: string): unknown {
  const [alert] = notice.alerts;
  const isEnd = notice.kind === 'resolved';
  return {
    routing_key: routingKey,
    event_action: isEnd ? 'resolve' : 'trigger',
    dedup_key: alert?.key ?? notice.key,
    payload: {
      summary: printable(textOf(notice).headline, PAGER_SUMMARY_LENGTH_MAX),
      source: printable(alert?.subject ?? notice.fleet),
      severity: notice.level,
      timestamp: new Date(alert?.firedAt ?? notice.at).toISOString(),
      component: 'holdfast',
      group: notice.fleet,
      class: notice.rule,
      custom_details: {
        summary: alert?.summary ?? '',
        why: notice.why,
        todo: notice.todo,
        voice: notice.voice,
      },
    },
  };
}
