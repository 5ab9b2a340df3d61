/** When processes without a line let chance decide who asks first after a release. */
import { expect, test } from 'vitest';
import { courtesyMs } from '../../../src/locking/waiting/courtesy.ts';
import { ScriptedTopology } from '../support/scripted-topology.ts';

const PERIOD_MS = 2_000;

/** A process for which chance says a half, and whose servers' time is `aheadMs` ahead of its own; null: it is not known. */
function setUp(aheadMs: number | null) {
  const topology = new ScriptedTopology();
  const { clock, timers, options } = topology;
  Object.assign(options, { random: { fraction: () => 0.5 } });
  if (aheadMs !== null) Object.assign(topology, { serverTimeMs: (ms: number) => ms + aheadMs });
  const startMs = clock.monotonicMs();
  /** The pause after a release at that moment of what began at the other one. */
  const pauseAt = async (sinceMs: number, releasedMs: number): Promise<number> => {
    await clock.advance(startMs + releasedMs - clock.monotonicMs());
    return courtesyMs({ topology, timers, options }, startMs + sinceMs);
  };
  return { startMs, pauseAt };
}

/** The servers' time begins a period at the start. */
const aheadOf = (startMs: number): number => 1_000 * PERIOD_MS - startMs;

test('only the first release of a period of the servers is followed by a pause', async () => {
  const { pauseAt } = setUp(aheadOf(setUp(null).startMs));
  expect(await pauseAt(0, 1_990)).toBe(0);
  expect(await pauseAt(1_990, 2_010)).toBeGreaterThan(0);
  expect(await pauseAt(2_010, 2_030)).toBe(0);
  expect(await pauseAt(2_030, 3_999)).toBe(0);
  expect(await pauseAt(3_999, 4_000)).toBeGreaterThan(0);
});

test('the pauses are short and long in turn', async () => {
  const { pauseAt } = setUp(aheadOf(setUp(null).startMs));
  const pauses: number[] = [];
  for (let period = 1; period <= 5; period += 1) {
    pauses.push(await pauseAt(period * PERIOD_MS - 1, period * PERIOD_MS));
  }
  expect(pauses).toEqual([50, 100, 200, 25, 50]);
});

test('nobody pauses who does not know the time of the servers', async () => {
  const { pauseAt } = setUp(null);
  expect(await pauseAt(1_990, 2_010)).toBe(0);
});
