/** The figures of a real run, as OpenTelemetry and Prometheus get them. */
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CHANNELS } from 'holdfast';
import * as client from 'prom-client';
import { describe, expect, test } from 'vitest';
import { useBench } from '../../holdfast/test/support/bench.ts';
import { LOCK } from '../../holdfast/test/support/locks/kind.ts';
import { untilRenewed, warmUp } from '../../holdfast/test/support/locks/warm-up.ts';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { type PrometheusOptions, startPrometheus } from '../src/index.ts';
import { INSTRUMENTS } from '../src/instruments.ts';
import { type Otel, useOtel } from './support/otel.ts';

const redis = useRedis();
const bench = useBench();
const newOtel = useOtel();

/** Figures by name and labels, `name{kind=lock,outcome=busy}`; of histograms how many there were. */
type Figures = Readonly<Record<string, number>>;

function textOf(name: string, labels: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(labels).filter(([, value]) => value !== '');
  return `${name}{${shown
    .map(([label, value]) => `${label.replace('holdfast.lock.', '')}=${value}`)
    .sort()
    .join(',')}}`;
}

async function ofPrometheus(registry: client.Registry): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const metric of await registry.getMetricsAsJSON()) {
    for (const { labels, value, ...rest } of metric.values) {
      const own = 'metricName' in rest ? String(rest.metricName) : metric.name;
      if (!own.endsWith('_bucket') && !own.endsWith('_sum')) figures[textOf(own, labels)] = value;
    }
  }
  return figures;
}

const OTEL_NAMES = [
  'acquire.duration',
  'acquire.pending',
  'hold.duration',
  'leases',
  'handovers',
  'renewals',
  'renewal.margin',
  'leases.lost',
  'releases.late',
  'wakeups',
  'once.duration',
  'leader.events',
  'job.duration',
  'job.lateness',
  'jobs.skipped',
  'groups.overflow',
];

async function ofOtel(otel: Otel): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const name of OTEL_NAMES) {
    for (const { attributes, value } of await otel.points(`holdfast.${name}`)) {
      figures[textOf(name, attributes)] = typeof value === 'number' ? value : value.count;
    }
  }
  return figures;
}

function prometheus(options: Omit<PrometheusOptions, 'registry'> = {}) {
  const registry = new client.Registry();
  const telemetry = startPrometheus(client, { registry, ...options });
  bench.onEnd(() => telemetry.stop());
  return { registry, telemetry };
}

/** A run with everything in it: hand-overs, refusals, a timeout, a re-entry, a renewal and a loss. */
async function contendedRun(): Promise<void> {
  const [one, two] = [
    await bench.session(redis.port, { handoverMs: 60_000, leaseMs: 6_000 }),
    await bench.session(redis.port, { leaseMs: 6_000 }),
  ];
  await Promise.all([warmUp(one, LOCK, 'warm:1'), warmUp(two, LOCK, 'warm:2')]);
  const name = 'order:1001';
  const lease = await one.lock(name).acquire();
  const next = one.lock(name).acquire();
  expect(await two.lock(name).tryAcquire()).toBeNull();
  await (await one.lock(name).acquire({ within: lease })).release();
  // Long enough that no stall of the machine makes an outage of it.
  const short = rejection(two.lock(name).acquire({ waitMs: 2_500 }));
  await Promise.all([short, untilRenewed(lease)]);
  await lease.release();
  const last = await next;
  await ask(redis.port, ['DEL', name]);
  await waitFor(() => last.signal.aborted, { what: 'the loss' });
  await one.mutex('cache:1').using(() => {});
}

describe('a contended run', () => {
  test('is counted alike by OpenTelemetry and Prometheus', async () => {
    const otel = newOtel();
    otel.start({ spans: false, groups: ['order:*', 'cache:*'] });
    const { registry } = prometheus({ groups: ['order:*', 'cache:*'] });
    await contendedRun();
    const [figures, prom] = [await ofOtel(otel), await ofPrometheus(registry)];
    const of = (name: string, labels: string): number | undefined =>
      figures[`${name}{group=order:*,kind=lock${labels === '' ? '' : `,${labels}`}}`] ??
      figures[`${name}{${labels},group=order:*,kind=lock}`];
    expect(of('acquire.duration', 'outcome=acquired,via=free')).toBe(1);
    expect(of('acquire.duration', 'outcome=acquired,via=local')).toBe(1);
    expect(of('acquire.duration', 'outcome=acquired,via=reentry')).toBe(1);
    expect(of('acquire.duration', 'outcome=busy')).toBe(1);
    expect(of('acquire.duration', 'error.type=ELOCKTIMEOUT')).toBeUndefined();
    expect(figures['acquire.duration{error.type=ELOCKTIMEOUT,group=order:*,kind=lock,outcome=timeout}']).toBe(
      1,
    );
    expect(of('acquire.pending', '')).toBe(0);
    expect(of('leases', '')).toBe(0);
    expect(figures['hold.duration{end=released,group=order:*,kind=lock}']).toBe(2);
    expect(figures['hold.duration{end=lost,group=order:*,kind=lock}']).toBe(1);
    expect(of('handovers', 'scope=local')).toBe(1);
    expect(of('renewals', 'outcome=renewed')).toBeGreaterThan(0);
    expect(of('renewal.margin', '')).toBe(of('renewals', 'outcome=renewed'));
    expect(of('leases.lost', 'reason=gone')).toBe(1);
    expect(of('leases.lost', 'reason=expired')).toBe(0);
    expect(figures['hold.duration{end=released,group=cache:*,kind=mutex}']).toBe(1);
    expect(figures['hold.duration{end=released,group=_other_,kind=lock}']).toBe(2);
    const translated = Object.entries(figures).map(([key, value]) => {
      const [, name = '', labels = ''] = /^([^{]+)\{(.*)\}$/.exec(key) ?? [];
      const unit = { 'acquire.duration': '_seconds_count', 'hold.duration': '_seconds_count' }[name];
      const suffix = unit ?? (name === 'renewal.margin' ? '_ratio_count' : '_total');
      const isGauge = name === 'leases' || name === 'acquire.pending';
      const plain = labels
        .split(',')
        .filter((label) => label !== '' && !label.startsWith('error.type'))
        .join(',');
      return [`holdfast_${name.replaceAll('.', '_')}${isGauge ? '' : suffix}{${plain}}`, value];
    });
    expect(prom).toEqual(Object.fromEntries(translated));
  });

  test('has no label for names without groups', async () => {
    const { registry } = prometheus();
    const locks = await bench.session(redis.port);
    await locks.lock('order:1001').using(() => {});
    const text = await registry.metrics();
    expect(text).toContain(
      'holdfast_acquire_duration_seconds_count{kind="lock",outcome="acquired",via="free"} 1',
    );
    for (const word of ['order', 'group']) expect(text).not.toContain(word);
  });
});

const RECORDED = { isRecorded: true, isRetried: false, error: undefined };

function traced(name: string, trace: object): [string, object][] {
  const told = { session: 's', ...trace };
  return [
    [`tracing:${name}:start`, told],
    [`tracing:${name}:asyncEnd`, told],
  ];
}

test('the instruments have the documented names, types, units and buckets', async () => {
  const otel = newOtel();
  otel.start({ spans: false, groups: ['*'] });
  const about = { lock: 'a', kind: 'lock' };
  const trace = { ...about, session: 's', lease: 's#1', via: 'free', waitedMs: 7, result: { isHeld: true } };
  const renewal = { kind: 'lock', locks: ['a', 'b'], leaseMs: [100, 100], marginMs: [60, 0] };
  const messages: [string, object][] = [
    [`tracing:${CHANNELS.acquire}:start`, trace],
    [`tracing:${CHANNELS.acquire}:asyncEnd`, trace],
    [`tracing:${CHANNELS.renew}:asyncEnd`, { ...renewal, result: [{ is: 'kept' }, { is: 'gone' }] }],
    [`tracing:${CHANNELS.renew}:asyncEnd`, { ...renewal, error: new Error('no answer') }],
    [CHANNELS.ended, { ...about, lease: 's#1', heldMs: 7, end: 'lost', reason: 'expired' }],
    [CHANNELS.handedOver, { ...about, scope: 'linger' }],
    [CHANNELS.lateRelease, { ...about, outcome: 'dropped' }],
    [CHANNELS.woken, { ...about, reason: 'resync' }],
    ...traced(CHANNELS.once, { lock: 'k', kind: 'once', ran: true }),
    ...traced(CHANNELS.job, { job: 'j', slot: 1, attempt: 1, fence: 1, lateMs: 7, result: RECORDED }),
    [CHANNELS.jobSkipped, { job: 'j', reason: 'done' }],
    [CHANNELS.leader, { leader: 'l', event: 'elected' }],
  ];
  for (const [name, message] of messages) channel(name).publish(message);
  expect((await otel.described()).sort()).toEqual([
    'holdfast.acquire.duration histogram s',
    'holdfast.acquire.pending updown {caller}',
    'holdfast.groups.overflow counter {acquisition}',
    'holdfast.handovers counter {handover}',
    'holdfast.hold.duration histogram s',
    'holdfast.job.duration histogram s',
    'holdfast.job.lateness histogram s',
    'holdfast.jobs.skipped counter {slot}',
    'holdfast.leader.events counter {event}',
    'holdfast.leases updown {lease}',
    'holdfast.leases.lost counter {lease}',
    'holdfast.once.duration histogram s',
    'holdfast.releases.late counter {release}',
    'holdfast.renewal.margin histogram 1',
    'holdfast.renewals counter {renewal}',
    'holdfast.wakeups counter {wakeup}',
  ]);
  const figures = await ofOtel(otel);
  const renewals = ['renewed', 'gone', 'failed'].map(
    (outcome) => figures[`renewals{group=*,kind=lock,outcome=${outcome}}`],
  );
  expect(renewals).toEqual([1, 1, 2]);
  const buckets = async (name: string) => {
    const [point] = await otel.points(name);
    if (typeof point?.value !== 'object') throw new Error(`expected a histogram, got ${typeof point?.value}`);
    return point.value.buckets;
  };
  const { boundaries, counts } = await buckets('holdfast.renewal.margin');
  expect(boundaries).toEqual([0, 0.1, 0.2, 0.33, 0.5, 0.66, 0.8, 1]);
  expect(counts[boundaries.indexOf(0.66)]).toBe(1);
  const histograms = INSTRUMENTS.filter(({ type }) => type === 'histogram');
  expect(histograms).toHaveLength(6);
  for (const { name, buckets: wanted } of histograms)
    expect((await buckets(`holdfast.${name}`)).boundaries, name).toEqual(wanted);
});

test('what is counted now follows acquisitions and leases, and is nothing after a stop', async () => {
  const { registry, telemetry } = prometheus();
  const otel = newOtel();
  const other = otel.start({ spans: false });
  const locks = await bench.session(redis.port, { handoverMs: 60_000 });
  const name = bench.name();
  const lease = await locks.lock(name).acquire();
  const waiting = locks.lock(name).acquire();
  const now = async () => {
    const figures = await ofPrometheus(registry);
    return [figures['holdfast_acquire_pending{kind=lock}'], figures['holdfast_leases{kind=lock}']];
  };
  expect(await now()).toEqual([1, 1]);
  await lease.release();
  const last = await waiting;
  expect(await now()).toEqual([0, 1]);
  const third = locks.lock(name).acquire();
  expect((await otel.points('holdfast.leases')).map(({ value }) => value)).toEqual([1]);
  expect((await otel.points('holdfast.acquire.pending')).map(({ value }) => value)).toEqual([1]);
  other.stop();
  const ofOther = async (name: string) => (await otel.points(name)).map(({ value }) => value);
  expect(await ofOther('holdfast.leases')).toEqual([0]);
  const again = otel.start({ spans: false });
  const more = await locks.lock(bench.name()).acquire();
  expect([await ofOther('holdfast.acquire.pending'), await ofOther('holdfast.leases')]).toEqual([[0], [1]]);
  await more.release();
  again.stop();
  telemetry.stop();
  expect(await registry.metrics()).toBe('\n');
  await last.release();
  await (await third).release();
});

test('a lease from before the start, and one whose acquisition was under way, do not count below zero', async () => {
  const locks = await bench.session(redis.port, { handoverMs: 60_000 });
  const name = bench.name();
  // Somebody else listens, so that ends are told of leases from before the start.
  const listen = (): void => {};
  subscribe(CHANNELS.ended, listen);
  bench.onEnd(() => unsubscribe(CHANNELS.ended, listen));
  subscribe(`tracing:${CHANNELS.acquire}:start`, listen);
  bench.onEnd(() => unsubscribe(`tracing:${CHANNELS.acquire}:start`, listen));
  const before = await locks.lock(name).acquire();
  const waiting = locks.lock(name).acquire();
  const { registry } = prometheus();
  await before.release();
  const lease = await waiting;
  const figures = await ofPrometheus(registry);
  expect(figures['holdfast_leases{kind=lock}']).toBe(1);
  expect(figures['holdfast_acquire_pending{kind=lock}'] ?? 0).toBe(0);
  await lease.release();
  expect((await ofPrometheus(registry))['holdfast_leases{kind=lock}']).toBe(0);
});

test('the hundred-and-first group is counted with the others, and that is said once', async () => {
  const { registry } = prometheus({ groups: (name) => name });
  const warnings: string[] = [];
  const hear = ({ message, name }: Error): void => {
    if (name === 'HoldfastWarning') warnings.push(message);
  };
  process.on('warning', hear);
  bench.onEnd(() => process.off('warning', hear));
  const locks = await bench.session(redis.port);
  for (let i = 1; i <= 103; i += 1) await (await locks.mutex(`group-${i}`).acquire()).release();
  await locks.once('group-104', () => 'done');
  await locks.runJob('group-105', () => {}, { everyMs: 7 * 24 * 3_600_000, earlyMs: 0 });
  await locks.leader('group-106', { afterReturn: 'stop' }).run(() => {});
  await waitFor(() => warnings.length > 0, { what: 'the warning' });
  const figures = await ofPrometheus(registry);
  const counted = (group: string): number | undefined =>
    figures[`holdfast_hold_duration_seconds_count{end=released,group=${group},kind=mutex}`];
  expect([counted('group-100'), counted('group-101'), counted('_other_')]).toEqual([1, undefined, 3]);
  // Three acquisitions, one by a leader, a call and a run.
  expect(figures['holdfast_groups_overflow_total{}']).toBe(6);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('more than 100 groups: "group-101"');
});
