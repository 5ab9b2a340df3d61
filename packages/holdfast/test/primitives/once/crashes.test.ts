/** Crashes and faults around a run of `once`: each row of the table of docs/guide/once.md. */
import { ManualClock } from 'holdfast-testing';
import { expect, test } from 'vitest';
import { LockConflictError, LockLostError, LockUnknownError, OnceFailedError } from '../../../src/index.ts';
import { gate } from '../../support/gate.ts';
import { handled, rejection } from '../../support/rejection.ts';
import { LEASE_MS, useScene } from './scene.ts';

const scene = useScene();

test('a crash after begin or in the body: the next attempt starts after the lease', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  handled(a.once('k', () => new Promise(() => {})));
  await clock.advance(0);
  const waiting = b.once('k', ({ attempt }) => attempt);
  await clock.advance(100);
  await a.destroy();
  await clock.advance(LEASE_MS - 1_000);
  expect(await b.once.peek('k')).toMatchObject({ state: 'running', attempt: 1 });
  await clock.advance(1_100);
  expect(await waiting).toBe(2);
});

test('deaths use up the attempts: the failure is abandoned, and kept for keepFailureMs', async () => {
  const { clock } = scene();
  for (let i = 0; i < 2; i += 1) {
    const dying = scene().process();
    handled(dying.once('k', () => new Promise(() => {}), { attempts: 2 }));
    await clock.advance(0);
    await dying.destroy();
    await clock.advance(LEASE_MS + 1);
  }
  const locks = scene().process();
  const options = { attempts: 2, keepFailureMs: 5_000 };
  const error = await rejection(locks.once('k', () => 1, options));
  expect(error).toBeInstanceOf(OnceFailedError);
  expect(error).toMatchObject({ reason: 'abandoned', attempt: 2 });
  await clock.advance(5_001);
  expect(await locks.once('k', ({ attempt }) => attempt, options)).toBe(1);
});

test('the reply to begin is lost: the repeat gets the same attempt, and the body runs once', async () => {
  const { clock } = scene();
  const { locks, calls } = scene().watchedProcess();
  calls.lose('once.begin', 'reply lost', 'reply lost');
  const attempts: number[] = [];
  const running = locks.once('k', ({ attempt }) => attempts.push(attempt));
  await clock.advance(5_000);
  expect(await running).toBe(1);
  expect(attempts).toEqual([1]);
});

test('a begin without an answer that is given up does not count as an attempt', async () => {
  const { clock } = scene();
  const { locks, calls } = scene().watchedProcess();
  calls.lose('once.begin', 'reply lost');
  const error = rejection(locks.once('k', () => 1, { attempts: 1, waitMs: 0 }));
  await clock.advance(5_000);
  expect(await error).toBeInstanceOf(LockUnknownError);
  expect(await locks.once.peek('k')).toBeNull();
  expect(await locks.once('k', ({ attempt }) => attempt, { attempts: 1 })).toBe(1);
});

test('the reply to finish is lost: the resend is answered, and everybody has the result', async () => {
  const { clock } = scene();
  const { locks, calls } = scene().watchedProcess();
  calls.lose('once.finish', 'reply lost', 'request lost', 'reply lost');
  const running = locks.once('k', () => 1);
  await clock.advance(5_000);
  expect(await running).toBe(1);
  expect(calls.made.filter((name) => name === 'once.finish')).toHaveLength(4);
  expect(
    await scene()
      .process()
      .once('k', () => 2),
  ).toBe(1);
});

test.each(['reply lost', 'request lost'] as const)(
  'no answer to finish ever comes (%s): the caller is told that nobody knows, with what the body did',
  async (fault) => {
    const { clock } = scene();
    const { locks, calls } = scene().watchedProcess();
    calls.lose('once.finish', ...Array.from({ length: 200 }, () => fault));
    const failing = rejection(locks.once('k', () => 'result'));
    await clock.advance(20_000);
    const error = await failing;
    expect(error).toBeInstanceOf(LockUnknownError);
    expect(error).toMatchObject({ lock: 'k', outcome: { status: 'fulfilled', value: 'result' } });
    // Nobody has to wait for the lease: the result is there, or the next attempt starts at once.
    const next = scene()
      .process()
      .once('k', ({ attempt }) => `attempt ${attempt}`);
    expect(await next).toBe(fault === 'reply lost' ? 'result' : 'attempt 2');
  },
);

test('FLUSHALL while running: the run is told, its result is not stored, and the next caller runs', async () => {
  const { clock, node } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const { opened, open } = gate();
  const signals: AbortSignal[] = [];
  const failing = rejection(
    a.once('k', async ({ signal }) => {
      signals.push(signal);
      await opened;
      return 'late';
    }),
  );
  await clock.advance(0);
  await node.command('FLUSHALL');
  await clock.advance(LEASE_MS / 3 + 1_000);
  expect(signals[0]?.aborted).toBe(true);
  expect(await b.once('k', ({ attempt }) => `attempt ${attempt}`)).toBe('attempt 1');
  open();
  const error = await failing;
  expect(error).toBeInstanceOf(LockLostError);
  expect(error).toMatchObject({ reason: 'gone', outcome: { status: 'fulfilled', value: 'late' } });
  expect(await a.once('k', () => 'again')).toBe('attempt 1');
});

test('the record expires while somebody waits: the waiter becomes attempt 1', async () => {
  const { clock, node } = scene();
  const [a, b] = [scene().process(), scene().process()];
  handled(a.once('k', () => new Promise(() => {})));
  await clock.advance(0);
  const waiting = b.once('k', ({ attempt }) => attempt);
  await clock.advance(100);
  await a.destroy();
  await node.command('DEL', 'holdfast_once:{k}');
  await clock.advance(LEASE_MS + 100);
  expect(await waiting).toBe(1);
});

test('a body outlives the record of 24 hours: the lock is its own, so its result is stored', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const { opened, open } = gate();
  const running = a.once('k', () => opened.then(() => 'late'), { leaseMs: 3_600_000 });
  await clock.advance(86_400_000 + 1_000);
  expect(await b.once.peek('k')).toBeNull();
  open();
  expect(await running).toBe('late');
  expect(await b.once('k', () => 'other')).toBe('late');
});

/** A process whose clock stands still while the others go on, and then catches up. */
async function frozen(): Promise<{ catchUp(): Promise<unknown> }> {
  const own = new ManualClock();
  const locks = scene().process({ clock: own });
  const { opened, open } = gate();
  const ending = locks.once('k', () => opened.then(() => 'late')).catch((error: unknown) => error);
  await scene().clock.advance(0);
  return {
    catchUp: async () => {
      await own.advance(2 * LEASE_MS);
      open();
      return ending;
    },
  };
}

test('a late owner that nobody replaced stores normally', async () => {
  const { catchUp } = await frozen();
  await scene().clock.advance(2 * LEASE_MS);
  expect(await catchUp()).toBe('late');
  expect(
    await scene()
      .process()
      .once('k', () => 'other'),
  ).toBe('late');
});

test('a late owner that was replaced gets LockLostError with its outcome, and changes nothing', async () => {
  const { catchUp } = await frozen();
  await scene().clock.advance(2 * LEASE_MS);
  expect(
    await scene()
      .process()
      .once('k', ({ attempt }) => `attempt ${attempt}`),
  ).toBe('attempt 2');
  const error = await catchUp();
  expect(error).toBeInstanceOf(LockLostError);
  expect(error).toMatchObject({ outcome: { status: 'fulfilled', value: 'late' } });
  expect(
    await scene()
      .process()
      .once('k', () => 'other'),
  ).toBe('attempt 2');
});

test('a late owner whose attempts were given up is not told that its result is stored', async () => {
  const { catchUp } = await frozen();
  await scene().clock.advance(2 * LEASE_MS);
  const error = await rejection(
    scene()
      .process()
      .once('k', () => 1, { attempts: 1 }),
  );
  expect(error).toMatchObject({ code: 'EONCEFAILED', reason: 'abandoned' });
  expect(await catchUp()).toBeInstanceOf(LockLostError);
});

test('close waits for a body in its grace, and for its storing', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const { opened, open } = gate();
  const running = handled(a.once('k', () => opened.then(() => 1)));
  await clock.advance(0);
  const closing = a.close({ graceMs: 10_000 });
  open();
  await clock.advance(100);
  await closing;
  expect(await running).toBe(1);
  expect(await b.once('k', () => 2)).toBe(1);
  expect(await rejection(a.once('k', () => 3))).toMatchObject({ code: 'ELOCKCLOSED' });
  expect(await rejection(a.once.peek('k'))).toMatchObject({ code: 'ELOCKCLOSED' });
});

test('close does not let a second body begin while the first is at work', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const signals: AbortSignal[] = [];
  handled(
    a.once('k', ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    }),
  );
  await clock.advance(0);
  const closing = a.close();
  const begun: number[] = [];
  const waiting = b.once('k', ({ attempt }) => begun.push(attempt));
  await clock.advance(9_000);
  expect(signals[0]?.reason).toMatchObject({ code: 'ELOCKCLOSED' });
  await clock.advance(1_100);
  await closing;
  // The body may be at work until the lease is over, and perhaps after that: then its fence is the older one.
  await clock.advance(LEASE_MS - 11_000);
  expect(begun).toEqual([]);
  await clock.advance(16_000);
  await waiting;
  expect(begun).toEqual([2]);
});

test('a body that ends after the grace is stored', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const work = gate();
  const told = gate();
  const running = handled(
    a.once('k', async ({ signal }) => {
      signal.addEventListener('abort', () => told.open());
      await work.opened;
      return 'late';
    }),
  );
  await clock.advance(0);
  const closing = a.close({ graceMs: 1_000 });
  await clock.advance(1_000);
  await told.opened;
  const waiting = b.once('k', () => 'second');
  await clock.advance(8_000);
  work.open();
  await clock.advance(100);
  await closing;
  expect(await running).toBe('late');
  expect(await waiting).toBe('late');
});

test('destroy tells the body, and leaves its lock to the lease', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  const signals: AbortSignal[] = [];
  handled(a.once('k', ({ signal }) => new Promise(() => signals.push(signal))));
  await clock.advance(0);
  await a.destroy();
  expect(signals[0]?.aborted).toBe(true);
  expect(await b.once.peek('k')).toMatchObject({ state: 'running', attempt: 1 });
});

test('close around a start: the body has run and is stored, or it never began and does not count', async () => {
  const { clock } = scene();
  const begun: boolean[] = [];
  for (let steps = 0; steps < 40; steps += 1) {
    const { locks, calls } = scene().watchedProcess();
    let closing: Promise<void> | undefined;
    calls.after('once.begin', async () => {
      for (let step = 0; step < steps; step += 1) await null;
      closing = locks.close();
    });
    // A caller with a signal waits in the queue, where a grant takes a turn to reach it.
    const { signal } = new AbortController();
    const key = `k${steps}`;
    let hasBegun = false;
    const body = () => {
      hasBegun = true;
    };
    const end = locks.once(key, body, { attempts: 1, signal }).catch((error: unknown) => error);
    await clock.advance(100);
    await closing;
    const state = await scene().process().once.peek(key);
    if (hasBegun) expect(state).toMatchObject({ state: 'done' });
    else expect([steps, state, await end]).toMatchObject([steps, null, { code: 'ELOCKCLOSED' }]);
    begun.push(hasBegun);
  }
  expect(new Set(begun)).toEqual(new Set([true, false]));
});

test.each([
  ['the result', () => ({ receipt: 7 }), { status: 'fulfilled', value: { receipt: 7 } }],
  ['the error', () => Promise.reject(new Error('declined')), { status: 'rejected' }],
])(
  'another program takes the key of the record while the body runs: LockConflictError with %s',
  async (_, end, outcome) => {
    const { clock, node } = scene();
    const work = gate();
    const error = handled(
      rejection(
        scene()
          .process()
          .once<unknown>('k', async () => {
            await work.opened;
            return end();
          }),
      ),
    );
    await clock.advance(0);
    await node.command('SET', 'holdfast_once:{k}', 'of another program');
    work.open();
    await clock.advance(1_000);
    expect(await error).toBeInstanceOf(LockConflictError);
    expect(await error).toMatchObject({ lock: 'k', outcome });
    expect(await node.command('GET', 'holdfast_once:{k}')).toBe('of another program');
  },
);
