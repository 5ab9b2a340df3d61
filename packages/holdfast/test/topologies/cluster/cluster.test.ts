/** How redirections are followed, and what is never sent on: with nodes that say what a real cluster says too rarely. */
import { describe, expect, test } from 'vitest';
import type { ReplicaTerms } from '../../../src/clients/client.ts';
import { slotOf } from '../../../src/keys/slot.ts';
import { LockProtocol } from '../../../src/primitives/lock/protocol.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import { ClusterTopology } from '../../../src/topologies/cluster/cluster.ts';
import { ClusterNodes } from '../../../src/topologies/cluster/nodes.ts';
import type { Statement } from '../../../src/topologies/protocol.ts';
import { A, B, ScriptedCluster } from '../../locking/support/scripted-cluster.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const NAME = 'order';
const SLOT = slotOf(NAME);
const TERMS = { holder: 's:1', leaseMs: 1_000, fences: 1 };
const RELEASE = { holder: 's:1', leaseMs: 1_000 };
const protocol = new LockProtocol(NAME, NAME, 0);

function renewalOf(name: string): Statement {
  const lock = new LockProtocol(name, name, 0);
  const known = { isLive: true, lastFence: undefined };
  return { protocol: lock, holder: 's:1', leaseMs: 1_000, known, batch: lock.renewal };
}

/** Their clocks are a minute apart. */
const CLOCKS = { a: 1_000_000, b: 1_060_000 };

const granted = (nowMs: number): unknown => [OUTCOMES.GRANTED, nowMs, 7, 1, 0];
const moved = (to: string): Error => new Error(`MOVED ${SLOT} ${to}`);
const ask = (to: string): Error => new Error(`ASK ${SLOT} ${to}`);
const again = (): Error => new Error('TRYAGAIN Multiple keys request during rehashing of slot');

interface Scene {
  readonly clock: FakeClock;
  readonly cluster: ScriptedCluster;
  readonly topology: ClusterTopology;
  /** Lets time pass until it has settled. */
  until<Result>(promise: Promise<Result>): Promise<Result>;
}

function setScene(replicas: ReplicaTerms | null = null): Scene {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const cluster = new ScriptedCluster();
  const options = { random: systemRandom, pubsub: 'sharded', callTimeoutMs: 500, replicas } as const;
  const topology = new ClusterTopology(new ClusterNodes(cluster, timers, options), timers, options);
  const until = async <Result>(promise: Promise<Result>): Promise<Result> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    for (let step = 0; step < 5_000 && !isSettled; step += 1) await clock.advance(1);
    return settled;
  };
  return { clock, cluster, topology, until };
}

/** The latest server time that an acquire carries. */
const notAfterOf = (scene: Scene): (string | undefined)[] =>
  scene.cluster.received
    .filter(({ script }) => script.name === 'lock.acquire')
    .map(({ node, args }) => `${node} ${args[4]}`);

test('a map of addresses of the caller’s own that throws makes a node unreachable, until it does not', async () => {
  const scene = setScene();
  const { cluster, topology } = scene;
  cluster.at(A, () => granted(CLOCKS.a));
  cluster.unmapped.add('a:1');
  expect(await scene.until(topology.acquire(protocol, TERMS, 500))).toMatchObject({
    is: 'failed',
    servers: [{ kind: 'unreachable', text: expect.stringContaining('no way to a:1') }],
  });
  expect(await scene.until(topology.release(protocol, RELEASE, 500))).toMatchObject({ is: 'failed' });
  cluster.unmapped.clear();
  expect(await scene.until(topology.acquire(protocol, TERMS, 500))).toMatchObject({ is: 'granted' });
});

describe('a redirection', () => {
  test('to the node that has the slot is followed, and remembered', async () => {
    const scene = setScene();
    scene.cluster.at(A, () => moved('b:2'));
    scene.cluster.at(B, () => granted(CLOCKS.b));
    expect(await scene.until(scene.topology.acquire(protocol, TERMS, 500))).toMatchObject({ is: 'granted' });
    scene.cluster.at(B, () => 0);
    expect(await scene.until(scene.topology.release(protocol, RELEASE, 500))).toMatchObject({
      is: 'released',
    });
    expect(scene.cluster.sentTo(A)).toEqual(['lock.acquire']);
    expect(scene.cluster.sentTo(B)).toEqual(['lock.acquire', 'lock.release']);
  });

  test('is followed with the time of the node that it leads to, never with that of another', async () => {
    const scene = setScene();
    scene.cluster.at(A, () => granted(CLOCKS.a));
    await scene.until(scene.topology.acquire(protocol, TERMS, 500));
    scene.cluster.at(A, () => moved('b:2'));
    scene.cluster.at(B, () => granted(CLOCKS.b));
    await scene.until(scene.topology.acquire(protocol, TERMS, 500));
    await scene.until(scene.topology.acquire(protocol, TERMS, 500));
    const [first, second, unknown, third] = notAfterOf(scene);
    expect(first).toBe('a:1 0');
    expect(Math.abs(Number(second?.slice(4)) - CLOCKS.a)).toBeLessThan(5_000);
    expect(unknown).toBe('b:2 0');
    expect(Math.abs(Number(third?.slice(4)) - CLOCKS.b)).toBeLessThan(5_000);
  });

  test('to a node that takes over the slot is for that call alone', async () => {
    const scene = setScene();
    scene.cluster.at(A, () => ask('b:2'));
    scene.cluster.at(B, () => 0);
    for (let turn = 0; turn < 2; turn += 1) {
      const result = await scene.until(scene.topology.release(protocol, RELEASE, 500));
      expect(result).toMatchObject({ is: 'released' });
    }
    expect(scene.cluster.sentTo(A)).toEqual(['lock.release', 'lock.release']);
    expect(scene.cluster.sentTo(B)).toEqual(['asking lock.release', 'asking lock.release']);
  });

  test('that comes after the deadline leads nowhere, and the call is unknown', async () => {
    const scene = setScene();
    const answers: ((error: Error) => void)[] = [];
    scene.cluster.at(A, () => new Promise((_, reject) => answers.push(reject)));
    const acquiring = scene.topology.acquire(protocol, TERMS, 200);
    expect(await scene.until(acquiring)).toMatchObject({ is: 'failed', mayBeGranted: true });
    answers[0]?.(moved('b:2'));
    await scene.clock.advance(1_000);
    expect(scene.cluster.sentTo(B)).toEqual([]);
  });

  test('with hardly any time left is told, and not followed to where its answer could not be waited for', async () => {
    const scene = setScene();
    scene.cluster.at(A, () => granted(CLOCKS.a));
    await scene.until(scene.topology.acquire(protocol, TERMS, 500));
    scene.cluster.at(A, async () => {
      scene.clock.advanceSync(195);
      throw moved('b:2');
    });
    const result = await scene.until(scene.topology.acquire(protocol, TERMS, 200));
    expect(result).toMatchObject({ is: 'failed', canRetry: true, mayBeGranted: false });
    expect(scene.cluster.sentTo(B)).toEqual([]);
  });

  test('between two nodes that name each other ends, and is told', async () => {
    const scene = setScene();
    scene.cluster.at(A, () => moved('b:2'));
    scene.cluster.at(B, () => moved('a:1'));
    const result = await scene.until(scene.topology.acquire(protocol, TERMS, 500));
    expect(result).toMatchObject({ is: 'failed', canRetry: true, mayBeGranted: false });
    expect(JSON.stringify(result)).toMatch(/MOVED/);
    expect(scene.cluster.received.length).toBeLessThanOrEqual(16);
  });
});

describe('keys on both sides of a slot that moves', () => {
  test('are asked for again, with pauses, until they are on one', async () => {
    const scene = setScene();
    let refusals = 4;
    scene.cluster.at(A, () => {
      refusals -= 1;
      return refusals >= 0 ? again() : granted(CLOCKS.a);
    });
    const startedMs = scene.clock.monotonicMs();
    expect(await scene.until(scene.topology.acquire(protocol, TERMS, 500))).toMatchObject({ is: 'granted' });
    expect(scene.clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(10 + 20 + 40 + 80);
  });

  test('are told as such at the deadline', async () => {
    const scene = setScene();
    scene.cluster.at(A, again);
    const startedMs = scene.clock.monotonicMs();
    const result = await scene.until(scene.topology.acquire(protocol, TERMS, 500));
    expect(result).toMatchObject({ is: 'failed', canRetry: true, mayBeGranted: false });
    expect(scene.clock.monotonicMs() - startedMs).toBeLessThan(600);
    expect(scene.cluster.received.length).toBeLessThan(12);
  });

  test('are renewed one by one, each where it is', async () => {
    const scene = setScene();
    const renewals = ['{s}:1', '{s}:2', '{s}:3'].map(renewalOf);
    scene.cluster.at(A, ({ keys }) => {
      // The same key twice is one key.
      if (new Set(keys).size > 1) return again();
      return keys[0] === '{s}:2' ? ask('b:2') : [OUTCOMES.RENEWED];
    });
    scene.cluster.at(B, () => [OUTCOMES.GONE]);
    expect(await scene.until(scene.topology.state(renewals, 500))).toEqual([
      { is: 'kept' },
      { is: 'gone' },
      { is: 'kept' },
    ]);
    expect(scene.cluster.sentTo(B)).toEqual(['asking lock.renew']);
  });
});

describe('a node that does not answer', () => {
  test('is not replaced by another for what was written: that is unknown', async () => {
    const scene = setScene();
    scene.cluster.at(B, () => granted(CLOCKS.b));
    const acquiring = scene.topology.acquire(protocol, TERMS, 200);
    await scene.clock.advance(50);
    scene.cluster.primary = B;
    expect(await scene.until(acquiring)).toMatchObject({ is: 'failed', mayBeGranted: true });
    expect(scene.cluster.sentTo(B)).toEqual([]);
    // By the next time the map has been asked for anew.
    await scene.clock.advance(200);
    expect(await scene.until(scene.topology.acquire(protocol, TERMS, 200))).toMatchObject({ is: 'granted' });
    expect(scene.cluster.sentTo(B)).toEqual(['lock.acquire']);
  });

  test('because its connection was lost is not replaced either, with time left', async () => {
    const scene = setScene();
    scene.cluster.at(A, () => granted(CLOCKS.a));
    await scene.until(scene.topology.acquire(protocol, TERMS, 500));
    // The map is old enough to be asked for anew.
    await scene.clock.advance(1_000);
    scene.cluster.at(A, () => {
      scene.cluster.primary = B;
      return Object.assign(new Error('the socket was closed'), { code: 'ECONNRESET' });
    });
    scene.cluster.at(B, () => granted(CLOCKS.b));
    expect(await scene.until(scene.topology.acquire(protocol, TERMS, 500))).toMatchObject({
      is: 'failed',
      mayBeGranted: true,
    });
    expect(scene.cluster.sentTo(B)).toEqual([]);
    // What comes next goes to whoever has the slot by then: the release, and one behind the unanswered acquire.
    const sentToA = scene.cluster.sentTo(A);
    scene.cluster.at(B, () => 0);
    await scene.until(scene.topology.release(protocol, RELEASE, 500));
    expect(scene.cluster.sentTo(B)).toEqual(['lock.release', 'lock.release']);
    expect(scene.cluster.sentTo(A)).toEqual(sentToA);
  });

  test('because it cannot be reached is replaced by the one that has its slots now', async () => {
    const scene = setScene();
    scene.cluster.down.add('a:1');
    scene.cluster.at(B, () => granted(CLOCKS.b));
    const refused = await scene.until(scene.topology.acquire(protocol, TERMS, 300));
    expect(refused).toMatchObject({ is: 'failed', canRetry: true, mayBeGranted: false });
    scene.cluster.primary = B;
    await scene.clock.advance(200);
    expect(await scene.until(scene.topology.acquire(protocol, TERMS, 300))).toMatchObject({ is: 'granted' });
    expect(scene.cluster.sentTo(A)).toEqual([]);
  });
});

test('a grant that does not count is given back, and not asked for again where its slot went meanwhile', async () => {
  const scene = setScene({ min: 1, timeoutMs: 100, aof: false });
  scene.cluster.at(A, ({ script }) => (script.name === 'lock.acquire' ? granted(CLOCKS.a) : moved('b:2')));
  scene.cluster.at(B, ({ script }) => (script.name === 'lock.release' ? 0 : granted(CLOCKS.b)));
  const result = await scene.until(scene.topology.acquire(protocol, TERMS, 500));
  expect(result).toMatchObject({ is: 'failed', canRetry: true, mayBeGranted: false });
  await scene.clock.advance(1_000);
  expect(scene.cluster.sentTo(A)).toEqual(['lock.acquire', 'lock.renew', 'lock.release']);
  expect(scene.cluster.sentTo(B)).toEqual(['lock.release']);
  expect(scene.topology.holders.size).toBe(0);
});

describe('a slot that the first map does not have', () => {
  const halfMade = async (): Promise<Scene> => {
    const scene = setScene();
    scene.cluster.lastSlot = SLOT - 1;
    scene.cluster.at(A, () => granted(CLOCKS.a));
    const refused = await scene.until(scene.topology.acquire(protocol, TERMS, 300));
    expect(refused).toMatchObject({ is: 'failed', canRetry: true, mayBeGranted: false });
    expect(JSON.stringify(refused)).toMatch(/no node is known to have the slot/);
    expect(scene.cluster.received).toEqual([]);
    await scene.clock.advance(200);
    return scene;
  };

  test('is found by the first call that needs it once somebody has it', async () => {
    const scene = await halfMade();
    scene.cluster.lastSlot = 16_383;
    expect(await scene.until(scene.topology.acquire(protocol, TERMS, 300))).toMatchObject({ is: 'granted' });
    const { mapsRead } = scene.cluster;
    scene.cluster.at(A, () => 0);
    expect(await scene.until(scene.topology.release(protocol, RELEASE, 300))).toMatchObject({
      is: 'released',
    });
    expect(scene.cluster.mapsRead).toBe(mapsRead);
  });

  test('costs no more than one map for all calls of a moment that need it', async () => {
    const scene = await halfMade();
    const { mapsRead } = scene.cluster;
    const calls = Array.from({ length: 50 }, () => scene.topology.release(protocol, RELEASE, 300));
    for (const result of await scene.until(Promise.all(calls)))
      expect(result).toMatchObject({ is: 'failed' });
    expect(scene.cluster.mapsRead).toBe(mapsRead + 1);
  });

  test('is waited for no longer than the call may take', async () => {
    const scene = await halfMade();
    for (const node of ['a:1', 'c:3']) scene.cluster.silent.add(node);
    const startedMs = scene.clock.monotonicMs();
    const result = await scene.until(scene.topology.acquire(protocol, TERMS, 300));
    expect(result).toMatchObject({ is: 'failed', canRetry: true, mayBeGranted: false });
    expect(scene.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(301);
  });
});

test('a question to all nodes waits for the map no longer than it may take', async () => {
  const scene = setScene();
  scene.cluster.at(A, () => 0);
  await scene.until(scene.topology.release(protocol, RELEASE, 300));
  await scene.clock.advance(200);
  for (const node of ['a:1', 'c:3']) scene.cluster.silent.add(node);
  const startedMs = scene.clock.monotonicMs();
  const nodes = await scene.until(scene.topology.allServers(300));
  expect(scene.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(301);
  expect(await nodes.query(() => null, 300)).toMatchObject([{ reply: { kind: 'unreachable' } }]);
});

test('renewals go out once a slot, and answers come back in the order of the statements', async () => {
  const scene = setScene();
  const names = ['{x}:1', 'other', '{x}:2', 'third'];
  const renewals = names.map(renewalOf);
  const isLock = (key: string): boolean => names.includes(key);
  scene.cluster.at(A, ({ keys }) =>
    keys.filter(isLock).map((key) => (key === '{x}:2' || key === 'third' ? OUTCOMES.GONE : OUTCOMES.RENEWED)),
  );
  const results = await scene.until(scene.topology.state(renewals, 500));
  expect(results.map(({ is }) => is)).toEqual(['kept', 'kept', 'gone', 'gone']);
  const calls = scene.cluster.received.map(({ keys }) => keys.filter(isLock).join(' ')).sort();
  expect(calls).toEqual(['other', 'third', '{x}:1 {x}:2']);
});
