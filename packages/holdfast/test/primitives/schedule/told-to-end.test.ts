/** The end of a run: what its body does when it is told to end, and what it throws, decide what is recorded. */
import { expect, test } from 'vitest';
import { World } from './world.ts';

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test.each([
  ['returns: it has done its work', () => {}, 'done'],
  ['throws: another replica may try again', (signal: AbortSignal) => signal.throwIfAborted(), 'retry'],
] as const)('a body that was told to end and %s', async (_, end, state) => {
  const world = await World.open();
  const schedule = world.replica().schedule('tick', { everyMs: 60_000, attempts: 2 }, async ({ signal }) => {
    await untilAborted(signal);
    end(signal);
  });
  await world.advance(61_000);
  expect(await world.node.command('HGET', 'holdfast_job:{tick}', 'state')).toBe('running');
  await world.until(schedule.stop());
  expect(await world.node.command('HGET', 'holdfast_job:{tick}', 'state')).toBe(state);
  expect(await world.node.command('EXISTS', 'holdfast_job_lock:{tick}')).toBe(0);
});

test.each([
  ['an object that is no string', Object.create(null)],
  [
    'an error whose message cannot be read',
    Object.defineProperty(new Error('x'), 'message', { get: () => Symbol('x') }),
  ],
])('whatever a body throws, its end is recorded and its lock freed: %s', async (_, thrown) => {
  const world = await World.open();
  const failures: unknown[] = [];
  const schedule = world.replica().schedule('tick', { everyMs: 60_000 }, () => {
    throw thrown;
  });
  schedule.on('failed', ({ error }) => failures.push(error));
  await world.advance(61_000);
  expect(failures).toEqual([thrown]);
  expect(await world.node.command('HGET', 'holdfast_job:{tick}', 'state')).toBe('failed');
  expect(await world.node.command('EXISTS', 'holdfast_job_lock:{tick}')).toBe(0);
});
