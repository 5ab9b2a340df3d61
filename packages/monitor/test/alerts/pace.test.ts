/** How often receivers are called, on a clock that the test moves: the beats of a leader, and the limit of messages. */
import { expect, test } from 'vitest';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { Secret } from '../../src/alerts/config/secret.ts';
import type { AlertSettings } from '../../src/alerts/config/settings.ts';
import { RateLimit } from '../../src/alerts/delivery/rate-limit.ts';
import { Beats } from '../../src/alerts/lead/beats.ts';
import { systemClock } from '../../src/alerts/system-clock.ts';
import { HttpReceiver, useHttpReceivers } from './support/http-receiver.ts';
import { MachineRun, sees, settingsWith } from './support/machine.ts';
import { webReceiver } from './support/notices.ts';

useHttpReceivers();

/** Timers are real: a try over real HTTP has its limit. */
function movedClock() {
  let nowMs = 0;
  return {
    ...systemClock,
    monotonicMs: () => nowMs,
    move: (ms: number): void => {
      nowMs += ms;
    },
  };
}

/** A leader whose memory-high fires and was told, with one receiver beside it. */
function leading(change: Partial<AlertSettings>) {
  const settings = { ...settingsWith({ 'memory-high': { forMs: 0 } }), groupMs: 0, ...change };
  const run = new MachineRun(settings);
  run.once(sees('memory-high', 0.97));
  const state = { isIdle: true };
  const alerts = new Map(run.alerts.map((alert) => [alert.fingerprint, alert]));
  return { state, term: { settings, alerts, nowMs: run.nowMs, isIdle: () => state.isIdle } };
}

test('the heartbeat is called at once and every minute, and what goes wrong is said once', async () => {
  const web = await HttpReceiver.start();
  const heartbeat = { url: new Secret(web.url), everyMs: 60_000 };
  const clock = movedClock();
  const logged: string[] = [];
  const beats = new Beats(leading({ heartbeat }).term, clock, (line) => void logged.push(line));
  const come = (count: number): Promise<boolean> =>
    waitFor(() => web.received.length === count, { limitMs: 60_000, what: `${count} calls` });
  /** Until the answer is known: a beat that is under way is not sent again. */
  const beat = async (count: number, heard: () => boolean): Promise<void> => {
    await waitFor(
      () => {
        beats.tick();
        return web.received.length >= count && heard();
      },
      { limitMs: 60_000, what: `beat ${count}` },
    );
    await come(count);
  };
  await beat(1, () => true);
  clock.move(59_999);
  beats.tick();
  await come(1);
  web.manners.push('fail', 'fail');
  clock.move(1);
  await beat(2, () => logged.length === 1);
  clock.move(60_000);
  await beat(3, () => true);
  clock.move(60_000);
  await beat(4, () => logged.length === 2);
  expect(logged).toEqual(['the heartbeat is not taken: HTTP 503', 'the heartbeat is taken again']);
});

test('Alertmanager gets what fires again every minute, but not while a message to it waits', async () => {
  const web = await HttpReceiver.start();
  const clock = movedClock();
  const receivers = [webReceiver(web.url.replace('/hook', ''), 'alertmanager', 'am')];
  const { term, state } = leading({ receivers });
  // Whoever means to send looks at the alerts first.
  let looks = 0;
  const watched = {
    ...term,
    get alerts() {
      looks += 1;
      return term.alerts;
    },
  };
  const beats = new Beats(watched, clock, () => {});
  const beat = (count: number): Promise<boolean> =>
    waitFor(
      () => {
        beats.tick();
        return web.received.length === count;
      },
      { limitMs: 60_000, what: `${count} posts` },
    );
  state.isIdle = false;
  beats.tick();
  state.isIdle = true;
  clock.move(59_999);
  beats.tick();
  expect(looks).toBe(0);
  clock.move(1);
  await beat(1);
  expect(web.received[0]).toMatchObject({
    path: '/api/v2/alerts',
    body: [
      {
        labels: { alertname: 'HoldfastMemoryHigh', severity: 'critical', subject: 'redis-1:6379' },
        endsAt: new Date(term.nowMs + 300_000).toISOString(),
      },
    ],
  });
  clock.move(60_000);
  await beat(2);
  expect(looks).toBe(2);
});

test('a receiver gets thirty messages within any minute, and the next when the first is a minute old', () => {
  const clock = movedClock();
  const rate = new RateLimit(clock);
  for (let sent = 0; sent < 30; sent += 1) {
    expect(rate.waitMs).toBe(0);
    rate.count();
    clock.move(1_000);
  }
  expect(rate.waitMs).toBe(30_000);
  clock.move(29_999);
  expect(rate.waitMs).toBe(1);
  clock.move(1);
  expect(rate.waitMs).toBe(0);
  rate.count();
  // The second is a second younger than the first.
  expect(rate.waitMs).toBe(1_000);
});
