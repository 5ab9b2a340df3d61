/**
 * Which messages a receiver is sent, and how often: its levels and rules, messages that are late, the beats of a leader, and
 * the limit of messages, on a clock that the test moves.
 */
import { expect, test } from 'vitest';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { Secret } from '../../src/alerts/config/secret.ts';
import type { AlertSettings, Receiver } from '../../src/alerts/config/settings.ts';
import { RateLimit } from '../../src/alerts/delivery/rate-limit.ts';
import { Beats } from '../../src/alerts/lead/beats.ts';
import { compose } from '../../src/alerts/lead/compose.ts';
import type { Judgement } from '../../src/alerts/rules/rule.ts';
import type { Decision } from '../../src/alerts/state/store.ts';
import type { QueuedDelivery } from '../../src/alerts/state/stored.ts';
import { systemClock } from '../../src/alerts/system-clock.ts';
import { HttpReceiver, useHttpReceivers } from './support/http-receiver.ts';
import { MachineRun, sees, seesAll, settingsWith } from './support/machine.ts';
import { pagerReceiver, STDOUT, webReceiver } from './support/notices.ts';

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
  const heartbeat = { url: new Secret(web.url), ca: null, everyMs: 60_000 };
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

/** A leader whose rule fires and ends at once, and what it queues. */
class Queues {
  readonly waiting: Map<string, QueuedDelivery[]> = new Map();
  readonly #settings: AlertSettings;
  readonly #run: MachineRun;

  constructor(...receivers: readonly Receiver[]) {
    this.#settings = {
      ...settingsWith({ 'memory-high': { forMs: 0, keepForMs: 0 } }),
      groupMs: 0,
      repeatMs: { critical: 60_000, warning: 60_000 },
      receivers,
    };
    this.#run = new MachineRun(this.#settings);
  }

  /** What is queued and what leaves the queues, as `<kind> <receiver>`, when this is seen for one second. */
  see(...judgements: readonly Judgement[]): {
    queued: string[];
    dropped: string[];
    decision: Decision | null;
  } {
    const announcements = this.#run.once(...judgements);
    const alerts = new Map(this.#run.alerts.map((alert) => [alert.fingerprint, alert]));
    const decision = compose({
      before: alerts,
      after: alerts,
      incidents: 0,
      announcements,
      settings: this.#settings,
      waiting: this.waiting,
      orphans: [],
      rescued: [],
      endedMutes: [],
      takenOutage: [],
      revision: 1,
      nowMs: this.#run.nowMs,
    });
    const kinds = new Map([...this.waiting.values()].flat().map(({ id, notice: { kind } }) => [id, kind]));
    return {
      queued: (decision?.push ?? []).map(({ notice, receiver }) => `${notice.kind} ${receiver}`),
      dropped: (decision?.drop ?? []).map(({ id, receiver }) => `${kinds.get(id)} ${receiver}`),
      decision,
    };
  }

  /** What this decision queued has not been delivered. */
  keep(decision: Decision | null): void {
    for (const delivery of decision?.push ?? [])
      this.waiting.set(delivery.receiver, [
        { ...delivery, tries: 1, nextAtMs: 0, lastAtMs: 0, error: 'HTTP 503' },
      ]);
  }

  pass(seconds: number, judgement: Judgement): void {
    this.#run.see(seconds, judgement);
  }
}

const WARNING = sees('memory-high', 0.85);
const CRITICAL = sees('memory-high', 0.97);
const WELL = sees('memory-high', 0.1);

test('a receiver is told of its levels and rules, and of the ends of what it was told of, if it wants ends', () => {
  const receivers: Receiver[] = [
    { ...STDOUT, name: 'all' },
    { ...STDOUT, name: 'worst', levels: ['critical'] },
    { ...STDOUT, name: 'other-rule', rules: ['cpu-high'] },
    { ...STDOUT, name: 'no-ends', isToldOfEnds: false },
  ];
  const queues = new Queues(...receivers);
  expect(queues.see(WARNING).queued).toEqual(['firing all', 'firing no-ends']);
  expect(queues.see(WELL).queued).toEqual(['resolved all']);
  expect(queues.see(WARNING).queued).toEqual(['firing all', 'firing no-ends']);
  expect(queues.see(CRITICAL).queued).toEqual(['firing all', 'firing worst', 'firing no-ends']);
  expect(queues.see(WELL).queued).toEqual(['resolved all', 'resolved worst']);
});

test('a pager gets a message for each alert, the others one that names twenty and counts all', () => {
  const queues = new Queues({ ...STDOUT, name: 'chat' }, pagerReceiver('http://127.0.0.1/'));
  const full = Array.from({ length: 25 }, (_, at) => ({ subject: `redis-${at}:6379`, value: 0.85 }));
  const sent = queues.see(seesAll('memory-high', full, null)).decision?.push ?? [];
  const told = (name: string) => sent.filter(({ receiver }) => receiver === name).map(({ notice }) => notice);
  expect(told('chat').map(({ total, alerts }) => [total, alerts.length])).toEqual([[25, 20]]);
  expect(told('pager').map(({ total, alerts }) => [total, alerts.length])).toEqual(full.map(() => [1, 1]));
  expect(new Set(told('pager').map(({ key }) => key)).size).toBe(25);
});

test('an end that comes before the beginning was delivered takes its place, and says both', () => {
  const queues = new Queues({ ...STDOUT, name: 'chat' }, pagerReceiver('http://127.0.0.1/'));
  queues.keep(queues.see(WARNING).decision);
  const { queued, dropped, decision } = queues.see(WELL);
  expect(queued).toEqual(['resolved chat', 'resolved pager']);
  expect(dropped).toEqual(['firing chat', 'firing pager']);
  expect(decision?.push.map(({ notice }) => notice.saysBoth)).toEqual([true, true]);
});

test('a repeat takes the place of one that waits, and is not sent to who has not heard of the beginning', () => {
  const queues = new Queues({ ...STDOUT, name: 'late' }, { ...STDOUT, name: 'well' });
  const began = queues.see(WARNING);
  queues.pass(60, WARNING);
  // One receiver has everything; of the other nothing is known to have arrived.
  queues.keep(began.decision);
  queues.waiting.delete('well');
  const repeated = queues.see(WARNING);
  expect(repeated.queued).toEqual(['repeat well']);
  queues.pass(60, WARNING);
  queues.keep(repeated.decision);
  const again = queues.see(WARNING);
  expect([again.queued, again.dropped]).toEqual([['repeat well'], ['repeat well']]);
});
