/**
 * Redisson's waiters have no place in our line and can only try when they hear of a release. Beside processes of ours
 * that are never without a wish they still get their turns: as many as each of ours, to within a fifth.
 */
import { expect, test } from 'vitest';
import { useChildren } from '../packages/holdfast/test/support/processes/child.ts';
import { useRedis } from '../packages/holdfast/test/support/servers/redis-server.ts';
import { contest, describeShares, turnsIn } from './support/contest.ts';
import { upTo } from './support/extent.ts';
import { journalIn } from './support/journal.ts';
import { endAll, startHoldfasts, startRedisson } from './support/participant.ts';
import { hasRedisson } from './support/programs.ts';

/** Some thousand turns: by chance alone a share of a sixth then varies by a few percent. */
const DURATION_MS = upTo(8_000, 20_000);
const SECTION_MS = 2;
const NODE_PROCESSES = 4;
const SHARE_MIN = 0.8;
const SHARE_MAX = 1.2;

const redis = useRedis();
useChildren();

test.runIf(hasRedisson).each([{ clients: 1 }, { clients: 2 }])(
  `$clients Redisson client(s) beside ${NODE_PROCESSES} busy processes get equal turns to within 20 %`,
  async ({ clients }) => {
    const { port } = redis;
    const java = await Promise.all(
      Array.from({ length: clients }, (_, index) => startRedisson(port, `java-${index + 1}`)),
    );
    const all = [...java, ...(await startHoldfasts(port, NODE_PROCESSES))];
    for (const participant of all) await participant.warmUp('lock');
    const name = `share-${clients}`;
    const { shares } = await contest(
      all.map((participant) => ({ participant, kind: 'lock' })),
      { name, durationMs: DURATION_MS, sectionMs: SECTION_MS, journal: journalIn(redis.dir, name) },
    );
    await endAll(all);
    const equal = turnsIn(shares) / all.length;
    console.info(`equal would be ${equal.toFixed(0)} of ${describeShares(shares)}`);
    for (const { who, turns } of shares.filter(({ who }) => who.startsWith('java'))) {
      expect(turns / equal, `the share of ${who}`).toBeGreaterThan(SHARE_MIN);
      expect(turns / equal, `the share of ${who}`).toBeLessThan(SHARE_MAX);
    }
  },
);
