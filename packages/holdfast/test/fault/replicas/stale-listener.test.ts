/**
 * The primary becomes a replica of its replica while all connections stay open, as behind an address that moves. Scripts are
 * refused there and go to the new primary. What that one publishes reaches its replica too: who still listens there must not
 * believe a grant that the new primary has not counted as received.
 */
import { describe, expect, test } from 'vitest';
import { LockLostError, LockUnavailableError, LockUnknownError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { CriticalSection } from '../../support/locks/critical-section.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { ask, asStrings } from '../../support/servers/raw-redis.ts';
import { roleOf } from '../../support/servers/replicated-servers.ts';
import { elapse, waitFor } from '../../support/wait-for.ts';
import { useReplication } from './support.ts';

const { primary, replicas, group } = useReplication();
useLeakCheck(group.servers);
const bench = useBench();

const SESSIONS = 4;
/** Over before a new owner would state its lease anew, and learn that it has none. */
const SECTION_MS = 2;
const TURNS = 100;
/** So often at least a session connects to the old server again on the average, for scripts or to listen. */
const REFUSALS = 4;

const HARMLESS = [LockLostError, LockUnavailableError, LockUnknownError];

/** A claim ends while this process stands still, and a question crosses the change of places: neither is a second owner. */
function pass(error: unknown): void {
  if (!HARMLESS.some((kind) => error instanceof kind)) throw error;
}

/** An address that moves late has sessions let in by the old server again, and again refused. */
const MOVES = [{ moves: 'before' }, { moves: 'after' }] as const;

describe.each(MOVES)('behind an address that moves $moves the servers change places', ({ moves }) =>
  test.each(KINDS)(
    'nobody believes a grant of a $name heard at a server that has become a replica',
    async (kind) => {
      const proxy = await bench.proxy(primary.port);
      const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => bench.session(proxy.port)));
      for (const locks of sessions) await warmUp(locks, kind);
      const name = bench.name();
      const section = new CriticalSection();
      let isOver = false;
      const work = Promise.all(
        sessions.map(async (locks) => {
          while (!isOver) {
            await kind
              .of(locks, name)
              .using((lease) => section.run(() => elapse(SECTION_MS), lease))
              .catch(pass);
          }
        }),
      );
      const turns = (count: number): Promise<unknown> => {
        const until = section.runs + count;
        return Promise.race([
          work,
          waitFor(() => section.runs >= until, { what: `${count} turns`, limitMs: 60_000 }),
        ]);
      };
      await turns(TURNS);
      const [next] = replicas;
      if (moves === 'before') proxy.leadTo(next.port);
      // Planned: writes wait until the replica has them all, so no grant is lost.
      await ask(primary.port, ['FAILOVER', 'TO', '127.0.0.1', `${next.port}`]);
      await waitFor(async () => (await roleOf(next)) === 'master' && (await roleOf(primary)) === 'slave', {
        what: 'the servers to change places',
      });
      if (moves === 'after') {
        const refused = proxy.connectionsMade + REFUSALS * SESSIONS;
        await waitFor(() => proxy.connectionsMade >= refused, { what: 'sessions to be let in and refused' });
        proxy.leadTo(next.port);
      }
      await turns(TURNS);
      await waitFor(
        async () => asStrings(await ask(primary.port, ['PUBSUB', 'CHANNELS', 'holdfast_*'])).length === 0,
        {
          what: 'the listeners to leave the server that has become a replica',
        },
      );
      // Served by messages again: asks alone come once a second.
      await turns(TURNS);
      isOver = true;
      await work;
      expect(section.runs).toBeGreaterThanOrEqual(3 * TURNS);
    },
  ),
);
