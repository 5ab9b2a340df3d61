/** One question to a server, and what becomes of it when the one who asks is closed. */
import { expect, test } from 'vitest';
import { inquire } from '../../src/clients/inquiry.ts';
import type { NodeAddress } from '../../src/clients/node-address.ts';
import type { NodeDriver } from '../../src/clients/wire.ts';
import { Agenda } from '../../src/core/agenda.ts';
import { systemRandom } from '../../src/core/random.ts';
import { SlotMap } from '../../src/topologies/slot-map.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ScriptedCluster } from './support/scripted-cluster.ts';

const NODES: readonly NodeAddress[] = [1, 2, 3, 4].map((port) => ({ host: 'n', port }));

/** Nodes that accept and never answer. */
class SilentCluster extends ScriptedCluster {
  readonly dialled: string[] = [];

  override seeds(): readonly NodeAddress[] {
    return NODES;
  }

  override drive(address: NodeAddress): NodeDriver {
    const driver = super.drive(address);
    this.silent.add(driver.description);
    return {
      ...driver,
      dial: (events) => {
        this.dialled.push(driver.description);
        return driver.dial(events);
      },
    };
  }
}

test('a question after the close is a failure at once, and nobody is dialled', async () => {
  const clock = new FakeClock();
  const agenda = new Agenda(clock);
  const cluster = new SilentCluster();
  const answer = inquire(
    cluster.drive({ host: 'n', port: 1 }),
    ['CLUSTER', 'SLOTS'],
    agenda,
    AbortSignal.abort(),
  );
  await clock.settle();
  expect(cluster.dialled).toEqual([]);
  expect(agenda.size).toBe(0);
  expect(await answer).toMatchObject({ kind: 'unreachable', text: expect.stringContaining('closed') });
});

test('a map that is being read when the client is closed is not asked of any further node', async () => {
  const clock = new FakeClock();
  const agenda = new Agenda(clock);
  const cluster = new SilentCluster();
  const closing = new AbortController();
  const map = new SlotMap(cluster, agenda, systemRandom, { changed: () => {}, signal: closing.signal });
  const reading = map.read();
  await clock.advance(300);
  expect(cluster.dialled).toHaveLength(2);
  closing.abort();
  await clock.settle();
  expect(cluster.dialled).toHaveLength(2);
  expect(clock.refdTimers).toBe(0);
  expect(await reading).toMatchObject({ kind: 'unreachable' });
});
