/** What each crash of a replica or of its data does to a schedule, on clocks that the test moves. */
import { describe, expect, test, vi } from 'vitest';
import type { ScheduleOptions } from '../../../src/options/schedule-options.ts';
import { gate } from '../../support/gate.ts';
import { jobsOf, LOCK, MARKER, marker, never, type Ran, recorder } from './recorder.ts';
import { World } from './world.ts';

describe('crashes', () => {
  /** A replica that dies in the body of its first run, and one that lives. */
  async function death(attempts: number): Promise<{ world: World; runs: Ran[]; second: Ran[] }> {
    const world = await World.open();
    const dying = world.replica({ leaseMs: 3_000 });
    const first = recorder(world, never);
    dying.schedule('tick', { everyMs: 60_000, attempts }, first.body);
    await world.advance(60_100);
    const living = recorder(world);
    world.replica({ leaseMs: 3_000 }).schedule('tick', { everyMs: 60_000, attempts }, living.body);
    await world.advance(100);
    await dying.destroy();
    return { world, runs: first.runs, second: living.runs };
  }

  /** A replica that dies when its body has ended, before that is recorded, and one that comes later. */
  async function deathAfterBody(attempts: number): Promise<{ world: World; first: Ran[]; second: Ran[] }> {
    const world = await World.open();
    const done = recorder(world, () => {
      world.node.pause();
    });
    const dying = world.replica({ leaseMs: 3_000 });
    dying.schedule('tick', { everyMs: 60_000, attempts }, done.body);
    await world.advance(60_100);
    await dying.destroy();
    world.node.resume();
    // What the dead process had written may arrive, or not: here it is taken back to before the record.
    await world.node.command('HSET', MARKER, 'state', 'running');
    await world.advance(5_000);
    const living = recorder(world);
    world.replica().schedule('tick', { everyMs: 60_000, attempts, missed: 'once' }, living.body);
    await world.advance(5_000);
    return { world, first: done.runs, second: living.runs };
  }

  test('in the body, one attempt: dead after the lease, and the next slot is normal', async () => {
    const { world, runs, second } = await death(1);
    await world.advance(20_000);
    expect([runs.length, second.length]).toEqual([1, 0]);
    const [job] = await jobsOf(world.replica());
    expect(job).toMatchObject({ name: 'tick', last: { state: 'dead', attempt: 1 } });
    await world.advance(40_000);
    expect(second.map(({ slot }) => slot)).toEqual([120_000]);
    expect(await marker(world, 'state')).toBe('done');
  });

  test('in the body, two attempts: another replica, with a larger fence', async () => {
    const { world, runs, second } = await death(2);
    await world.advance(10_000);
    expect(second).toMatchObject([{ slot: 60_000, attempt: 2 }]);
    expect(second[0]?.fence).toBeGreaterThan(runs[0]?.fence ?? 0);
  });

  test('between body and record, one attempt: shown as dead, and not run again', async () => {
    const { world, second } = await deathAfterBody(1);
    expect(second).toEqual([]);
    expect(await marker(world, 'state')).toBe('dead');
  });

  test('between body and record, two attempts: the body may run twice, with a larger fence', async () => {
    const { world, first, second } = await deathAfterBody(2);
    expect(first).toMatchObject([{ slot: 60_000, attempt: 1 }]);
    expect(second).toMatchObject([{ slot: 60_000, attempt: 2 }]);
    expect(second[0]?.fence).toBeGreaterThan(first[0]?.fence ?? 0);
    expect(await marker(world, 'state')).toBe('done');
  });

  test('of the reply to a start, process alive: the same start is answered again', async () => {
    const world = await World.open();
    const { runs, body } = recorder(world);
    const locks = world.replica({ callTimeoutMs: 500, leaseMs: 10_000 });
    locks.schedule('tick', { everyMs: 60_000 }, body);
    await world.advance(59_990);
    world.node.pause();
    await world.advance(1_200);
    // All requests that were written meanwhile arrive at once.
    world.node.resume();
    await world.advance(5_000);
    expect(runs).toMatchObject([{ slot: 60_000, attempt: 1 }]);
    expect(await marker(world, 'attempt')).toBe('1');
    expect(await world.node.command('EXISTS', LOCK)).toBe(0);
  });

  test('of the lease, process alive: a late owner that nobody replaced is recorded', async () => {
    const world = await World.open();
    const late = gate();
    const { runs, body } = recorder(world, () => late.opened);
    const schedule = world.replica({ leaseMs: 3_000 }).schedule('tick', { everyMs: 60_000 }, body);
    const ran = vi.fn();
    schedule.on('ran', ran);
    await world.advance(60_100);
    await world.node.command('DEL', LOCK);
    await world.advance(5_000);
    const other = world.replica().schedule('tick', { everyMs: 60_000 }, body);
    await world.advance(1_000);
    expect(await marker(world, 'state')).toBe('dead');
    expect(other.last).toMatchObject({ state: 'dead' });
    late.open();
    await world.advance(1_000);
    expect(await marker(world, 'state')).toBe('done');
    expect(runs).toHaveLength(1);
    expect(ran).toHaveBeenCalledExactlyOnceWith({ run: schedule.last, isRecorded: true });
    expect(schedule.last).toMatchObject({ state: 'done' });
  });

  test('of the lease, process alive: a late owner that was replaced leaves the lock of the other', async () => {
    const world = await World.open();
    const late = gate();
    const first = recorder(world, () => late.opened);
    const options: ScheduleOptions = { everyMs: 600_000, attempts: 2 };
    const schedule = world.replica({ leaseMs: 3_000 }).schedule('tick', options, first.body);
    const ran = vi.fn();
    schedule.on('ran', ran);
    await world.advance(600_100);
    await world.node.command('DEL', LOCK);
    const second = recorder(world, never);
    world.replica({ leaseMs: 3_000 }).schedule('tick', options, second.body);
    await world.advance(10_000);
    expect(second.runs).toMatchObject([{ attempt: 2 }]);
    const owner = await world.node.command('HKEYS', LOCK);
    late.open();
    await world.advance(5_000);
    expect(await world.node.command('HKEYS', LOCK)).toEqual(owner);
    expect(await marker(world, 'state')).toBe('running');
    // It is told so, and does not claim that the slot has ended.
    expect(ran).toHaveBeenCalledExactlyOnceWith({
      run: expect.objectContaining({ attempt: 1 }),
      isRecorded: false,
    });
    expect(schedule.last).toMatchObject({ state: 'baseline' });
  });

  test('of all data: the body is told at its next renewal, and a replica that looks again runs the slot', async () => {
    const world = await World.open();
    const signals: AbortSignal[] = [];
    const { runs, body } = recorder(world, ({ signal }) => {
      signals.push(signal);
      return never();
    });
    for (const _ of ['first', 'second'])
      world.replica({ leaseMs: 3_000 }).schedule('tick', { everyMs: 60_000, attempts: 2 }, body);
    await world.advance(60_100);
    expect(runs).toHaveLength(1);
    await world.node.command('FLUSHALL');
    await world.advance(4_000);
    expect(signals[0]?.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
    // The marker is gone, and with it the count of attempts. The fence grows all the same.
    expect(runs.map(({ slot, attempt }) => [slot, attempt])).toEqual([
      [60_000, 1],
      [60_000, 1],
    ]);
    expect(runs[1]?.fence).toBeGreaterThan(runs[0]?.fence ?? 0);
  });
});
