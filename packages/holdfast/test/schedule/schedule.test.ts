/** The promises of a schedule, on clocks that the test moves. */
import { expect, test } from 'vitest';
import { START_MS, World } from './world.ts';

test('a slot runs once on one of three replicas, at its time, whatever their clocks say', async () => {
  const world = await World.open();
  const runs: { slot: number; atMs: number; who: number }[] = [];
  const schedules = [-30_000, 0, 30_000].map((skewMs, who) =>
    world.replica({ skewMs }).schedule('tick', { everyMs: 1_000 }, ({ slot }) => {
      runs.push({ slot: slot.getTime(), atMs: world.serverMs, who });
    }),
  );
  await world.advance(5_500);
  expect(runs.map(({ slot }) => slot - START_MS)).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
  for (const { slot, atMs } of runs) expect(atMs - slot).toBeLessThan(100);
  expect(runs.every(({ slot, atMs }) => atMs >= slot)).toBe(true);
  expect(schedules[0]?.next?.getTime()).toBe(START_MS + 6_000);
});
