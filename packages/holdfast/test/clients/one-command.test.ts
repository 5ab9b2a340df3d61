/** One question to a server, and what becomes of it when the one who asks is closed. */
import { expect, test } from 'vitest';
import type { NodeAddress } from '../../src/clients/cluster/address.ts';
import { SlotMap } from '../../src/clients/cluster/slot-map.ts';
import type { Driver } from '../../src/clients/connection/raw-connection.ts';
import { oneCommand } from '../../src/clients/one-command.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { ScriptedCluster } from '../locking/support/scripted-cluster.ts';
import { FakeClock } from '../support/fake-clock.ts';

const NODES: readonly NodeAddress[] = [1, 2, 3, 4].map((port) => ({ host: 'n', port }));

/** Nodes that accept and never answer. */
class SilentCluster extends ScriptedCluster {
  readonly dialled: string[] = [];

  override seeds(): readonly NodeAddress[] {
    return NODES;
  }

  override drive(address: NodeAddress): Driver {
    const driver = super.drive(address);
    this.silent.add(driver.description);
    return {
      ...driver,
      dial: (events, signal) => {
        this.dialled.push(driver.description);
        return driver.dial(events, signal);
      },
    };
  }
}

test('a question after the close is a failure at once, and nobody is dialled', async () => {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const cluster = new SilentCluster();
  const answer = oneCommand(
    cluster.drive({ host: 'n', port: 1 }),
    ['CLUSTER', 'SLOTS'],
    timers,
    AbortSignal.abort(),
  );
  await clock.settle();
  expect(cluster.dialled).toEqual([]);
  expect(timers.size).toBe(0);
  expect(await answer).toMatchObject({ kind: 'unreachable', text: expect.stringContaining('closed') });
});

test('a map that is being read when the client is closed is not asked of any further node', async () => {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const cluster = new SilentCluster();
  const closing = new AbortController();
  const map = new SlotMap(cluster, timers, systemRandom, { changed: () => {}, signal: closing.signal });
  const reading = map.read();
  await clock.advance(300);
  expect(cluster.dialled).toHaveLength(2);
  closing.abort();
  await clock.settle();
  expect(cluster.dialled).toHaveLength(2);
  expect(clock.refdTimers).toBe(0);
  expect(await reading).toMatchObject({ kind: 'unreachable' });
});
