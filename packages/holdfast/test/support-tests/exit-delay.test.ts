import { expect, test } from 'vitest';
import { startChild, useChildren } from '../support/processes/child.ts';
import { ExitDelay } from '../support/processes/exit-delay.ts';

useChildren();

test('a process that stands still does not live on', () => {
  const exitDelay = new ExitDelay();
  const untilMs = performance.now() + 500;
  while (performance.now() < untilMs);
  expect(exitDelay.ms).toBeLessThanOrEqual(50);
});

test('a process that a timer holds lives on, and one that is free does not', async () => {
  const livedOn = async (holdMs: number): Promise<number> => {
    const child = startChild<{ leftAfterMs?: number }>('test/support-tests/fixtures/lingerer.ts', [
      `${holdMs}`,
    ]);
    const { leftAfterMs = Number.NaN } = await child.next(({ leftAfterMs }) => leftAfterMs !== undefined);
    return leftAfterMs;
  };
  const [free, held] = await Promise.all([livedOn(0), livedOn(4_000)]);
  expect(held).toBeGreaterThan(free);
  expect(held).toBeGreaterThan(500);
});
