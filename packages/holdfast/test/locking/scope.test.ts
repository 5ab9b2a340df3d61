/** Who counts as inside a `using`: what its body does while it runs, and nothing that outlives it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test, vi } from 'vitest';
import { type FencedLease, type Lease, LeaseHandle } from '../../src/locking/lease.ts';
import type { Owner } from '../../src/locking/owner.ts';
import { ownerInScope, runAs } from '../../src/locking/scope.ts';
import { gate } from '../support/gate.ts';
import { rejection } from '../support/rejection.ts';
import { Stage, type StageProcess } from './support/stage.ts';

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

const untilLost = ({ signal }: Lease): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', resolve));

describe('work that outlives a using that was lost', () => {
  test('enters as a newcomer, again and again', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const ended = gate();
    const fences: number[] = [];
    let lostFence = 0;
    let stray: Promise<void> | undefined;
    const work = lock.using(async (lease) => {
      lostFence = lease.fence;
      stray = ended.opened.then(async () => {
        for (let i = 0; i < 3; i += 1) await lock.using(({ fence }) => void fences.push(fence));
      });
      await untilLost(lease);
    });
    stage.server.delete('a');
    expect(await stage.until(rejection(work))).toMatchObject({ code: 'ELOCKLOST' });
    ended.open();
    await stage.until(stray ?? Promise.reject(new Error('not started')));
    expect(fences).toHaveLength(3);
    expect(Math.min(...fences)).toBeGreaterThan(lostFence);
  });

  test('may be the body itself, of a mutex too, once it has returned', async () => {
    const { stage, process } = setup();
    const mutex = process.mutex('m');
    const ended = gate();
    let stray: Promise<Lease> | undefined;
    const work = mutex.using(async (lease) => {
      stray = ended.opened.then(() => mutex.acquire());
      await untilLost(lease);
    });
    stage.server.delete('m');
    await stage.until(rejection(work));
    ended.open();
    expect((await stage.until(stray ?? Promise.reject(new Error('not started')))).isHeld).toBe(true);
  });

  test('is still inside while the body runs, and is told of the loss', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const codes: unknown[] = [];
    const work = lock.using(async (lease) => {
      await untilLost(lease);
      codes.push(await rejection(lock.acquire()), await rejection(lock.tryAcquire()));
      codes.push(await rejection(lock.using(async () => {})));
    });
    stage.server.delete('a');
    expect(await stage.until(rejection(work))).toMatchObject({ outcome: { status: 'fulfilled' } });
    expect(codes).toHaveLength(3);
    for (const code of codes) expect(code).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
  });

  test('of an inner using is inside the outer one until that has ended too', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const [innerEnded, outerEnded] = [gate(), gate()];
    let first: Promise<unknown> | undefined;
    let second: Promise<FencedLease> | undefined;
    let lostFence = 0;
    const work = lock.using(async (outer) => {
      lostFence = outer.fence;
      const inner = lock.using(async (lease) => {
        first = innerEnded.opened.then(() => rejection(lock.acquire()));
        second = outerEnded.opened.then(() => lock.acquire());
        await untilLost(lease);
      });
      expect(await rejection(inner)).toMatchObject({ code: 'ELOCKLOST' });
      innerEnded.open();
      expect(await first).toMatchObject({ code: 'ELOCKLOST', fence: lostFence });
    });
    await stage.clock.settle();
    stage.server.delete('a');
    expect(await stage.until(rejection(work))).toMatchObject({ outcome: { status: 'fulfilled' } });
    outerEnded.open();
    const lease = await stage.until(second ?? Promise.reject(new Error('not started')));
    expect(lease.isHeld).toBe(true);
    expect(lease.fence).toBeGreaterThan(lostFence);
  });

  test('is told of the loss when it names the lost lease itself', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    let lost: FencedLease | undefined;
    const work = lock.using(async (lease) => {
      lost = lease;
      await untilLost(lease);
    });
    stage.server.delete('a');
    await stage.until(rejection(work));
    const within = lost ?? (await lock.acquire());
    expect(await rejection(lock.acquire({ within }))).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
  });
});

describe('work that outlives an inner using', () => {
  test('enters under the outer one, which still runs', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    await lock.using(async (outer) => {
      const ended = gate();
      let stray: Promise<FencedLease> | undefined;
      await lock.using(async () => {
        stray = ended.opened.then(() => lock.acquire());
      });
      ended.open();
      const lease = await stage.until(stray ?? Promise.reject(new Error('not started')));
      expect(lease.fence).toBe(outer.fence);
      await lease.release();
    });
    expect(process.client.sent('lock.acquire')).toHaveLength(1);
  });

  test('enters under the outer one also when it waited for a sibling as the inner one ended', async () => {
    const { stage, process } = setup();
    const lock = process.lock('a');
    const work = lock.using(async (outer) => {
      let sibling: FencedLease | undefined;
      let stray: Promise<FencedLease> | undefined;
      await lock.using(async () => {
        sibling = await lock.acquire();
        stray = lock.acquire();
        await stage.clock.settle();
      });
      // The outer body waits for it: by the front door it would wait for the outer body.
      expect(await sibling?.release()).toBe(true);
      const lease = await stray;
      expect(lease?.fence).toBe(outer.fence);
      await lease?.release();
    });
    await stage.until(work);
    expect(stage.server.keys).toEqual([]);
  });
});

describe('a body that starts its own successor', () => {
  test.each([
    ['as it ends', 0],
    ['while it still runs', 3],
  ])('%s leaves no chain of ended bodies behind it', async (_, longerTurns) => {
    const { process } = setup();
    const lease = await process.lock('a').acquire();
    const owner = LeaseHandle.ownerOf(lease, process.session) as Owner;
    const other = process.lockProtocol('b');
    const opened = vi.spyOn(AsyncLocalStorage.prototype, 'run');
    await new Promise<void>((resolve) => {
      const round = (left: number): void => {
        // What every acquisition asks first.
        ownerInScope(process.session, other);
        if (left === 0) resolve();
        else
          void runAs(owner, async () => {
            void Promise.resolve().then(() => round(left - 1));
            for (let turn = 0; turn < longerTurns; turn += 1) await null;
          });
      };
      round(1_000);
    });
    const scopes = opened.mock.calls.map(([store]) => store as { readonly outer: unknown });
    opened.mockRestore();
    expect(scopes).toHaveLength(1_000);
    let depth = 0;
    for (let scope: unknown = scopes.at(-1); scope !== undefined; depth += 1) {
      scope = (scope as { readonly outer: unknown }).outer;
    }
    expect(depth).toBeLessThan(10);
  });
});
