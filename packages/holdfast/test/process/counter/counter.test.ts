/** A plain counter in Redis, raised by many callers of several processes: exact under a lock, wrong without. */

import { describe, expect, test } from 'vitest';
import { type Extent, rowsOf, upTo } from '../../support/extent.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectGrowing } from '../../support/locks/fences.ts';
import { useChildren } from '../../support/processes/child.ts';
import { commandCounts } from '../../support/servers/commands.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { CLIENT_KINDS } from '../children/store.ts';
import { START_LIMIT_MS } from '../limits.ts';
import { readTally, runCounting } from './counting-processes.ts';
import type { CounterTask } from './task.ts';

const INCREMENTS = upTo(1_200, 20_000);
const CALLERS = 25;
/** Enough for a control: a hundred callers without a lock lose nearly everything. */
const INCREMENTS_OF_CONTROL = 1_000;
/** With a round trip for each step and two busy cores. Seconds on a quiet machine. */
const LIMIT_MS = 240_000;

interface Case extends Extent {
  readonly guard: 'lock' | 'mutex';
  readonly handovers: number | null;
}

const CASES = rowsOf<Case>([
  { guard: 'lock', handovers: null },
  { guard: 'lock', handovers: 0, isMatrix: true },
  { guard: 'mutex', handovers: null, isMatrix: true },
  { guard: 'mutex', handovers: 0 },
]);

const redis = useRedis();
useLeakCheck(redis, { ignoreKeys: [/^redisson_lock_token:/, /^counter$/, /^log$/] });
useChildren();

/** One process for each kind of client, all on the same lock. */
function tasks(guard: CounterTask['guard'], handovers: number | null, increments: number): CounterTask[] {
  const share = increments / CLIENT_KINDS.length;
  const { port } = redis;
  return CLIENT_KINDS.map((client) => {
    return { port, client, guard, callers: CALLERS, increments: share, handovers, leaseMs: 30_000 };
  });
}

describe('a counter of four processes', { timeout: LIMIT_MS + START_LIMIT_MS }, () => {
  test('loses updates without a lock', async () => {
    await runCounting(tasks('none', null, INCREMENTS_OF_CONTROL), LIMIT_MS);
    const { counter, log } = await readTally(redis.port);
    expect(log).toHaveLength(INCREMENTS_OF_CONTROL);
    expect(counter).toBeLessThan(INCREMENTS_OF_CONTROL);
  });

  for (const { guard, handovers } of CASES) {
    const how = handovers === null ? 'that passes from caller to caller' : 'taken anew by each caller';
    test(`is exact under a ${guard} ${how}`, async () => {
      const counts = await commandCounts(redis);
      const lines = await runCounting(tasks(guard, handovers, INCREMENTS), LIMIT_MS);
      const { counter, log } = await readTally(redis.port);
      expect(counter).toBe(INCREMENTS);
      expect(log).toHaveLength(INCREMENTS);
      if (guard === 'lock') expectGrowing(log);
      expect(
        lines.flatMap(({ trouble = [], losses = 0 }) => (losses > 0 ? `${losses} lost` : trouble)),
      ).toEqual([]);

      // The two ways really are two: one hold serves many callers, or each caller has its own.
      const { evalsha = 0 } = await counts.delta();
      if (handovers === null) expect(evalsha).toBeLessThan(INCREMENTS);
      else expect(evalsha).toBeGreaterThanOrEqual(2 * INCREMENTS);
    });
  }
});
