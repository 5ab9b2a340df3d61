/** redlock, redsync (Go) and redis-py poll the same keys as our mutex: one owner at a time, and everybody gets in. */
import { expect, test } from 'vitest';
import { useChildren } from '../packages/holdfast/test/support/processes/child.ts';
import { useRedis } from '../packages/holdfast/test/support/servers/redis-server.ts';
import { contest, describeShares } from './support/contest.ts';
import { upTo } from './support/extent.ts';
import { journalIn } from './support/journal.ts';
import {
  endAll,
  type Participant,
  startHoldfasts,
  startRedisPy,
  startRedlock,
  startRedsync,
} from './support/participant.ts';
import { hasRedisPy, hasRedsync } from './support/programs.ts';

const DURATION_MS = upTo(15_000, 40_000);
const SECTION_MS = 2;
const NODE_PROCESSES = 4;
/**
 * A poller comes for the lock now and then. One that takes it again at once is not what is tested here: nobody is told of
 * its releases, so it keeps everybody out, its own kind included.
 */
const PAUSE_MS = 200;

const redis = useRedis();
useChildren();

const pollers = [
  { library: 'redlock', isThere: true, start: startRedlock },
  { library: 'redsync', isThere: hasRedsync(), start: startRedsync },
  { library: 'redis-py', isThere: hasRedisPy(), start: startRedisPy },
].filter(({ isThere }) => isThere);

test.each(pollers)(
  '$library and our mutex exclude each other, and all get in',
  async ({ library, start }) => {
    const poller: Participant = await start(redis.port, library);
    const own = await startHoldfasts(redis.port, NODE_PROCESSES);
    const { shares } = await contest(
      [
        { participant: poller, kind: 'mutex', pauseMs: PAUSE_MS },
        ...own.map((participant) => ({ participant, kind: 'mutex' }) as const),
      ],
      {
        name: library,
        durationMs: DURATION_MS,
        sectionMs: SECTION_MS,
        journal: journalIn(redis.dir, library),
      },
    );
    await endAll([poller, ...own]);
    console.info(describeShares(shares));
    for (const { who, turns } of shares) expect(turns, `the turns of ${who}`).toBeGreaterThan(0);
  },
);
