import { expect, test } from 'vitest';
import { Violation } from '../support/violation.ts';
import { waitFor } from '../support/wait-for.ts';

test('a wait gives the first truthy answer', async () => {
  let asked = 0;
  expect(await waitFor(() => (++asked < 3 ? undefined : { asked }))).toEqual({ asked: 3 });
});

test('a wait that is in vain says what was awaited and what was last seen', async () => {
  const waiting = waitFor(async () => false, { limitMs: 20, what: 'the moon' });
  await expect(waiting).rejects.toThrow('waited 20 ms for the moon, and it was still false');
});

test('a wait whose process stood still past the limit asks once more', async () => {
  let asked = 0;
  const standingStill = (): boolean => {
    asked += 1;
    const endMs = performance.now() + 50;
    while (asked === 1 && performance.now() < endMs);
    return asked > 1;
  };
  expect(await waitFor(standingStill, { limitMs: 20 })).toBe(true);
});

test('a condition that throws is asked again, and is the cause when the limit passes', async () => {
  let asked = 0;
  const grumble = (enough: number) => () => {
    asked += 1;
    if (asked < enough) throw new Error(`asked ${asked} times`);
    return true;
  };
  expect(await waitFor(grumble(3))).toBe(true);
  const waiting = waitFor(grumble(Number.POSITIVE_INFINITY), { limitMs: 20, what: 'peace' });
  await expect(waiting).rejects.toThrow(/for peace, and it threw Error: asked/);
});

test('a condition that finds a violation is not asked again', async () => {
  let asked = 0;
  const violated = (): never => {
    asked += 1;
    throw new Violation('two owners at once');
  };
  await expect(waitFor(violated)).rejects.toBeInstanceOf(Violation);
  expect(asked).toBe(1);
});
