/** How processes of ours wait for each other in the line: who asks when, and who is served by what. */
import { describe, expect, test } from 'vitest';
import { lockChannel } from '../../../src/keys/name.ts';
import type { FencedLease } from '../../../src/locking/lease.ts';
import type { LocksOptions } from '../../../src/options/options.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import { rejection } from '../../support/rejection.ts';
import { answers, fails, says } from '../support/scripted-client.ts';
import { CountedRandom, Stage, type StageProcess } from '../support/stage.ts';

/** A holder of ours that is none of the processes of a test. */
const OURS = '00000000-0000-8000-8000-ffffffffffff:1';

const PUBLIC = lockChannel('a');

const attemptTimes = ({ client }: StageProcess): number[] =>
  client.sent('lock.acquire').map(({ sentMs }) => sentMs - 1_000);

const steady = (stage: Stage, options: LocksOptions = {}): StageProcess =>
  stage.process({ random: new CountedRandom(() => 0), ...options });

/** One process has the lock, others wait for it in the line, in that order. */
async function lineOf(count: number, stage = new Stage()) {
  const owner = steady(stage);
  const lease = await owner.lock('a').acquire();
  const processes = Array.from({ length: count }, () => steady(stage));
  const waits: Promise<FencedLease>[] = [];
  for (const process of processes) {
    waits.push(process.lock('a').acquire());
    await stage.clock.settle();
  }
  for (const { client } of [owner, ...processes]) client.calls.length = 0;
  const [first, second] = processes as [StageProcess, StageProcess];
  return { stage, owner, lease, processes, waits, first, second, next: waits[0] as Promise<FencedLease> };
}

describe('a line of processes', () => {
  test('is served in order, by one command of each that leaves', async () => {
    const { lease, owner, processes, waits, stage } = await lineOf(3);
    const fences = [lease.fence];
    await lease.release();
    expect(owner.client.calls.map(({ script }) => script)).toEqual(['lock.release']);
    for (const [i, wait] of waits.entries()) {
      const { client, session } = processes[i] as StageProcess;
      const next = await wait;
      expect(stage.server.owner('a')).toContain(session.id);
      await next.release();
      fences.push(next.fence);
      expect(client.calls.map(({ script }) => script)).toEqual(['lock.release']);
    }
    expect([fences, stage.server.keys, stage.server.line('a')]).toEqual([fences.toSorted(), [], []]);
  });

  test.each([
    [1, 1_000],
    [4, 1_000],
    [8, 2_000],
    [30, 5_000],
  ])('of %d is asked again by the last every %d ms', async (count, everyMs) => {
    const stage = new Stage();
    stage.server.occupy('a', 60_000, OURS);
    const processes = Array.from({ length: count }, () => steady(stage));
    for (const process of processes) {
      void rejection(process.lock('a').acquire());
      await stage.clock.settle();
    }
    await stage.clock.advance(2 * everyMs);
    expect(attemptTimes(processes.at(-1) as StageProcess)).toEqual([0, 0, everyMs, 2 * everyMs]);
    for (const { session } of processes) await session.destroy();
  });

  test('is asked again every second by its first two, however many stand behind them', async () => {
    const stage = new Stage();
    stage.server.occupy('a', 60_000, OURS);
    const processes = Array.from({ length: 30 }, () => steady(stage));
    for (const process of processes) {
      void rejection(process.lock('a').acquire());
      await stage.clock.settle();
    }
    await stage.clock.advance(3_000);
    const counts = processes.map((process) => attemptTimes(process).length);
    expect(counts.slice(0, 4)).toEqual([5, 5, 3, 3]);
    for (const { session } of processes) await session.destroy();
  });

  test('has its first two ask again when the lease of the owner ends, and nobody else', async () => {
    const stage = new Stage();
    stage.server.occupy('a', 700, OURS);
    const processes = [steady(stage), steady(stage), steady(stage)];
    for (const process of processes) {
      // One of them is the owner in the end, the others are turned away.
      process
        .lock('a')
        .acquire()
        .catch(() => {});
      await stage.clock.settle();
    }
    await stage.clock.advance(750);
    expect(processes.map(attemptTimes)).toEqual([
      [0, 0, 702],
      [0, 0, 702],
      [0, 0],
    ]);
    for (const { session } of processes) await session.destroy();
  });

  test('that is full is asked again at the slowest pace', async () => {
    const stage = new Stage();
    const process = steady(stage);
    const full = [OUTCOMES.HELD, 0, 60_000, OURS, 0, 10_000, 0, 0];
    // Served in the end: who asks without a pause would do so for ever.
    process.client.decide = ({ script }) => {
      const isFull = script === 'lock.acquire' && process.client.sent('lock.acquire').length < 50;
      return isFull ? says(full) : answers();
    };
    void rejection(process.lock('a').acquire());
    await stage.clock.advance(10_000);
    expect(attemptTimes(process)).toEqual([0, 0, 5_000, 10_000]);
    await process.session.destroy();
  });

  test('gives a process that is too far away for its claim a longer one, and its turn', async () => {
    const stage = new Stage();
    const [near, far] = [steady(stage), steady(stage)];
    far.client.decide = ({ script }) =>
      script === 'listen' ? answers() : { effectMs: 1_100, answerMs: 1_900 };
    let isServed = false;
    const busy = (async () => {
      while (!isServed) {
        const held = await near.lock('a').acquire();
        await near.pause(50);
        await held.release();
      }
    })();
    const lease = await stage.until(far.lock('a').acquire());
    isServed = true;
    expect(lease.isHeld).toBe(true);
    await stage.until(lease.release());
    await stage.until(busy);
  });

  test('has its first listen with guests, and ask when the key is no longer left to them', async () => {
    const stage = new Stage();
    const process = steady(stage);
    stage.server.leaveToGuests('a', 50);
    const lease = await stage.until(process.lock('a').acquire());
    expect([lease.isHeld, attemptTimes(process)]).toEqual([true, [0, 0, 0, 50]]);
  });

  test('has its first listen with guests, and come back after the window that a release opens', async () => {
    const { stage, processes, lease, waits } = await lineOf(3);
    // Somebody who knows no line listens, and has its turn after as many owners of ours as there are processes.
    const stop = stage.server.channels.listen(PUBLIC, () => {});
    await lease.release();
    await (await waits[0])?.release();
    const before = await waits[1];
    const releasedMs = stage.clock.monotonicMs();
    await before?.release();
    expect(stage.server.keys).toEqual([]);
    await stage.until(waits[2] as Promise<FencedLease>);
    stop();
    expect(stage.clock.monotonicMs() - releasedMs).toBe(5);
    // To be told for how long, once it listens, and at the end.
    expect(processes[2]?.client.sent('lock.acquire')).toHaveLength(3);
  });

  test('forgets a process whose callers have all left', async () => {
    const { stage, lease } = await lineOf(0);
    const [leaving, staying] = [steady(stage), steady(stage)];
    const controller = new AbortController();
    const left = rejection(leaving.lock('a').acquire({ signal: controller.signal }));
    await stage.clock.settle();
    const next = staying.lock('a').acquire();
    await stage.clock.settle();
    expect(stage.server.line('a')).toHaveLength(2);
    controller.abort();
    await left;
    await stage.clock.settle();
    expect(stage.server.line('a')).toHaveLength(1);
    await lease.release();
    expect((await next).isHeld).toBe(true);
    expect(leaving.openReleases).toBe(0);
  });

  test('is not held up by a process whose connection is gone: it costs nothing', async () => {
    const { stage, lease, first, second, waits } = await lineOf(2);
    waits[0]?.catch(() => {});
    await first.client.close();
    await lease.release();
    expect((await waits[1])?.isHeld).toBe(true);
    expect(stage.server.owner('a')).toContain(second.session.id);
    await first.session.destroy();
  });

  test('is held up for one claim by a process that hears nothing and says nothing', async () => {
    const { stage, lease, first, waits } = await lineOf(2);
    waits[0]?.catch(() => {});
    first.client.isDeaf = true;
    first.client.from('any', { effectMs: null, answerMs: null });
    await lease.release();
    const releasedMs = stage.clock.monotonicMs();
    const next = await stage.until(waits[1] as Promise<FencedLease>);
    expect(next.isHeld).toBe(true);
    expect(stage.clock.monotonicMs() - releasedMs).toBeLessThanOrEqual(1_000 + 2);
    await first.session.destroy();
  });
});

describe('a process that may not subscribe', () => {
  test('is passed over, and gets its turn by asking', async () => {
    const stage = new Stage();
    const [owner, deaf, other] = [steady(stage), steady(stage), steady(stage)];
    deaf.client.from('listen', fails('NOPERM this user has no permissions to access one of the channels'));
    const lease = await owner.lock('a').acquire();
    const waits = [deaf.lock('a').acquire(), other.lock('a').acquire()] as const;
    await stage.clock.advance(100);
    expect(stage.server.line('a')).toHaveLength(2);
    await lease.release();
    await (await waits[1]).release();
    const releasedMs = stage.clock.monotonicMs();
    expect((await stage.until(waits[0])).isHeld).toBe(true);
    expect(stage.clock.monotonicMs() - releasedMs).toBeLessThanOrEqual(1_000);
  });

  test('to its own channel listens to the public one, and asks when a release finds nobody else', async () => {
    const stage = new Stage();
    const [owner, deaf] = [steady(stage), steady(stage)];
    deaf.client.decide = ({ script, keys }) =>
      script === 'listen' && keys[0] !== PUBLIC ? fails('NOPERM not this channel') : answers();
    const lease = await owner.lock('a').acquire();
    const wait = deaf.lock('a').acquire();
    await stage.clock.advance(100);
    expect(stage.server.channels.names).toEqual([PUBLIC]);
    await lease.release();
    const releasedMs = stage.clock.monotonicMs();
    expect((await wait).isHeld).toBe(true);
    expect(stage.clock.monotonicMs()).toBe(releasedMs);
  });
});

describe('behind a guest', () => {
  test('only the first two listen to the public channel, until one of ours owns the lock again', async () => {
    const stage = new Stage();
    stage.server.occupy('a', 60_000);
    const processes = [steady(stage), steady(stage), steady(stage)];
    const waits: Promise<FencedLease>[] = [];
    for (const process of processes) {
      waits.push(process.lock('a').acquire());
      await stage.clock.settle();
    }
    expect(stage.server.channels.listeners(PUBLIC)).toBe(2);
    stage.server.delete('a');
    stage.server.channels.publish(PUBLIC);
    const lease = (await waits[0]) as FencedLease;
    await stage.clock.settle();
    expect([lease.isHeld, stage.server.channels.listeners(PUBLIC)]).toEqual([true, 0]);
    for (const { session } of processes) await session.destroy();
    await Promise.allSettled(waits);
  });

  test('the third listens once it is the second', async () => {
    const stage = new Stage();
    stage.server.occupy('a', 60_000);
    const controller = new AbortController();
    const processes = [steady(stage), steady(stage), steady(stage)] as const;
    const left = rejection(processes[0].lock('a').acquire({ signal: controller.signal }));
    await stage.clock.settle();
    for (const process of processes.slice(1)) {
      void rejection(process.lock('a').acquire());
      await stage.clock.settle();
    }
    controller.abort();
    await left;
    await stage.clock.advance(1_000);
    expect(stage.server.channels.listeners(PUBLIC)).toBe(2);
    expect(processes[2].client.sent('listen').map(({ keys }) => keys[0])).toContain(PUBLIC);
    for (const { session } of processes) await session.destroy();
  });

  test('the first says how many of their releases it has heard since it asked last', async () => {
    const { stage, processes, lease, waits } = await lineOf(3);
    const stop = stage.server.channels.listen(PUBLIC, () => {});
    await lease.release();
    await (await waits[0])?.release();
    await (await waits[1])?.release();
    await stage.clock.settle();
    // It was told of the window, and listens.
    expect(stage.server.channels.listeners(PUBLIC)).toBe(2);
    stage.server.occupy('a', 60_000);
    for (const releases of [2, 1]) {
      for (let i = 0; i < releases; i += 1) stage.server.channels.publish(PUBLIC);
      await stage.clock.settle();
    }
    stage.server.delete('a');
    stage.server.channels.publish(PUBLIC);
    const last = await stage.until(waits[2] as Promise<FencedLease>);
    expect(last.isHeld).toBe(true);
    const { client } = processes[2] as StageProcess;
    const heard = client.sent('lock.acquire').map(({ args }) => args.at(-1)?.split(' ')[2]);
    // The release that opened the window is none of theirs.
    expect(heard).toEqual(['p', 'p', '2p', '1p', '1p', 'p']);
    stop();
    for (const { session } of processes) await session.destroy();
  });
});
