/** Redisson and holdfast on one name: one owner at a time, and fences that grow from one owner to the next. */
import { expect, test } from 'vitest';
import { expectGrowing } from '../packages/holdfast/test/support/locks/fences.ts';
import { useChildren } from '../packages/holdfast/test/support/processes/child.ts';
import { useRedis } from '../packages/holdfast/test/support/servers/redis-server.ts';
import { contest, describeShares } from './support/contest.ts';
import { upTo } from './support/extent.ts';
import { journalIn } from './support/journal.ts';
import { endAll, startHoldfasts, startRedisson } from './support/participant.ts';
import { hasRedisson } from './support/programs.ts';

const DURATION_MS = upTo(3_000, 10_000);
const SECTION_MS = 1;
/** Several callers in each process, so that a lock passes from caller to caller inside a process too. */
const CALLERS = 5;

const redis = useRedis();
useChildren();

test.runIf(hasRedisson)(
  'two Redisson clients and four of our processes never own a lock at once',
  async () => {
    const { port } = redis;
    const [plain, fenced, ...own] = await Promise.all([
      startRedisson(port, 'java-lock'),
      startRedisson(port, 'java-fenced'),
      ...(await startHoldfasts(port, 4)),
    ]);
    const { turns, shares } = await contest(
      [
        { participant: plain, kind: 'lock', threads: CALLERS },
        { participant: fenced, kind: 'fenced', threads: CALLERS },
        ...own.map((participant) => ({ participant, kind: 'lock', threads: CALLERS }) as const),
      ],
      {
        name: 'guard',
        durationMs: DURATION_MS,
        sectionMs: SECTION_MS,
        journal: journalIn(redis.dir, 'guard'),
      },
    );
    console.info(describeShares(shares));
    for (const { who, turns } of shares) expect(turns, `the turns of ${who}`).toBeGreaterThan(0);
    // RLock gives out no fence. The fences of RFencedLock come from the counter that ours come from.
    expectGrowing(turns.filter(({ who }) => who !== 'java-lock').map(({ fence }) => fence));
    await endAll([plain, fenced, ...own]);
  },
);
