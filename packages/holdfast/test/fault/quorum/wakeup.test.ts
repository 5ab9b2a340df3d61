/** Who waits listens on every server that is there; one message is enough, and nobody polls. */
import { describe, expect, test } from 'vitest';
import { useLeakCheck } from '../../support/leak-check.ts';
import { listeners } from '../../support/locks/held.ts';
import { KINDS, type Kind, MUTEX } from '../../support/locks/kind.ts';
import { wokenBy } from '../../support/locks/woken.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { steady } from '../../support/steady.ts';
import { waitFor } from '../../support/wait-for.ts';
import { timed, useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers);
const quorum = useQuorumBench(servers);
const STEADY = steady();

/** Without a message a waiter comes back after seconds: at least so many. */
const SLEEP_MS_MIN = 3_750;

async function listening(kind: Kind, name: string, places: readonly number[]): Promise<void> {
  for (const i of places) {
    await waitFor(async () => (await listeners(quorum.server(i).port, kind, name)) === 1, {
      limitMs: 15_000,
      what: `the waiter to listen on server ${i}`,
    });
  }
}

describe.each(KINDS)('a waiter for a $name', STEADY, (kind) => {
  test('listens on all servers, is woken by the release, and listens nowhere after', async () => {
    const locks = await quorum.assembled(kind);
    const others = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(others, name).acquire();
    const waiting = kind.of(locks, name).acquire();
    await listening(kind, name, [0, 1, 2, 3, 4]);
    await (await wokenBy(name, () => lease.release(), waiting)).release();
    for (const { port } of quorum.servers) {
      await waitFor(async () => (await listeners(port, kind, name)) === 0);
    }
  });

  test('is woken although two servers are frozen by then', async () => {
    const locks = await quorum.assembled(kind);
    const others = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(others, name).acquire();
    const waiting = kind.of(locks, name).acquire();
    await listening(kind, name, [0, 1, 2, 3, 4]);
    for (const i of [1, 2]) quorum.server(i).freeze();
    await (await wokenBy(name, () => lease.release(), waiting)).release();
    await quorum.resume([1, 2]);
    await quorum.untilFree(kind, name, 10_000);
  });

  test('is woken by the message of a single server', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, {}, proxies);
    const name = quorum.name();
    await quorum.take(kind, name, [0, 1, 2, 3, 4]);
    const waiting = kind.of(locks, name).acquire();
    await listening(kind, name, [0, 1, 2, 3, 4]);
    const release = async (): Promise<void> => {
      await quorum.remove(name, [0, 1, 2, 3, 4]);
      await ask(quorum.server(3).port, ['PUBLISH', kind.channel(name), '0']);
    };
    await (await wokenBy(name, release, waiting)).release();
  });

  test('listens again on a server that was away, and does not poll', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, {}, proxies);
    const others = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(others, name).acquire();
    const waiting = kind.of(locks, name).acquire();
    await listening(kind, name, [0, 1, 2, 3, 4]);
    for (const proxy of proxies) proxy.clearHistory();
    for (const proxy of proxies.slice(0, 2)) proxy.cutAll();
    const [, tookMs] = await timed(() => listening(kind, name, [0, 1, 2, 3, 4]));
    const attempts = proxies.map(
      ({ history }) => history.filter((args) => kind.acquires(args) && args.includes(name)).length,
    );
    // At most one for each connection that was made again, one behind a subscription, one for a sleep that ended.
    const most = 6 + Math.floor(tookMs / SLEEP_MS_MIN);
    for (const count of attempts) expect(count).toBeLessThanOrEqual(most);
    await (await wokenBy(name, () => lease.release(), waiting)).release();
  });
});

test('a waiter listens on a server that was away when it began to wait', STEADY, async () => {
  await quorum.server(4).kill();
  const [locks, others] = [quorum.session(), quorum.session()];
  const name = quorum.name();
  const lease = await others.mutex(name).acquire();
  const waiting = locks.mutex(name).acquire();
  await listening(MUTEX, name, [0, 1, 2, 3]);
  await quorum.server(4).restart();
  // Found by its next attempt, a few seconds later at most.
  await listening(MUTEX, name, [4]);
  await (await wokenBy(name, () => lease.release(), waiting)).release();
  // The one that has just started must be sent the script as a whole, which takes longer than a majority does.
  await quorum.untilFree(MUTEX, name);
});
