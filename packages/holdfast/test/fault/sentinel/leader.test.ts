/** While a planned failover is under way, the sentinels do not all say the same, and one of them not always the truth. */

import { afterEach, describe, expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { ourConnections } from '../../support/servers/our-connections.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import type { RedisServer } from '../../support/servers/redis-server.ts';
import { namedPort, TRY_LIMIT_MS, useSentinels } from '../../support/servers/sentinel-group.ts';
import { waitFor } from '../../support/wait-for.ts';
import { SENTINEL_CLIENTS, sentinelSession } from './support.ts';

const group = useSentinels();
useLeakCheck();
const bench = useBench();

/** As many as come while the sentinels disagree, which they do for a second or two. */
const ROUNDS = 12;

/** A failover that is still being led would undo what the next test sets up. */
afterEach(async () => {
  await group.untilSettled();
  await ask((await group.primary()).port, ['FLUSHALL']);
}, 180_000);

interface Failover {
  readonly leader: RedisServer;
  readonly before: RedisServer;
  readonly after: RedisServer;
}

/** From here on every answer of the sentinel that leads must be the new primary. */
async function untilLeaderNamesAnother(): Promise<Failover> {
  const before = await group.primary();
  const { leader, port } = await waitFor(
    async () => {
      const leader = await group.beginFailOver();
      const another = async (): Promise<number | false> => {
        const named = await namedPort(leader);
        return named !== before.port && named;
      };
      return { leader, port: await waitFor(another, { limitMs: TRY_LIMIT_MS }) };
    },
    { what: 'the leader to name another', limitMs: 90_000 },
  );
  const after = group.servers.find((server) => server.port === port);
  if (after === undefined) throw new Error(`the leader names port ${port}, which none of ours has`);
  return { leader, before, after };
}

describe.each(SENTINEL_CLIENTS)('by %s', { timeout: 240_000 }, (kind) => {
  test('who asks the sentinel that leads a failover is led to the new primary, not to the old one', async () => {
    // Some clients need a primary that their own finder finds, once in a process.
    await warmUp(sentinelSession(bench, group, kind), LOCK);
    const { leader, after } = await untilLeaderNamesAnother();
    const addresses = [{ host: '127.0.0.1', port: leader.port }];
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = bench.name();
      const locks = sentinelSession(bench, { addresses, name: group.name }, kind);
      const lease = await locks.lock(name).acquire();
      expect(await held(after.port, LOCK, name), `round ${round}`).not.toBeNull();
      await lease.release();
    }
  });

  test('who has heard of a failover is granted nothing by the old primary any more', async () => {
    const old = sentinelSession(bench, group, kind);
    await warmUp(old, LOCK);
    const { before, after } = await untilLeaderNamesAnother();
    await waitFor(async () => (await ourConnections(before.port)).length === 0, {
      what: 'the old one to be left',
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      const sessions = [old, sentinelSession(bench, group, kind), sentinelSession(bench, group, kind)];
      const names = sessions.map(() => bench.name());
      const leases = await Promise.all(sessions.map((locks, i) => locks.lock(names[i] ?? '').acquire()));
      for (const name of names) expect(await held(after.port, LOCK, name), `round ${round}`).not.toBeNull();
      await Promise.all(leases.map((lease) => lease.release()));
    }
  });
});
