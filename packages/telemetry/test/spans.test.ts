/** Spans of a real run: who is whose parent across awaits, what is linked to what, and what a loss looks like. */
import { setImmediate as turn } from 'node:timers/promises';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { useBench } from '../../holdfast/test/support/bench.ts';
import { answered } from '../../holdfast/test/support/locks/answered.ts';
import { rejection } from '../../holdfast/test/support/rejection.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { useOtel } from './support/otel.ts';

const redis = useRedis();
const bench = useBench();
const newOtel = useOtel();

const idOf = (span: ReadableSpan): string => span.spanContext().spanId;
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;

test('the spans of a contended run have the right parents across awaits', async () => {
  const otel = newOtel();
  otel.start({ groups: ['name-*'] });
  const sessions = [await bench.session(redis.port), await bench.session(redis.port)];
  const name = bench.name();
  const CALLERS = 12;
  const jobs = Array.from({ length: CALLERS }, (_, i) =>
    otel.inSpan(`caller ${i}`, async () => {
      await turn();
      await sessions[i % 2]?.lock(name).using(async () => {
        await turn();
        await otel.inSpan(`body ${i}`, async () => {
          await turn();
        });
      });
      await otel.inSpan(`after ${i}`, turn);
    }),
  );
  await Promise.all(jobs);
  expect(otel.spans('acquire name-*')).toHaveLength(CALLERS);
  const holds = otel.spans('hold name-*');
  expect(holds).toHaveLength(CALLERS);
  for (let i = 0; i < CALLERS; i += 1) {
    const caller = otel.spans().find((span) => span.name === `caller ${i}`) as ReadableSpan;
    const mine = otel.spans().filter((span) => parentOf(span) === idOf(caller));
    const names = mine.map((span) => span.name).sort();
    expect(names).toEqual([`acquire name-*`, `after ${i}`, `hold name-*`]);
    const [acquire, hold] = ['acquire', 'hold'].map((start) =>
      mine.find((span) => span.name.startsWith(start)),
    ) as [ReadableSpan, ReadableSpan];
    expect(hold.links.map(({ context }) => context.spanId)).toEqual([idOf(acquire)]);
    const body = otel.spans().find((span) => span.name === `body ${i}`) as ReadableSpan;
    expect(parentOf(body)).toBe(idOf(hold));
    expect(new Set([acquire, hold, body].map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(acquire.attributes).toMatchObject({
      'holdfast.lock.kind': 'lock',
      'holdfast.lock.group': 'name-*',
      'holdfast.lock.outcome': 'acquired',
      'holdfast.lock.via': expect.stringMatching(/^(free|local|line|message|timer)$/),
      'holdfast.session': sessions[i % 2]?.session,
    });
    expect(hold.attributes).toMatchObject({ 'holdfast.lock.end': 'released' });
    expect(acquire.attributes['holdfast.fence']).toEqual(expect.any(Number));
    expect(hold.attributes['holdfast.fence']).toBe(acquire.attributes['holdfast.fence']);
    expect([acquire.kind, hold.kind]).toEqual([SpanKind.INTERNAL, SpanKind.INTERNAL]);
    expect([acquire.status.code, hold.status.code]).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET]);
  }
  // Names may be personal data.
  expect(JSON.stringify(otel.spans().map(({ attributes }) => attributes))).not.toContain(name);
});

test('a lease that is acquired without using has its hold under the caller, until it is released', async () => {
  const otel = newOtel();
  otel.start({ lockNames: true });
  const locks = await bench.session(redis.port);
  const name = bench.name();
  const lease = await otel.inSpan('caller', () => locks.mutex(name).acquire());
  expect(otel.spans('hold')).toEqual([]);
  await lease.release();
  const hold = otel.span('hold mutex');
  expect(parentOf(hold)).toBe(idOf(otel.span('caller')));
  expect(hold.attributes).toMatchObject({ 'holdfast.lock.name': name });
  expect(hold.attributes).not.toHaveProperty('holdfast.fence');
});

test('a lock inside a lock, and a re-entry, are below the hold around them', async () => {
  const otel = newOtel();
  otel.start({ groups: (name) => name.replace(/^name-\d+:/, '') });
  const locks = await bench.session(redis.port);
  const [outer, inner] = [bench.name('outer'), bench.name('inner')];
  await locks.lock(outer).using(() => locks.lock(inner).using(() => {}));
  expect(parentOf(otel.span('hold inner'))).toBe(idOf(otel.span('hold outer')));
  expect(parentOf(otel.span('acquire inner'))).toBe(idOf(otel.span('hold outer')));
  const again = bench.name('again');
  await locks.lock(again).using(() => locks.lock(again).using(() => {}));
  const [second, first] = otel.spans('hold again');
  expect(parentOf(second as ReadableSpan)).toBe(idOf(first as ReadableSpan));
  expect(otel.spans('acquire again').map(({ attributes }) => attributes['holdfast.lock.via'])).toEqual([
    'free',
    'reentry',
  ]);
});

test('the term of a leader has an acquire and a hold below its caller, and so is what its body does', async () => {
  const otel = newOtel();
  otel.start({ groups: ['name-*'] });
  const locks = await bench.session(redis.port);
  const name = bench.name();
  await otel.inSpan('caller', () =>
    locks.leader(name, { afterReturn: 'stop' }).run(() => otel.inSpan('reign', turn)),
  );
  const one = async (text: string): Promise<ReadableSpan> =>
    waitFor(() => otel.spans(text)[0], { what: `the span ${text}` });
  const [acquire, hold, reign] = [await one('acquire name-*'), await one('hold name-*'), await one('reign')];
  for (const span of [acquire, hold]) {
    expect(span.attributes).toMatchObject({
      'holdfast.lock.kind': 'leader',
      'holdfast.lock.group': 'name-*',
    });
  }
  expect(hold.links.map(({ context }) => context.spanId)).toEqual([idOf(acquire)]);
  expect(hold.attributes['holdfast.lock.end']).toBe('released');
  // All three are side by side below the caller: a term is not the body of a `using`.
  const caller = idOf(otel.span('caller'));
  expect([acquire, hold, reign].map(parentOf)).toEqual([caller, caller, caller]);
});

test('a loss is an event and an error of the hold, and the body goes on below it', async () => {
  const otel = newOtel();
  otel.start();
  const locks = await bench.session(redis.port, { leaseMs: 6_000 });
  const name = bench.name();
  const error = await rejection(
    locks.lock(name).using(async (lease) => {
      await ask(redis.port, ['DEL', name]);
      await waitFor(() => lease.signal.aborted, { what: 'the loss' });
      await otel.inSpan('body', turn);
    }),
  );
  expect(error).toMatchObject({ code: 'ELOCKLOST' });
  const hold = otel.span('hold lock');
  expect(hold.status).toEqual({ code: SpanStatusCode.ERROR, message: 'lost: gone' });
  expect(hold.events).toMatchObject([
    { name: 'holdfast.lost', attributes: { 'holdfast.lock.reason': 'gone' } },
  ]);
  expect(hold.attributes['holdfast.lock.end']).toBe('lost');
});

test('an acquisition that fails says how, and has no hold', async () => {
  const otel = newOtel();
  otel.start();
  const [owner, other] = [await bench.session(redis.port), await bench.session(redis.port)];
  const name = bench.name();
  const lease = await owner.lock(name).acquire();
  expect(await other.lock(name).tryAcquire()).toBeNull();
  await answered(() => other.lock(name).acquire({ waitMs: 30 }));
  await lease.release();
  const acquires = otel.spans('acquire');
  const [busy, timeout] = [acquires[1], acquires.at(-1)];
  expect(busy?.attributes['holdfast.lock.outcome']).toBe('busy');
  expect(busy?.status.code).toBe(SpanStatusCode.UNSET);
  expect(timeout?.attributes).toMatchObject({
    'holdfast.lock.outcome': 'timeout',
    'error.type': 'ELOCKTIMEOUT',
  });
  expect(timeout?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'timeout' });
  expect(otel.spans('hold')).toHaveLength(1);
});

test('when it is stopped, open spans end, and nothing is traced any more', async () => {
  const otel = newOtel();
  const telemetry = otel.start();
  const locks = await bench.session(redis.port);
  const lease = await locks.lock(bench.name()).acquire();
  telemetry.stop();
  telemetry.stop();
  expect(otel.spans('hold')).toHaveLength(1);
  await lease.release();
  await locks.lock(bench.name()).using(() => {});
  expect(otel.spans()).toHaveLength(2);
});
