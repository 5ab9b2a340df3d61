/** Entering a lock again under an owner that has it. */
import { describe, expect, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { answers, fails, hangs, refuses } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

describe('entering again', () => {
  test('counts in Redis, one for each owner in the chain, and the last one out releases', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const counts: number[] = [];
    await lock.using(async () => {
      counts.push(stage.server.count('a'));
      await lock.using(async () => {
        counts.push(stage.server.count('a'));
        await lock.using(async () => void counts.push(stage.server.count('a')));
        counts.push(stage.server.count('a'));
      });
      counts.push(stage.server.count('a'));
    });
    expect(counts).toEqual([1, 2, 3, 2, 1]);
    expect(stage.server.keys).toEqual([]);
  });

  test('is what a nested call of the same chain does, also by a try', async () => {
    const { process } = setup();
    const lock = process.lock('a');
    await lock.using(async (outer) => {
      const inner = await lock.tryAcquire();
      expect(inner?.fence).toBe(outer.fence);
      expect(await inner?.release()).toBe(true);
      expect(outer.isHeld).toBe(true);
    });
  });

  test('in parallel branches excludes them from each other', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    let inside = 0;
    let most = 0;
    const branch = (): Promise<void> =>
      lock.using(async () => {
        inside += 1;
        most = Math.max(most, inside);
        await process.pause(5);
        inside -= 1;
      });
    await stage.until(lock.using(() => Promise.all([branch(), branch(), branch()])));
    expect(most).toBe(1);
    expect(stage.server.keys).toEqual([]);
  });

  test('by a try in a parallel branch finds it taken', async () => {
    const { process } = setup();
    const lock = process.lock('a');
    await lock.using(async () => {
      const inner = await lock.acquire();
      expect(await lock.tryAcquire()).toBe(null);
      await inner.release();
    });
  });

  test('in a parallel branch gives up after its wait, and says behind whom', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    const inner = await lock.acquire({ within: lease });
    const error = await stage.until(rejection(lock.acquire({ within: lease, waitMs: 50 })));
    expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', elapsedMs: 50 });
    expect([await inner.release(), await lease.release()]).toEqual([true, true]);
  });

  test('outlives the owner above: the hold ends with the last of them', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    const inner = await lock.acquire({ within: lease });
    expect(await lease.release()).toBe(true);
    expect([inner.isHeld, lease.isHeld, stage.server.count('a')]).toEqual([true, false, 1]);
    expect(await inner.release()).toBe(true);
    expect(stage.server.keys).toEqual([]);
  });

  test('of siblings that wait when the owner above releases goes by the front door', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    const inner = await lock.acquire({ within: lease });
    const sibling = lock.acquire({ within: lease });
    await lease.release();
    await inner.release();
    const next = await stage.until(sibling);
    expect(next.isHeld).toBe(true);
    // By hand-over: it is another owner of the same hold.
    expect(next.fence).toBe(lease.fence + 1);
    expect(process.client.sent('lock.acquire')).toHaveLength(1);
  });

  test('of a sibling whose caller leaves just as the owner above releases is aborted', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    const inner = await lock.acquire({ within: lease });
    const controller = new AbortController();
    const sibling = Promise.allSettled([lock.acquire({ within: lease, signal: controller.signal })]);
    await stage.clock.settle();
    // In one turn: the sibling is sent to the front door, and its caller leaves on the way there.
    const released = Promise.all([lease.release(), inner.release()]);
    controller.abort();
    await released;
    expect(await stage.until(sibling)).toMatchObject([
      { status: 'rejected', reason: { code: 'ELOCKABORTED' } },
    ]);
  });

  test('is told of the loss of the hold, and so is whoever enters after it', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    const inner = await lock.acquire({ within: lease });
    stage.server.delete('a');
    await expect(lock.acquire({ within: inner })).rejects.toMatchObject({
      code: 'ELOCKLOST',
      reason: 'gone',
    });
    expect([lease.isHeld, inner.isHeld, lease.signal.aborted]).toEqual([false, false, true]);
    await expect(lock.acquire({ within: lease })).rejects.toMatchObject({ code: 'ELOCKLOST' });
  });

  test.each([
    ['no answer', hangs()],
    ['no connection', refuses()],
    ['an error', fails('OOM command not allowed')],
  ])('by a try that gets %s is undone, and the owner above keeps the lock', async (_, fate) => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire({ leaseMs: 3_000 });
    process.client.next('lock.recount', fate);
    const error = await stage.until(rejection(lock.tryAcquire({ within: lease })));
    expect(error).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
    expect(stage.server.keys).toEqual([]);
  });

  test('that is undone after the owner above released lets the lock go', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire({ leaseMs: 30_000 });
    process.client.from('lock.recount', hangs());
    const error = rejection(lock.tryAcquire({ within: lease }));
    const released = lease.release().catch(() => {});
    expect(await stage.until(error)).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    process.client.heal();
    await stage.until(released);
    await stage.clock.advance(3_000);
    expect([stage.server.keys, process.session.holds]).toEqual([[], 0]);
  });

  test('waits patiently for an answer while its own time lasts, then gives up', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    process.client.from('lock.recount', refuses());
    const error = rejection(lock.acquire({ within: lease, waitMs: 1_000 }));
    await stage.clock.advance(900);
    process.client.heal();
    process.client.from('lock.recount', refuses());
    expect(await stage.until(error)).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    expect(process.client.sent('lock.recount').length).toBeGreaterThan(3);
    expect(lease.isHeld).toBe(true);
  });

  test('of a mutex is a mistake, told at once instead of waiting for oneself', async () => {
    const { process } = setup();
    const mutex = process.mutex('m');
    await mutex.using(async () => {
      await expect(mutex.acquire()).rejects.toMatchObject({ code: 'ELOCKCONFIG' });
    });
  });

  test('after the body of using has ended comes by the front door', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    let straggler: Promise<unknown> | undefined;
    await lock.using(async () => {
      straggler = process.pause(50).then(() => lock.using(async () => stage.server.count('a')));
    });
    expect(await stage.until(straggler ?? Promise.reject(new Error('not started')))).toBe(1);
    expect(process.client.sent('lock.acquire')).toHaveLength(2);
  });

  test('states counts one after the other, so that the last one stands', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    process.client.from('lock.recount', answers(30));
    const inner = await stage.until(lock.acquire({ within: lease }));
    const left = inner.release();
    const again = lock.acquire({ within: lease });
    await stage.until(Promise.all([left, again]));
    const counts = process.client.sent('lock.recount');
    expect(counts.map(({ args }) => args[1])).toEqual(['2', '1', '2']);
    expect(counts.map(({ sentMs }) => sentMs - 1_000)).toEqual([0, 30, 60]);
    expect(stage.server.count('a')).toBe(2);
  });
});
