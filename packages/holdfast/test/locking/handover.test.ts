/** How a hold passes from one local owner to the next without touching Redis, and when it must not. */
import { describe, expect, test } from 'vitest';
import type { FencedLease } from '../../src/locking/lease.ts';
import type { AcquireOptions } from '../../src/options/acquire-options.ts';
import type { LocksOptions } from '../../src/options/options.ts';
import { rejection } from '../support/rejection.ts';
import { answers, hangs, refuses } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

interface Pair {
  readonly stage: Stage;
  readonly process: StageProcess;
  readonly first: FencedLease;
  readonly second: Promise<FencedLease>;
}

/** One caller holds the lock, another of the same process waits for it. */
async function pair(
  options: LocksOptions = {},
  firstOptions: AcquireOptions = {},
  secondOptions: AcquireOptions = {},
): Promise<Pair> {
  const stage = new Stage();
  const process = stage.process(options);
  const lock = process.lock('a');
  // Both wait for a stranger, so that the attempt that succeeds asks for a fence for each of them.
  stage.server.occupy('a', 100);
  const holding = lock.acquire(firstOptions);
  const second = lock.acquire(secondOptions);
  second.catch(() => {});
  const first = await stage.until(holding);
  process.client.calls.length = 0;
  return { stage, process, first, second };
}

describe('a hold that is handed over', () => {
  test('costs no command, and the next owner has the next fence', async () => {
    const { process, first, second } = await pair();
    expect(await first.release()).toBe(true);
    const next = await second;
    expect(process.client.calls).toEqual([]);
    expect([next.isHeld, first.isHeld, next.fence]).toEqual([true, false, first.fence + 1]);
  });

  test('goes from one to the next in the order of their coming', async () => {
    const stage = new Stage();
    const lock = stage.process().lock('a');
    const order: number[] = [];
    const work = Array.from({ length: 20 }, (_, i) => lock.using(async () => void order.push(i)));
    await stage.until(Promise.all(work));
    expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test('has been handed over as often as the fences allow, then is released and sought again', async () => {
    const stage = new Stage();
    const process = stage.process({ handovers: 3 });
    const lock = process.lock('a');
    const fences: number[] = [];
    const work = Array.from({ length: 9 }, () => lock.using(async ({ fence }) => void fences.push(fence)));
    await stage.until(Promise.all(work));
    // Four owners a hold.
    expect(process.client.sent('lock.acquire').map(({ args }) => args[2])).toEqual(['4', '4', '4']);
    expect(process.client.sent('lock.release')).toHaveLength(3);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(9);
  });

  test('is handed over no more often than the server has granted fences for, and each owner has its own', async () => {
    const stage = new Stage();
    const process = stage.process({ handovers: 64 });
    const lock = process.lock('a');
    const fences: number[] = [];
    const work = async ({ fence }: FencedLease): Promise<void> => void fences.push(fence);
    await stage.until(lock.using(work));
    // The counter is ahead of the clock from here on: the server gives one fence at a time.
    stage.server.jump(-3_600_000);
    await stage.until(Promise.all(Array.from({ length: 6 }, () => lock.using(work))));
    const asked = process.client.sent('lock.acquire').map(({ args }) => args[2]);
    expect(asked.slice(1)).toEqual(['65', '65', '65', '65', '65', '65']);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(7);
  });

  test.each(['lock', 'mutex'] as const)(
    'is handed over between two callers that come to an idle %s at the same moment',
    async (kind) => {
      const stage = new Stage();
      const process = stage.process();
      process.client.next(`${kind}.acquire`, answers(10));
      const owners: (string | null)[] = [];
      const work = [0, 1].map(() =>
        process[kind]('a').using(async () => void owners.push(stage.server.owner('a'))),
      );
      await stage.until(Promise.all(work));
      expect(process.client.calls.map(({ script }) => script)).toEqual([
        `${kind}.acquire`,
        `${kind}.release`,
      ]);
      expect(owners[0]).not.toBe(null);
      expect(new Set(owners).size).toBe(1);
    },
  );

  test('is handed over to a caller that comes while a lone one has it', async () => {
    const stage = new Stage();
    const process = stage.process();
    const lock = process.lock('a');
    const first = await lock.acquire();
    const second = lock.acquire();
    await first.release();
    expect((await second).fence).toBe(first.fence + 1);
    expect(process.client.calls.map(({ script }) => script)).toEqual(['lock.acquire']);
  });

  test('is handed over by a mutex too, as often as it may be', async () => {
    const stage = new Stage();
    const process = stage.process({ handovers: 3 });
    const work = Array.from({ length: 8 }, () => process.mutex('m').using(async () => {}));
    await stage.until(Promise.all(work));
    expect(process.client.sent('mutex.acquire')).toHaveLength(2);
  });

  test('is not when the option says so', async () => {
    const { stage, process, first, second } = await pair({ handovers: 0 });
    await first.release();
    const next = await stage.until(second);
    expect(process.client.sent('lock.acquire')).toHaveLength(1);
    expect(next.fence).toBeGreaterThan(first.fence);
  });

  test('is not once it is older than its bound, so that other processes get their turn', async () => {
    const { stage, process, first, second } = await pair({ handoverMs: 50 });
    await stage.clock.advance(50);
    await first.release();
    await stage.until(second);
    expect(process.client.sent('lock.release')).toHaveLength(1);
  });

  test('is within that bound', async () => {
    const { stage, process, first, second } = await pair({ handoverMs: 50 });
    await stage.clock.advance(49);
    await first.release();
    await second;
    expect(process.client.sent('lock.release')).toHaveLength(0);
  });

  test('is not with less than a third of its lease left', async () => {
    const { stage, process, first, second } = await pair(
      { handoverMs: 60_000 },
      { leaseMs: 900, renew: false },
    );
    await stage.clock.advance(900 - 11 - 300 + 1);
    expect(first.isHeld).toBe(true);
    await first.release();
    const next = await stage.until(second);
    expect(process.client.sent('lock.release')).toHaveLength(1);
    expect(next.remainingMs).toBeGreaterThan(1_000);
  });

  test('is with a third of its lease left', async () => {
    const { stage, process, first, second } = await pair(
      { handoverMs: 60_000 },
      { leaseMs: 900, renew: false },
    );
    await stage.clock.advance(900 - 11 - 300);
    await first.release();
    await second;
    expect(process.client.sent('lock.release')).toHaveLength(0);
  });

  test('is not after it was lost: the next caller seeks it', async () => {
    const { stage, process, first, second } = await pair(
      { handoverMs: 60_000 },
      { leaseMs: 900, renew: false },
    );
    stage.clock.advanceSync(900);
    expect(await first.release()).toBe(false);
    const next = await stage.until(second);
    expect(process.client.sent('lock.acquire')).toHaveLength(1);
    expect(next.isHeld).toBe(true);
  });

  test('is renewed by the lease of its new owner', async () => {
    const { stage, process, first, second } = await pair({}, { leaseMs: 900 }, { leaseMs: 60_000 });
    await first.release();
    const next = await second;
    expect(next.remainingMs).toBe(889);
    await stage.clock.advance(900);
    expect(process.client.sent('lock.renew').map(({ args }) => args[1])).toEqual(['60000']);
    expect(next.remainingMs).toBeGreaterThan(50_000);
    await stage.clock.advance(300_000);
    expect(next.isHeld).toBe(true);
  });

  test('is renewed sooner when its new owner has a shorter lease', async () => {
    const { stage, first, second } = await pair({}, { leaseMs: 60_000 }, { leaseMs: 900 });
    await first.release();
    const next = await second;
    await stage.clock.advance(310);
    expect(next.remainingMs).toBeLessThanOrEqual(889);
    // The server keeps the longer lease: nothing is shortened there, for fear of what arrives late.
    expect(stage.server.ttlMs('a')).toBeGreaterThan(50_000);
  });

  test('starts over for a caller with a fixed lease, by one command', async () => {
    const { stage, process, first, second } = await pair(
      {},
      { leaseMs: 900 },
      { leaseMs: 5_000, renew: false },
    );
    process.client.next('lock.renew', answers(10));
    await first.release();
    const next = await stage.until(second);
    expect(process.client.calls.map(({ script }) => script)).toEqual(['lock.renew']);
    expect(next.remainingMs).toBe(5_000 - 52 - 10);
    expect(next.fence).toBe(first.fence + 1);
    await stage.clock.advance(5_000);
    expect(process.client.sent('lock.renew')).toHaveLength(1);
    expect(next.signal.reason).toMatchObject({ reason: 'expired' });
  });

  test.each([
    ['gets no answer', hangs()],
    ['cannot be sent', refuses()],
  ])('is let go when that command %s, and sought again', async (_, fate) => {
    const { stage, process, first, second } = await pair({}, {}, { leaseMs: 5_000, renew: false });
    process.client.next('lock.renew', fate);
    await first.release();
    const next = await stage.until(second);
    expect(process.client.sent('lock.acquire')).toHaveLength(1);
    expect(next.isHeld).toBe(true);
    expect(next.remainingMs).toBeCloseTo(4_948, 0);
  });

  test('is let go when the caller leaves meanwhile, and nobody is left waiting', async () => {
    const controller = new AbortController();
    const options = { renew: false, signal: controller.signal };
    const { stage, process, first, second } = await pair({}, {}, options);
    process.client.next('lock.renew', answers(50));
    await first.release();
    const error = rejection(second);
    await stage.clock.advance(20);
    controller.abort();
    expect(await error).toMatchObject({ code: 'ELOCKABORTED' });
    await stage.clock.advance(1_000);
    expect([stage.server.keys, process.session.holds]).toEqual([[], 0]);
  });

  test('is sought again when it is lost meanwhile', async () => {
    const { stage, process, first, second } = await pair({}, {}, { renew: false });
    process.client.next('lock.renew', answers(50));
    await first.release();
    stage.server.delete('a');
    const next = await stage.until(second);
    expect([next.isHeld, process.client.sent('lock.acquire').length]).toEqual([true, 1]);
    expect(next.fence).toBeGreaterThan(first.fence + 1);
  });

  test('keeps its new owner when an answer to the renewal of the old one is still to come', async () => {
    const { stage, process, first, second } = await pair(
      { handoverMs: 1_000 },
      { leaseMs: 300 },
      { leaseMs: 30_000 },
    );
    process.client.next('lock.renew', answers(20));
    await stage.clock.advance(100);
    expect(process.client.sent('lock.renew')).toHaveLength(1);
    await first.release();
    const next = await second;
    await stage.clock.advance(5_000);
    expect([next.isHeld, next.signal.aborted]).toEqual([true, false]);
  });

  test('is never believed for longer than the server was told, also when a count was under way', async () => {
    const { stage, process, first, second } = await pair({}, { leaseMs: 300 }, { leaseMs: 30_000 });
    const inner = await process.lock('a').acquire({ within: first });
    process.client.next('lock.recount', answers(20));
    const left = inner.release();
    await first.release();
    const next = await second;
    process.client.from('lock.renew', hangs());
    await stage.until(left);
    expect(next.remainingMs).toBeLessThanOrEqual(stage.server.ttlMs('a'));
  });
});
