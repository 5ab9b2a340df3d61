/** Which channels are spoken on and listened to when the servers have to be asked, and what is not an answer. */
import { describe, expect, test } from 'vitest';
import { LockProtocol } from '../../../src/primitives/lock/protocol.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { ClusterTopology } from '../../../src/topologies/cluster/cluster.ts';
import { ClusterNodes } from '../../../src/topologies/cluster/nodes.ts';
import { AGAIN_MS_MAX, AGAIN_MS_MIN } from '../../../src/topologies/cluster/pubsub-mode.ts';
import { A, ScriptedCluster } from '../../locking/support/scripted-cluster.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const protocol = new LockProtocol('order', 'order', 0);
const RELEASE = { holder: 's:1', leaseMs: 1_000 };

function setScene(shardAnswer: unknown) {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const cluster = new ScriptedCluster();
  cluster.shardAnswer = shardAnswer;
  cluster.at(A, () => 0);
  const options = { random: systemRandom, pubsub: 'auto', callTimeoutMs: 500, replicas: null } as const;
  const topology = new ClusterTopology(new ClusterNodes(cluster, timers, options), timers, options);
  /** Which channels a release is told on now. */
  const spokenOn = async (): Promise<string | undefined> => {
    const releasing = topology.release(protocol, RELEASE, 5_000);
    await clock.advance(2_500);
    expect(await releasing).toMatchObject({ is: 'released' });
    return cluster.received.at(-1)?.args.find((arg) => arg === 'plain' || arg === 'sharded');
  };
  return { clock, cluster, topology, spokenOn };
}

test('a node that knows the channels of shards settles it', async () => {
  const { clock, cluster, spokenOn } = setScene([]);
  expect(await spokenOn()).toBe('sharded');
  await clock.advance(10 * AGAIN_MS_MAX);
  expect(await spokenOn()).toBe('sharded');
  expect(cluster.shardQuestions).toBe(1);
});

test.each([
  "ERR unknown command 'PUBSUB', with args beginning with: 'SHARDNUMSUB' '0' ",
  "ERR unknown subcommand 'SHARDNUMSUB'. Try PUBSUB HELP.",
  "ERR Unknown subcommand or wrong number of arguments for 'SHARDNUMSUB'. Try PUBSUB HELP.",
  "NOPERM this user has no permissions to run the 'pubsub|shardnumsub' command",
])('a node that does not know them, or may not tell, settles it: %s', async (refusal) => {
  const { clock, cluster, spokenOn } = setScene(new Error(refusal));
  expect(await spokenOn()).toBe('plain');
  await clock.advance(10 * AGAIN_MS_MAX);
  cluster.shardAnswer = [];
  await spokenOn();
  expect(await spokenOn()).toBe('plain');
  expect(cluster.shardQuestions).toBe(1);
});

describe.each([
  ['is busy', new Error('BUSY Redis is busy running a script. You can only call SCRIPT KILL.')],
  ['is full', new Error('ERR max number of clients reached')],
  ['says nothing', undefined],
])('a node that %s', (_, answer) => {
  test('leaves plain channels for now, and is asked again', async () => {
    const { clock, cluster, spokenOn } = setScene(answer);
    expect(await spokenOn()).toBe('plain');
    await clock.advance(AGAIN_MS_MIN);
    cluster.shardAnswer = [];
    await spokenOn();
    expect(await spokenOn()).toBe('sharded');
    const { shardQuestions } = cluster;
    await clock.advance(10 * AGAIN_MS_MAX);
    expect(await spokenOn()).toBe('sharded');
    expect(cluster.shardQuestions).toBe(shardQuestions);
  });

  test('takes those who listen along once it has answered, and tells them', async () => {
    const { clock, cluster, topology, spokenOn } = setScene(answer);
    const heard: (string | null)[] = [];
    const listened = topology.listen('news', (message) => heard.push(message), 5_000);
    await clock.advance(2_500);
    const stop = await listened;
    expect([...cluster.listening]).toEqual(['plain a:1 news']);
    cluster.shardAnswer = [];
    await clock.advance(AGAIN_MS_MIN);
    await spokenOn();
    expect([...cluster.listening]).toEqual(['sharded a:1 news']);
    expect(heard).toEqual([null]);
    if (typeof stop === 'function') stop();
    await clock.settle();
    expect([...cluster.listening]).toEqual([]);
  });
});

test('a node that never gives an answer is asked less and less, and holds up nobody', async () => {
  const { clock, cluster, topology } = setScene(new Error('ERR not here'));
  const first = topology.release(protocol, RELEASE, 500);
  await clock.advance(10);
  expect(await first).toMatchObject({ is: 'released' });
  cluster.shardAnswer = undefined;
  for (let second = 0; second < 600; second += 1) {
    const startedMs = clock.monotonicMs();
    const releasing = Promise.all(Array.from({ length: 5 }, () => topology.release(protocol, RELEASE, 500)));
    await clock.settle();
    for (const result of await releasing) expect(result).toMatchObject({ is: 'released' });
    expect(clock.monotonicMs()).toBe(startedMs);
    await clock.advance(1_000);
  }
  expect(cluster.shardQuestions).toBeGreaterThan(10);
  expect(cluster.shardQuestions).toBeLessThan(20);
});
