/** What `once` promises, and what it does not: each row of the tables of docs/guide/once.md. */
import { expect, test } from 'vitest';
import { LockTimeoutError, OnceFailedError, OnceMismatchError } from '../../../src/index.ts';
import { gate } from '../../support/gate.ts';
import { handled, rejection } from '../../support/rejection.ts';
import { LEASE_MS, useScene } from './scene.ts';

const scene = useScene();

test('promised: one result is stored, and callers of all processes get it within keepMs', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  expect(await a.once('k', () => ({ n: 1 }), { keepMs: 5_000 })).toEqual({ n: 1 });
  await clock.advance(4_900);
  expect(await b.once('k', () => ({ n: 2 }))).toEqual({ n: 1 });
});

test('not promised: anything after keepMs', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  await a.once('k', () => 1, { keepMs: 5_000 });
  await clock.advance(5_100);
  expect(await b.once('k', ({ attempt }) => `attempt ${attempt}`)).toBe('attempt 1');
});

test('not promised: anything after FLUSHALL', async () => {
  const locks = scene().process();
  await locks.once('k', () => 1);
  await scene().node.command('FLUSHALL');
  expect(await locks.once('k', () => 2)).toBe(2);
});

test('not promised: that the body runs once; a death between doing and storing runs it again', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const attempts: number[] = [];
  handled(
    a.once('k', ({ attempt }) => {
      attempts.push(attempt);
      void a.destroy();
      return 'done';
    }),
  );
  await clock.advance(0);
  const waiting = b.once('k', ({ attempt }) => attempts.push(attempt));
  await clock.advance(LEASE_MS + 100);
  expect(await waiting).toBe(2);
  expect(attempts).toEqual([1, 2]);
});

test('promised: attempts step by one, and fences grow', async () => {
  const [a, b] = [scene().process(), scene().process()];
  const runs: { attempt: number; fence: number }[] = [];
  for (const locks of [a, b]) {
    await rejection(
      locks.once('k', ({ attempt, fence }) => {
        runs.push({ attempt, fence });
        throw new Error('no');
      }),
    );
  }
  await a.once('k', ({ attempt, fence }) => void runs.push({ attempt, fence }));
  expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  const fences = runs.map(({ fence }) => fence);
  expect([...new Set(fences)].sort((x, y) => x - y)).toEqual(fences);
});

test('not promised: stack traces and class identity of a stored failure', async () => {
  const [a, b] = [scene().process(), scene().process()];
  class Declined extends Error {
    override name = 'Declined';
    code = 'EDECLINED';
  }
  const body = (): never => {
    throw new Declined('no money');
  };
  expect(await rejection(a.once('k', body, { onError: 'rethrow' }))).toBeInstanceOf(Declined);
  const stored = await rejection(b.once('k', body));
  expect(stored).toBeInstanceOf(OnceFailedError);
  expect(stored).not.toBeInstanceOf(Declined);
  expect(stored).toMatchObject({
    ...{ code: 'EONCEFAILED', reason: 'failed', attempt: 1, lock: 'k' },
    original: { name: 'Declined', message: 'no money', code: 'EDECLINED' },
  });
});

test('a replay costs one command', async () => {
  const { locks, calls } = scene().watchedProcess();
  await scene()
    .process()
    .once('k', () => 1);
  for (let i = 0; i < 3; i += 1) expect(await locks.once('k', () => 2)).toBe(1);
  expect(calls.made).toEqual(['once.begin', 'once.begin', 'once.begin']);
});

test('a run costs two commands', async () => {
  const { locks, calls } = scene().watchedProcess();
  await locks.once('k', () => 1);
  expect(calls.made).toEqual(['once.begin', 'once.finish']);
});

test('while another runs, a caller waits for its result; after waitMs it times out', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const { opened, open } = gate();
  const running = a.once('k', async () => {
    await opened;
    return 1;
  });
  await clock.advance(0);
  const waiting = b.once('k', () => 2);
  const impatient = rejection(b.once('k', () => 3, { waitMs: 50 }));
  const never = rejection(b.once('k', () => 3, { waitMs: 0, attempts: 9 }));
  await clock.advance(200);
  expect(await impatient).toBeInstanceOf(LockTimeoutError);
  expect(await never).toMatchObject({ code: 'ELOCKTIMEOUT', holder: { owner: `${a.session}:1` } });
  open();
  expect(await Promise.all([running, waiting])).toEqual([1, 1]);
});

test('a run is renewed for as long as its body lasts', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const { opened, open } = gate();
  const running = a.once('k', async ({ signal }) => {
    await opened;
    return signal.aborted;
  });
  const waiting = b.once('k', () => 'a second run');
  await clock.advance(5 * LEASE_MS);
  expect(await b.once.peek('k')).toMatchObject({ state: 'running', owner: `${a.session}:1` });
  open();
  await clock.advance(0);
  expect(await Promise.all([running, waiting])).toEqual([false, false]);
});

test('the same key with another fingerprint is an error, for local and remote callers, running or done', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const { opened, open } = gate();
  const running = a.once('k', () => opened, { fingerprint: 'x' });
  await clock.advance(0);
  for (const locks of [a, b]) {
    const error = await rejection(locks.once('k', () => {}, { fingerprint: 'y' }));
    expect(error).toBeInstanceOf(OnceMismatchError);
    expect(error).toMatchObject({ code: 'EONCEMISMATCH', lock: 'k' });
  }
  open();
  await running;
  expect(await rejection(b.once('k', () => {}, { fingerprint: 'y' }))).toBeInstanceOf(OnceMismatchError);
  expect(await b.once('k', () => 5, { fingerprint: 'x' })).toBeUndefined();
});

test('forget makes the next caller run again, and does nothing while somebody runs', async () => {
  const { clock } = scene();
  const locks = scene().process();
  expect(await locks.once.forget('k')).toBe(false);
  const { opened, open } = gate();
  const running = locks.once('k', () => opened);
  await clock.advance(0);
  expect(await locks.once.forget('k')).toBe(false);
  open();
  await running;
  expect(await locks.once.forget('k')).toBe(true);
  expect(await locks.once.peek('k')).toBeNull();
  expect(await locks.once('k', () => 2)).toBe(2);
});

test('peek tells how far a key is, and never the result', async () => {
  const locks = scene().process();
  expect(await locks.once.peek('k')).toBeNull();
  await rejection(locks.once('k', () => Promise.reject(new TypeError('bad')), { attempts: 2 }));
  const original = { name: 'TypeError', message: 'bad' };
  expect(await locks.once.peek('k')).toMatchObject({ state: 'idle', attempt: 1, original });
  await rejection(locks.once('k', () => Promise.reject(new TypeError('bad')), { attempts: 2 }));
  expect(await locks.once.peek('k')).toMatchObject({
    state: 'failed',
    reason: 'failed',
    attempt: 2,
    original,
  });
  await locks.once('other', () => 'secret');
  expect(JSON.stringify(await locks.once.peek('other'))).not.toContain('secret');
});
