/** `runJob`: one run for the present slot, or now. */
import { describe, expect, test } from 'vitest';
import { gate } from '../../support/gate.ts';
import { START_MS, World } from './world.ts';

const HOUR_MS = 3_600_000;

describe('for the present slot', () => {
  test('runs once, and the next machine is told who ran it', async () => {
    const world = await World.open();
    await world.advance(600_000);
    const run = () => world.until(world.replica().runJob('job', () => {}, { everyMs: HOUR_MS }));
    expect(await run()).toMatchObject({ ran: true, isRecorded: true, run: { slot: new Date(START_MS) } });
    expect(await run()).toMatchObject({ ran: false, reason: 'done', host: expect.any(String) });
    await world.advance(HOUR_MS);
    expect(await run()).toMatchObject({ ran: true, run: { slot: new Date(START_MS + HOUR_MS) } });
  });

  test('runs without a marker too: there is no baseline', async () => {
    const world = await World.open();
    const result = world.replica().runJob('job', () => {}, { everyMs: HOUR_MS });
    expect(await world.until(result)).toMatchObject({ ran: true });
  });

  test('a machine that is ahead waits for the slot that it was started for, and does not skip', async () => {
    const world = await World.open();
    await world.until(world.replica().runJob('job', () => {}, { everyMs: HOUR_MS }));
    // By its own clock it is a full hour.
    await world.advance(HOUR_MS - world.clock.monotonicMs() - 2_000);
    const locks = world.replica({ skewMs: 2_000 });
    const started: number[] = [];
    const result = await world.until(
      locks.runJob('job', () => void started.push(world.serverMs), { everyMs: HOUR_MS }),
    );
    expect(result).toMatchObject({ ran: true, run: { slot: new Date(START_MS + HOUR_MS) } });
    expect(started[0]).toBeGreaterThanOrEqual(START_MS + HOUR_MS);
  });

  test('a machine with no early skips the slot that it was not started for', async () => {
    const world = await World.open();
    await world.until(world.replica().runJob('job', () => {}, { everyMs: HOUR_MS }));
    await world.advance(HOUR_MS - world.clock.monotonicMs() - 2_000);
    const result = world.replica().runJob('job', () => {}, { everyMs: HOUR_MS, earlyMs: 0 });
    expect(await world.until(result)).toMatchObject({ ran: false, reason: 'done' });
  });

  test('past late nobody runs it', async () => {
    const world = await World.open();
    await world.advance(600_000);
    const late = { everyMs: HOUR_MS, lateMs: 60_000 };
    expect(await world.until(world.replica().runJob('job', () => {}, late))).toMatchObject({
      ran: false,
      reason: 'missed',
    });
  });

  test('with attempts, those who skip wait for the end, and take over from a run that dies', async () => {
    const world = await World.open();
    const options = { everyMs: HOUR_MS, attempts: 2 };
    const dying = world.replica({ leaseMs: 3_000 });
    void dying.runJob('job', () => new Promise(() => {}), options).catch(() => {});
    await world.advance(500);
    const waiting = world.replica({ leaseMs: 3_000 }).runJob('job', () => {}, options);
    await world.advance(1_000);
    await dying.destroy();
    expect(await world.until(waiting)).toMatchObject({ ran: true, run: { attempt: 2 } });
  });

  test('an error is repeated while attempts are left, and is in the result', async () => {
    const world = await World.open();
    const attempts: number[] = [];
    const result = await world.until(
      world.replica().runJob(
        'job',
        ({ attempt }) => {
          attempts.push(attempt);
          throw new Error(`boom ${attempt}`);
        },
        { everyMs: HOUR_MS, attempts: 3 },
      ),
    );
    expect(attempts).toEqual([1, 2, 3]);
    expect(result).toMatchObject({ ran: true, error: { message: 'boom 3' }, run: { state: 'failed' } });
  });

  test('waits for an earlier run, until the next slot', async () => {
    const world = await World.open();
    const long = gate();
    const first = world.replica().runJob('job', () => long.opened, { everyMs: 10_000 });
    await world.advance(10_100);
    const second = world.replica().runJob('job', () => {}, { everyMs: 10_000 });
    await world.advance(3_000);
    long.open();
    expect(await world.until(first)).toMatchObject({ ran: true });
    expect(await world.until(second)).toMatchObject({
      ran: true,
      run: { slot: new Date(START_MS + 10_000) },
    });
  });
});

describe('now, outside of the schedule', () => {
  test('runs under the lock of the job: a slot waits for it, and a run beside it is refused', async () => {
    const world = await World.open();
    const byHand = gate();
    const slots: number[] = [];
    world
      .replica()
      .schedule('job', { everyMs: 10_000 }, ({ slot }) => void slots.push(slot.getTime() - START_MS));
    await world.advance(9_000);
    const running = world.replica().runJob('job', () => byHand.opened);
    await world.advance(3_000);
    expect(slots).toEqual([]);
    await expect(world.until(world.replica().runJob('job', () => {}))).rejects.toMatchObject({
      code: 'ELOCKTIMEOUT',
    });
    byHand.open();
    expect(await world.until(running)).toMatchObject({ ran: true });
    await world.advance(2_000);
    expect(slots).toEqual([10_000]);
  });

  test('takes the place of a slot in retry: the attempts that it had left are not made', async () => {
    const world = await World.open();
    const attempts: number[] = [];
    world.replica().schedule('job', { everyMs: HOUR_MS, attempts: 3 }, ({ attempt }) => {
      attempts.push(attempt);
      throw new Error('not yet');
    });
    await world.advance(HOUR_MS + 500);
    await world.until(world.replica().runJob('job', () => {}));
    await world.advance(600_000);
    expect(attempts).toEqual([1]);
  });

  test('has the grace of close, and is then told that the Locks closes', async () => {
    const world = await World.open();
    const signals: AbortSignal[] = [];
    const locks = world.replica();
    const running = locks.runJob('job', ({ signal }) => {
      signals.push(signal);
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    });
    await world.advance(100);
    const closing = locks.close({ graceMs: 5_000 });
    await world.advance(4_000);
    expect(signals[0]?.aborted).toBe(false);
    await world.until(closing);
    expect(signals[0]?.reason).toMatchObject({ code: 'ELOCKCLOSED' });
    expect(await running).toMatchObject({ ran: true, isRecorded: true });
  });

  test('that does not end is left to its lease: close resolves, and lets nobody in before that', async () => {
    const world = await World.open();
    const locks = world.replica({ leaseMs: 30_000 });
    void locks.runJob('job', () => new Promise(() => {}));
    await world.advance(100);
    await world.until(locks.close(), 15_000);
    await expect(world.until(world.replica().runJob('job', () => {}))).rejects.toMatchObject({
      code: 'ELOCKTIMEOUT',
    });
    await world.advance(30_000);
    expect(await world.until(world.replica().runJob('job', () => {}))).toMatchObject({ ran: true });
  });

  test('is listed as a job, by the name of the job, while it runs', async () => {
    const world = await World.open();
    const work = gate();
    const locks = world.replica({ prefix: 'app:' });
    const listed = async (): Promise<unknown[]> => {
      const found = [];
      for await (const each of world.replica({ prefix: 'app:' }).list({ prefix: 'jo' })) found.push(each);
      return found;
    };
    const running = locks.runJob('job', () => work.opened);
    await world.advance(100);
    const owner = expect.stringContaining(locks.session);
    expect(await listed()).toMatchObject([{ name: 'job', kind: 'job', owner, holdCount: 1 }]);
    work.open();
    await world.until(running);
    expect(await listed()).toEqual([]);
  });

  test('stands for a slot that was due and not started', async () => {
    const world = await World.open();
    const options = { everyMs: HOUR_MS, missed: 'once' } as const;
    const gone = world.replica();
    gone.schedule('job', options, () => {});
    await world.advance(1_000);
    await gone.destroy();
    await world.advance(HOUR_MS + 60_000);
    await world.until(world.replica().runJob('job', () => {}));
    const slots: unknown[] = [];
    world.replica().schedule('job', options, ({ slot }) => void slots.push(slot));
    await world.advance(10_000);
    expect(slots).toEqual([]);
    await world.advance(HOUR_MS);
    expect(slots).toHaveLength(1);
  });

  test('ends when its signal aborts, before the start and in the run', async () => {
    const world = await World.open();
    const reason = new Error('enough');
    const before = world.replica().runJob('job', () => {}, { signal: AbortSignal.abort(reason) });
    await expect(before).rejects.toBe(reason);
    const stop = new AbortController();
    const running = world.replica().runJob(
      'job',
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
      { signal: stop.signal },
    );
    await world.advance(100);
    stop.abort(reason);
    expect(await world.until(running)).toMatchObject({ ran: true, error: reason });
  });
});

test('a quorum is refused, with the reason', async () => {
  const world = await World.open();
  const { Locks } = await import('../../../src/locks.ts');
  const locks = new Locks([world.node.client(), world.node.client(), world.node.client()]);
  expect(() => locks.schedule('job', { everyMs: 1_000 }, () => {})).toThrow(/got a quorum of 3/);
  await expect(locks.runJob('job', () => {})).rejects.toMatchObject({ code: 'ELOCKCONFIG' });
  await locks.destroy();
});

test.each([
  [{ waitMs: -1 }, 'expected waitMs to be a number'],
  [{ signal: 1 }, 'expected signal to be an AbortSignal'],
  [{ lateMs: 1 }, 'without cron and everyMs'],
  [{ attempts: 2 }, 'without cron and everyMs'],
  [{ everyMs: 1_000, missed: 'once' }, 'expected an option'],
])('bad options are refused: %o', async (options, message) => {
  const world = await World.open();
  await expect(world.replica().runJob('job', () => {}, options as object)).rejects.toThrow(message);
});
