/**
 * What a server's clock may do to fences, at an embedded node whose clock the test sets: both sides of what
 * docs/concepts/fences.md promises.
 */

import { EmbeddedNode } from 'holdfast-testing';
import { afterEach, describe, expect, test } from 'vitest';
import { Locks } from '../../../src/index.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const TTL_MS = 60_000;
const DAY_MS = 86_400_000;
const COUNTER = 'redisson_lock_token:{name}';

/** The clock of a server, which somebody sets. */
class ServerTime extends FakeClock {
  aheadMs = 0;

  override wallMs(): number {
    return super.wallMs() + this.aheadMs;
  }
}

let end: () => Promise<void> = async () => {};
afterEach(() => end());

function setup(): { time: ServerTime; node: EmbeddedNode; take: () => Promise<number> } {
  const time = new ServerTime();
  const node = new EmbeddedNode({ clock: time });
  const locks = new Locks(node.client(), { fenceTtlMs: TTL_MS, leaseMs: 1_000 });
  end = async () => {
    await locks.destroy();
    await node.close();
  };
  const take = (): Promise<number> => locks.lock('name').using(({ fence }) => fence);
  return { time, node, take };
}

describe('fences grow', () => {
  test('when a clock that ran a day ahead is put right, however long the name is not used', async () => {
    const { time, node, take } = setup();
    time.aheadMs = DAY_MS;
    const ahead = await take();
    time.aheadMs = 0;
    const next = await take();
    // A lone caller has reserved 64 for those who might have come.
    expect(next).toBe(ahead + 65);
    time.aheadMs = 20 * TTL_MS;
    expect(await node.command('EXISTS', COUNTER)).toBe(1);
    expect(await take()).toBe(next + 1);
    // A day and a while later the clock has passed them, and the counter is gone.
    time.aheadMs = DAY_MS + 2 * TTL_MS;
    expect(await node.command('EXISTS', COUNTER)).toBe(0);
    expect(await take()).toBeGreaterThan(next + 1);
  });

  test('when the clock is set back by any time while the counter is there', async () => {
    const { time, take } = setup();
    const fences = [await take()];
    for (const aheadMs of [-1_000, -DAY_MS, -DAY_MS + 10 * TTL_MS, -2 * DAY_MS]) {
      time.aheadMs = aheadMs;
      fences.push(await take());
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
  });

  test('when the counter has expired and the clock is set back by no more than its life', async () => {
    const { time, node, take } = setup();
    const first = await take();
    time.aheadMs = TTL_MS + 2_000;
    expect(await node.command('EXISTS', COUNTER)).toBe(0);
    time.aheadMs -= TTL_MS;
    expect(await take()).toBeGreaterThan(first);
  });
});

test('a fence is smaller when the counter has expired and the clock is set back by more than its life', async () => {
  const { time, node, take } = setup();
  const first = await take();
  time.aheadMs = TTL_MS + 2_000;
  expect(await node.command('EXISTS', COUNTER)).toBe(0);
  time.aheadMs -= TTL_MS + 3_000;
  expect(await take()).toBeLessThan(first);
});
