/** The promises of a schedule and its pitfalls, on clocks that the test moves. */
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ScheduleOptions } from '../../../src/options/schedule-options.ts';
import { CHANNELS } from '../../../src/telemetry/channels.ts';
import { gate } from '../../support/gate.ts';
import { jobsOf, LOCK, MARKER, marker, never, type Ran, recorder } from './recorder.ts';
import { START_MS, World } from './world.ts';

const SECOND: ScheduleOptions = { everyMs: 1_000 };

describe('a slot', () => {
  test('runs once on one of three replicas, at its time, whatever their clocks say', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const schedules = [-30_000, 0, 30_000].map((skewMs) =>
      world.replica({ skewMs }).schedule('tick', SECOND, body),
    );
    await world.advance(5_500);
    expect(runs.map(({ slot }) => slot)).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    for (const { slot, atMs } of runs) {
      expect(atMs).toBeGreaterThanOrEqual(slot);
      expect(atMs - slot).toBeLessThan(100);
    }
    expect(schedules[0]?.next?.getTime()).toBe(START_MS + 6_000);
    expect(schedules[1]?.last).toMatchObject({ state: 'done' });
  });

  test('is not run again by a replica that comes later, however short the job', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const options: ScheduleOptions = { everyMs: 60_000, missed: 'once' };
    world.replica().schedule('tick', options, body);
    await world.advance(60_500);
    for (let late = 0; late < 3; late += 1) {
      world.replica().schedule('tick', options, body);
      await world.advance(5_000);
    }
    expect(runs.map(({ slot }) => slot)).toEqual([60_000]);
  });

  test('does not run again when the clock of the server steps back', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    world.replica().schedule('tick', { everyMs: 10_000 }, body);
    await world.advance(30_500);
    world.serverClock.offsetMs = -25_000;
    await world.advance(24_000);
    expect(runs.map(({ slot }) => slot)).toEqual([10_000, 20_000, 30_000]);
    await world.advance(12_000);
    expect(runs.map(({ slot }) => slot)).toEqual([10_000, 20_000, 30_000, 40_000]);
  });

  test('does not run early when the clock of the server steps back before it', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    world.replica().schedule('tick', { everyMs: 10_000 }, body);
    await world.advance(9_900);
    world.serverClock.offsetMs = -5_000;
    await world.advance(10_000);
    expect(runs.every(({ slot, atMs }) => atMs >= slot)).toBe(true);
    expect(runs.map(({ slot }) => slot)).toEqual([10_000]);
  });

  test('is found in time when the clock of the server steps ahead', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    world.replica().schedule('tick', { everyMs: 3_600_000 }, body);
    await world.advance(60_000);
    world.serverClock.offsetMs = 3_600_000 - 90_000;
    await world.advance(120_000);
    expect(runs.map(({ slot }) => slot)).toEqual([3_600_000]);
  });

  test('does not run on the deploy of a new job, and the next one does', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const schedule = world.replica().schedule('tick', { everyMs: 60_000, missed: 'once' }, body);
    const skipped = vi.fn();
    schedule.on('skipped', skipped);
    await world.advance(30_000);
    expect(runs).toEqual([]);
    expect(skipped).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ reason: 'baseline' }));
    await world.advance(40_000);
    expect(runs.map(({ slot }) => slot)).toEqual([60_000]);
  });

  test('is not lost to a replica that was there when another is deployed at the same moment', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    world.replica().schedule('tick', { everyMs: 60_000 }, body);
    await world.advance(59_000);
    await world.node.command('DEL', MARKER);
    world.serverClock.offsetMs = 1_000;
    world.replica().schedule('tick', { everyMs: 60_000 }, body);
    await world.advance(2_000);
    expect(runs.map(({ slot }) => slot)).toEqual([60_000]);
  });
});

describe('a missed slot', () => {
  async function outage(missed: 'skip' | 'once'): Promise<{ runs: Ran[]; state: unknown }> {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const options: ScheduleOptions = { everyMs: 60_000, missed };
    const first = world.replica();
    first.schedule('tick', options, body);
    await world.advance(61_000);
    await first.destroy();
    await world.advance(155_000);
    world.replica().schedule('tick', options, body);
    await world.advance(2_000);
    return { runs, state: await marker(world, 'state') };
  }

  test("is left out with 'skip'", async () => {
    const { runs, state } = await outage('skip');
    expect(runs.map(({ slot }) => slot)).toEqual([60_000]);
    expect(state).toBe('missed');
  });

  test("is made up for with 'once', and only the newest", async () => {
    const { runs, state } = await outage('once');
    expect(runs.map(({ slot }) => slot)).toEqual([60_000, 180_000]);
    expect(state).toBe('done');
  });
});

describe('a run that takes longer than its slot', () => {
  test('is never overlapped: later slots wait until they are too late', async () => {
    const world = await World.open();
    const long = gate();
    const { runs, body } = recorder(world, () => long.opened);
    const schedules = [0, 1].map(() => world.replica().schedule('tick', { everyMs: 10_000 }, body));
    const skipped = vi.fn();
    for (const schedule of schedules) schedule.on('skipped', skipped);
    await world.advance(27_000);
    expect(runs.map(({ slot }) => slot)).toEqual([10_000]);
    expect(skipped).toHaveBeenCalledWith(expect.objectContaining({ reason: 'busy' }));
    long.open();
    await world.advance(5_000);
    expect(runs.map(({ slot }) => slot)).toEqual([10_000, 30_000]);
  });

  test('aborts after atMostMs with JobTimeoutError, which is recorded', async () => {
    const world = await World.open();
    const failed = vi.fn();
    const aborts: unknown[] = [];
    const schedule = world.replica().schedule('tick', { everyMs: 10_000, atMostMs: 2_000 }, ({ signal }) => {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborts.push(signal.reason);
          reject(signal.reason);
        });
      });
    });
    schedule.on('failed', failed);
    await world.advance(13_000);
    expect(aborts).toMatchObject([{ code: 'EJOBTIMEOUT', lock: 'tick' }]);
    expect(failed).toHaveBeenCalledOnce();
    expect(await marker(world, 'state')).toBe('failed');
    expect(await marker(world, 'error')).toContain('JobTimeoutError');
  });

  test('and whose body returns at its time limit has failed too', async () => {
    const world = await World.open();
    world.replica().schedule('tick', { everyMs: 10_000, atMostMs: 2_000 }, ({ signal }) => {
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
      });
    });
    await world.advance(13_000);
    expect(await marker(world, 'state')).toBe('failed');
  });

  test('is followed no sooner than atLeastMs after its start', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const options: ScheduleOptions = { everyMs: 10_000, atLeastMs: 9_500, lateMs: 9_000, missed: 'once' };
    world.replica().schedule('tick', options, body);
    // The slot of 10 s starts late, so that the next slot comes less than atLeastMs after that start.
    await world.advance(9_900);
    world.node.pause();
    await world.advance(7_100);
    world.node.resume();
    await world.advance(15_000);
    const starts = runs.map(({ slot, atMs }) => [slot, atMs] as const);
    expect(starts.slice(0, 2).map(([slot]) => slot)).toEqual([10_000, 20_000]);
    const [firstMs = 0, secondMs = 0] = starts.map(([, atMs]) => atMs);
    expect(firstMs).toBeGreaterThanOrEqual(17_000);
    expect(secondMs - firstMs).toBeGreaterThanOrEqual(9_500);
    // Held back no longer than it must be.
    expect(secondMs - firstMs).toBeLessThan(9_500 + 2_000);
  });
});

describe('an attempt that throws', () => {
  test('is followed by another after a pause, until one ends well', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world, ({ attempt }) => {
      if (attempt < 3) throw new Error(`boom ${attempt}`);
    });
    const schedule = world.replica().schedule('tick', { everyMs: 60_000, attempts: 5 }, body);
    const failed = vi.fn();
    schedule.on('failed', failed);
    await world.advance(70_000);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect((runs[1]?.atMs ?? 0) - (runs[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect((runs[2]?.atMs ?? 0) - (runs[1]?.atMs ?? 0)).toBeGreaterThanOrEqual(2_000);
    expect(failed).toHaveBeenCalledTimes(2);
    expect(schedule.last).toMatchObject({ state: 'done', attempt: 3 });
  });

  test('is the end without attempts, and its error is recorded, cut to a kilobyte', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world, () => {
      throw new Error('ä'.repeat(2_000));
    });
    world.replica().schedule('tick', { everyMs: 60_000 }, body);
    await world.advance(90_000);
    expect(runs).toHaveLength(1);
    const error = String(await marker(world, 'error'));
    expect(Buffer.byteLength(error)).toBeLessThanOrEqual(1_024);
    expect(error).toMatch(/^Error: ä+$/);
  });
});

describe('replicas', () => {
  test('with another time zone or pattern hear of it once', async () => {
    const world = await World.open();
    const { body } = recorder(world);
    world.replica().schedule('tick', { cron: '* * * * *', timeZone: 'Europe/Berlin' }, body);
    await world.advance(61_000);
    const other = world.replica().schedule('tick', { cron: '* * * * *' }, body);
    const differs = vi.fn();
    other.on('differs', differs);
    await world.advance(180_000);
    expect(differs).toHaveBeenCalledExactlyOnceWith({
      ours: 'cron * * * * * UTC',
      theirs: 'cron * * * * * Europe/Berlin',
    });
  });

  test('go on after an outage, and say so once', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    world.node.pause();
    const schedule = world.replica().schedule('tick', { everyMs: 10_000 }, body);
    const failed = vi.fn();
    schedule.on('failed', failed);
    await world.advance(30_000);
    expect(failed).toHaveBeenCalledOnce();
    world.node.resume();
    await world.advance(21_000);
    expect(runs.map(({ slot }) => slot)).toEqual([40_000, 50_000]);
  });
});

describe('stop', () => {
  test('starts nothing any more, and leaves nothing behind', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const schedule = world.replica().schedule('tick', SECOND, body);
    await world.advance(1_500);
    await world.until(schedule.stop());
    await world.advance(5_000);
    expect(runs).toHaveLength(1);
    expect(await world.node.command('EXISTS', LOCK)).toBe(0);
  });

  test('gives a run its grace, then tells it, and keeps its lock until it has ended', async () => {
    const world = await World.open();
    const slow = gate();
    const signals: AbortSignal[] = [];
    const schedule = world.replica({ leaseMs: 3_000 }).schedule('tick', SECOND, async ({ signal }) => {
      signals.push(signal);
      await slow.opened;
    });
    await world.advance(1_100);
    const stopped = schedule.stop({ graceMs: 5_000 });
    await world.advance(4_900);
    expect(signals[0]?.aborted).toBe(false);
    await world.advance(4_000);
    expect(signals[0]?.reason).toMatchObject({ code: 'ELOCKCLOSED' });
    expect(await world.node.command('EXISTS', LOCK)).toBe(1);
    slow.open();
    await world.until(stopped);
    expect(await world.node.command('EXISTS', LOCK)).toBe(0);
    expect(await marker(world, 'state')).toBe('done');
  });

  test('leaves a run that does not end to its lease', async () => {
    const world = await World.open();
    const locks = world.replica({ leaseMs: 5_000 });
    locks.schedule('tick', SECOND, never);
    await world.advance(1_100);
    await world.until(locks.close());
    expect(await world.node.command('EXISTS', LOCK)).toBe(1);
    await world.advance(5_000);
    expect(await world.node.command('EXISTS', LOCK)).toBe(0);
  });

  test('takes back a start that was decided and not begun', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const locks = world.replica({ callTimeoutMs: 500 });
    const schedule = locks.schedule('tick', { everyMs: 60_000 }, body);
    await world.advance(59_990);
    world.node.pause();
    await world.advance(100);
    const stopped = schedule.stop();
    await world.advance(100);
    world.node.resume();
    await world.until(stopped);
    await world.advance(1_000);
    expect(runs).toEqual([]);
    const other = recorder(world);
    world.replica().schedule('tick', { everyMs: 60_000 }, other.body);
    await world.advance(1_000);
    expect(other.runs).toMatchObject([{ slot: 60_000, attempt: 1 }]);
  });
});

test('runs are traced and skips are told on the channels', async () => {
  const world = await World.open();
  const ended: unknown[] = [];
  const skips: unknown[] = [];
  const traces = { asyncEnd: (trace: unknown) => ended.push(trace) } as never;
  const hear = (message: unknown): void => {
    skips.push(message);
  };
  tracingChannel(CHANNELS.job).subscribe(traces);
  subscribe(CHANNELS.jobSkipped, hear);
  onTestFinished(() => {
    tracingChannel(CHANNELS.job).unsubscribe(traces);
    unsubscribe(CHANNELS.jobSkipped, hear);
  });
  for (const locks of [world.replica(), world.replica()]) {
    locks.schedule('tick', { everyMs: 10_000 }, () => {});
  }
  await world.advance(11_000);
  const slot = START_MS + 10_000;
  expect(ended).toMatchObject([{ job: 'tick', slot, attempt: 1, result: { isRecorded: true } }]);
  expect(skips).toContainEqual(expect.objectContaining({ job: 'tick', slot, reason: 'done' }));
});

test('jobs waits for its pace after each call, and refuses one that is no function', async () => {
  const world = await World.open();
  const locks = world.replica();
  for (const name of ['a', 'b', 'c']) locks.schedule(name, { everyMs: 10_000 }, () => {});
  await world.advance(11_000);
  const found: string[] = [];
  const seen: number[] = [];
  const pace = async (): Promise<void> => void seen.push(found.length);
  for await (const { name } of locks.jobs({ pace })) found.push(name);
  expect(found.sort()).toEqual(['a', 'b', 'c']);
  // One step over the keys, then one reading of each job, told before the next is read.
  expect(seen).toEqual([0, 0, 1, 2]);
  await expect(locks.jobs({ pace: 7 as never }).next()).rejects.toThrow(
    'expected pace to be a function, got 7',
  );
});

test('jobs lists what the server knows, with the prefix and without', async () => {
  const world = await World.open();
  world.replica({ prefix: 'app:' }).schedule('tick', { everyMs: 10_000 }, () => {});
  world.replica().schedule('odd{name}', { everyMs: 10_000 }, () => {});
  await world.advance(11_000);
  expect(await jobsOf(world.replica({ prefix: 'app:' }))).toMatchObject([
    { name: 'tick', spec: 'every 10000 ms + 0', last: { state: 'done', host: expect.any(String) } },
  ]);
  expect(await jobsOf(world.replica())).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ name: 'odd{name}' }),
      expect.objectContaining({ name: 'app:tick' }),
    ]),
  );
});
