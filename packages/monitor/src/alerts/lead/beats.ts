/** What a leader does once a minute: the heartbeat, and what fires for Alertmanager, which forgets otherwise. */
import type { Clock } from 'holdfast';
import { type AlertSettings, type HttpReceiver, secretsOf } from '../config/settings.ts';
import type { Alert } from '../machine/alert.ts';
import { isFor, toNoticeAlert } from '../machine/notice.ts';
import { alertmanagerBody, alertmanagerUrl, REFRESH_MS } from '../receivers/alertmanager.ts';
import { type HttpMessage, sendHttp } from '../receivers/http.ts';
import type { LeaderTerm } from './term.ts';

/** What of a term the beats need. */
type BeatingTerm = Pick<LeaderTerm, 'settings' | 'alerts' | 'nowMs' | 'isIdle'>;

interface Beat {
  readonly name: string;
  readonly everyMs: number;
  dueMs: number;
  isRunning: boolean;
  /** Null: nothing to send this time. */
  message(): HttpMessage | null;
}

export class Beats {
  readonly #clock: Clock;
  readonly #log: (line: string) => void;
  readonly #settings: AlertSettings;
  readonly #beats: readonly Beat[];
  readonly #failing = new Set<string>();

  constructor(term: BeatingTerm, clock: Clock, log: (line: string) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#settings = term.settings;
    const { heartbeat, receivers } = term.settings;
    const beats: Omit<Beat, 'dueMs' | 'isRunning'>[] = [];
    if (heartbeat !== null)
      beats.push({
        name: 'the heartbeat',
        everyMs: heartbeat.everyMs,
        message: () => ({ url: heartbeat.url.reveal(), ca: heartbeat.ca, method: 'GET', headers: {} }),
      });
    for (const receiver of receivers) {
      if (receiver.type !== 'alertmanager') continue;
      const message = (): HttpMessage | null => refresh(term, receiver);
      beats.push({ name: receiver.name, everyMs: REFRESH_MS, message });
    }
    const dueMs = clock.monotonicMs();
    this.#beats = beats.map((beat) => ({ ...beat, dueMs, isRunning: false }));
  }

  /** Called about once a second. Sends what is due, and does not wait for it. */
  tick(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const beat of this.#beats) {
      if (nowMs < beat.dueMs || beat.isRunning) continue;
      beat.dueMs = nowMs + beat.everyMs;
      const message = beat.message();
      if (message !== null) void this.#send(beat, message);
    }
  }

  async #send(beat: Beat, message: HttpMessage): Promise<void> {
    beat.isRunning = true;
    const attempt = await sendHttp(message, secretsOf(this.#settings), this.#clock);
    beat.isRunning = false;
    if (attempt.is === 'sent') {
      if (this.#failing.delete(beat.name)) this.#log(`${beat.name} is taken again`);
      return;
    }
    if (!this.#failing.has(beat.name)) this.#log(`${beat.name} is not taken: ${attempt.error}`);
    this.#failing.add(beat.name);
  }
}

/** Only while nothing waits for the receiver: what it has not been told yet goes through the outbox, in order. */
function refresh(term: BeatingTerm, receiver: HttpReceiver): HttpMessage | null {
  if (!term.isIdle(receiver.name)) return null;
  const isTold = (alert: Alert): boolean =>
    alert.state === 'firing' && alert.told !== null && isFor(receiver, 'repeat', alert);
  const alerts = [...term.alerts.values()].filter(isTold);
  if (alerts.length === 0) return null;
  const { fleet } = term.settings;
  const bodies = alerts.flatMap((alert) =>
    alertmanagerBody({ fleet, rule: alert.rule, at: term.nowMs, alerts: [toNoticeAlert(alert)] }),
  );
  const headers = Object.entries(receiver.headers).map(([name, secret]) => [name, secret.reveal()]);
  return {
    url: alertmanagerUrl(receiver.url.reveal()),
    ca: receiver.ca,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...Object.fromEntries(headers) },
    body: JSON.stringify(bodies),
  };
}
