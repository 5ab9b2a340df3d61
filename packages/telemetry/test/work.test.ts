/** What stands on locks, as OpenTelemetry and Prometheus get it: `once`, leaders and jobs. */
import * as client from 'prom-client';
import { expect, test } from 'vitest';
import { useBench } from '../../holdfast/test/support/bench.ts';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { startPrometheus } from '../src/index.ts';
import { type Otel, useOtel } from './support/otel.ts';

const redis = useRedis();
const bench = useBench();
const newOtel = useOtel();

/** No slot begins while the test runs. */
const SLOTS = { everyMs: 7 * 24 * 3_600_000, earlyMs: 0 };

/** By the labels that are given, how many there were. */
async function counted(otel: Otel, name: string): Promise<Record<string, number>> {
  const points = await otel.points(`holdfast.${name}`);
  const entries = points.map(({ attributes, value }) => {
    const labels = Object.entries(attributes).map(([label, text]) => `${label.split('.').at(-1)}=${text}`);
    return [labels.sort().join(), typeof value === 'number' ? value : value.count] as const;
  });
  return Object.fromEntries(entries);
}

test('calls of once, terms of leaders and runs of jobs are counted alike by both', async () => {
  const otel = newOtel();
  otel.start({ spans: false, groups: ['charge:*', 'tick', 'boss'] });
  const registry = new client.Registry();
  const prometheus = startPrometheus(client, { registry, groups: ['charge:*', 'tick', 'boss'] });
  bench.onEnd(() => prometheus.stop());
  const locks = await bench.session(redis.port);

  await locks.once('charge:1', () => 'paid');
  await locks.once('charge:1', () => 'paid');
  await rejection(locks.once('charge:2', () => Promise.reject(new Error('no funds'))));

  await locks.leader('boss', { afterReturn: 'stop' }).run(() => {});

  const never = (): never => {
    throw new Error('must not run');
  };
  expect(await locks.runJob('tick', () => {}, SLOTS)).toMatchObject({ ran: true });
  expect(await locks.runJob('tick', never, SLOTS)).toMatchObject({ ran: false, reason: 'done' });
  const failing = () => Promise.reject(new Error('451'));
  await locks.runJob('other', failing, { ...SLOTS, attempts: 1 }).catch(() => {});

  expect(await counted(otel, 'once.duration')).toEqual({
    'group=charge:*,kind=once,outcome=ran': 1,
    'group=charge:*,kind=once,outcome=replayed': 1,
    'group=charge:*,kind=once,outcome=failed,type=_OTHER': 1,
  });
  expect(await counted(otel, 'leader.events')).toEqual({
    'event=elected,group=boss,kind=leader': 1,
    'event=resigned,group=boss,kind=leader': 1,
  });
  expect(await counted(otel, 'job.duration')).toEqual({
    'group=tick,kind=job,outcome=done': 1,
    'group=_other_,kind=job,outcome=failed,type=_OTHER': 1,
  });
  expect(await counted(otel, 'job.lateness')).toEqual({
    'group=tick,kind=job': 1,
    'group=_other_,kind=job': 1,
  });
  expect(await counted(otel, 'jobs.skipped')).toEqual({ 'group=tick,kind=job,reason=done': 1 });
  // Who leads is a lease like any other.
  expect(await counted(otel, 'hold.duration')).toMatchObject({ 'end=released,group=boss,kind=leader': 1 });

  const text = await registry.metrics();
  for (const line of [
    'holdfast_once_duration_seconds_count{kind="once",group="charge:*",outcome="ran"} 1',
    'holdfast_once_duration_seconds_count{kind="once",group="charge:*",outcome="replayed"} 1',
    'holdfast_once_duration_seconds_count{kind="once",group="charge:*",outcome="failed"} 1',
    'holdfast_leader_events_total{kind="leader",group="boss",event="elected"} 1',
    'holdfast_job_duration_seconds_count{kind="job",group="tick",outcome="done"} 1',
    'holdfast_job_duration_seconds_count{kind="job",group="_other_",outcome="failed"} 1',
    'holdfast_job_lateness_seconds_count{kind="job",group="tick"} 1',
    'holdfast_jobs_skipped_total{kind="job",group="tick",reason="done"} 1',
  ]) {
    expect(text).toContain(line);
  }
});
