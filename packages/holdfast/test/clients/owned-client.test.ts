import { expect, test } from 'vitest';
import type { Driver } from '../../src/clients/connection/raw-connection.ts';
import { ownedClient } from '../../src/clients/owned-client.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeDriver } from './connection/fake-driver.ts';
import { echo } from './scripts.ts';

const REPLICAS = { min: 1, timeoutMs: 500, aof: false };

function clientOf(driver: Driver) {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  return { clock, timers, client: ownedClient(driver, { timers, random: systemRandom }) };
}

function setUp() {
  const driver = new FakeDriver();
  return { driver, ...clientOf(driver) };
}

/** Lets the connection in that was dialled last. */
async function letIn({ clock, driver }: ReturnType<typeof setUp>) {
  driver.raw.next('connect').answer();
  await clock.settle();
  return driver.raw;
}

test('each kind of work has a connection of its own, made when it is needed', async () => {
  const parts = setUp();
  const { client, driver } = parts;
  expect(driver.dialled).toHaveLength(0);
  void client.run(echo('a'), 1_000);
  (await letIn(parts)).next('evalsha', 'echo a');
  void client.acknowledge?.(echo('b'), REPLICAS, 1_000);
  (await letIn(parts)).next('evalsha', 'echo b');
  void client.listen('news', () => {}, 1_000);
  (await letIn(parts)).next('subscribe', 'news');
  void client.listenToShard('news', () => {}, 1_000);
  (await letIn(parts)).next('ssubscribe', 'news');
  expect(driver.dialled).toHaveLength(4);
  // Only the connection for scripts counts.
  expect([client.isConnected, client.connections]).toEqual([true, 1]);
  await client.close();
  expect(driver.dialled.map(({ isClosed }) => isClosed)).toEqual([true, true, true, true]);
  expect(parts.timers.size).toBe(0);
});

test('for a slot that is being taken over the same connections send scripts behind ASKING', async () => {
  const parts = setUp();
  const { client, driver } = parts;
  const { asking } = client;
  void asking.run(echo('a'), 1_000);
  const scripts = await letIn(parts);
  scripts.next('evalsha', 'asking echo a');
  void client.run(echo('b'), 1_000);
  scripts.next('evalsha', 'echo b');
  void asking.acknowledge?.(echo('c'), REPLICAS, 1_000);
  (await letIn(parts)).next('evalsha', 'asking echo c');
  expect(driver.dialled).toHaveLength(2);
  expect([asking.isConnected, asking.connections, asking.description]).toEqual([true, 1, 'a fake']);
  await client.close();
});

test('who reconnects silently cannot count replicas', () => {
  const silent = Object.assign(new FakeDriver(), { reconnectsSilently: true });
  expect(clientOf(silent).client.acknowledge).toBeUndefined();
  expect(clientOf(new FakeDriver()).client.acknowledge).toBeTypeOf('function');
});
