/** What is told of one call of `once`: whether its body ran, which attempt it was, and how the call ended. */
import { expect, test } from 'vitest';
import { CHANNELS, type OnceTrace } from '../../src/telemetry/channels.ts';
import { useScene } from '../primitives/once/scene.ts';
import { useBench } from '../support/bench.ts';
import { gate } from '../support/gate.ts';
import { rejection } from '../support/rejection.ts';

const scene = useScene();
const bench = useBench();
const MOMENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

const heard = (moment: string): readonly OnceTrace[] =>
  bench.diagnostics(`tracing:${CHANNELS.once}:${moment}`);

test('a run and a replay are traced, each with one object throughout, and never with the result', async () => {
  const moments = MOMENTS.map(heard);
  const [a, b] = [scene().process(), scene().process()];
  const fences: number[] = [];
  await a.once('charge', ({ fence }) => {
    fences.push(fence);
    return 'a secret';
  });
  await b.once('charge', () => 'another');
  const [start, end, asyncStart, asyncEnd, error] = moments;
  expect(error).toEqual([]);
  const told = { lock: 'charge', kind: 'once', attempt: 1 };
  expect(asyncEnd).toEqual([
    { ...told, session: a.session, ran: true, fence: fences[0], result: undefined },
    { ...told, session: b.session, ran: false, result: undefined },
  ]);
  for (const heardSo of [start, end, asyncStart]) {
    expect(heardSo).toHaveLength(2);
    for (const [index, trace] of (asyncEnd ?? []).entries()) expect(heardSo?.[index]).toBe(trace);
  }
});

test('a body that throws is told with its error, and the next attempt with its number', async () => {
  const [errors, ends] = [heard('error'), heard('asyncEnd')];
  const locks = scene().process();
  const thrown = new Error('no');
  await rejection(locks.once('k', () => Promise.reject(thrown)));
  expect(errors).toMatchObject([{ lock: 'k', ran: true, attempt: 1, error: thrown }]);
  await locks.once('k', () => 1);
  expect(ends.map(({ attempt }) => attempt)).toEqual([1, 2]);
});

test('a stored failure, a mismatch and a wait that ends are told with their errors', async () => {
  const errors = heard('error');
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  await rejection(a.once('failed', () => Promise.reject(new Error('no')), { onError: 'rethrow' }));
  await rejection(b.once('failed', () => 1));
  await a.once('print', () => 1, { fingerprint: 'one' });
  await rejection(b.once('print', () => 1, { fingerprint: 'two' }));
  const { opened, open } = gate();
  const running = a.once('busy', () => opened);
  await clock.advance(0);
  const waiting = rejection(b.once('busy', () => {}, { waitMs: 700 }));
  await clock.advance(1_000);
  await waiting;
  open();
  await running;
  expect(errors.map(({ lock, ran, error }) => [lock, ran, (error as { code?: string }).code])).toEqual([
    ['failed', true, undefined],
    ['failed', false, 'EONCEFAILED'],
    ['print', false, 'EONCEMISMATCH'],
    ['busy', undefined, 'ELOCKTIMEOUT'],
  ]);
});
