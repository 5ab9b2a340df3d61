/** Leaders and jobs in a cluster: their keys share the slot of the name, and go on when a primary is replaced. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { command } from '../support/servers/redis-cluster.ts';
import type { RedisServer } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';

const bench = useClusterBench();
/** A failover, and the time until everybody has heard of it. */
const LONG = { timeout: 180_000 };
const LIMIT_MS = 120_000;
/** A busy machine takes long for a first connection to six nodes. */
const PATIENT = { callTimeoutMs: 30_000 };
/** Longer than an election of a new primary takes, on a busy machine too. */
const LEASE_MS = 20_000;

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

describe('in a cluster', LONG, () => {
  test('each slot of jobs of every shard runs once on one of two replicas', async () => {
    const replicas = [await bench.session(PATIENT), await bench.session(PATIENT)];
    const starts: string[] = [];
    for (const name of ['a', 'b', '{c}:job']) {
      for (const locks of replicas) {
        locks.schedule(name, { everyMs: 500 }, async ({ slot, attempt }) => {
          starts.push(`${name} ${slot.getTime()} ${attempt}`);
          await sleep(20);
        });
      }
    }
    await waitFor(
      () =>
        ['a', 'b', '{c}:job'].every((name) => starts.filter((one) => one.startsWith(`${name} `)).length >= 2),
      {
        limitMs: LIMIT_MS,
        what: 'two runs of each job',
      },
    );
    expect(new Set(starts).size).toBe(starts.length);
    const listed: string[] = [];
    for await (const job of (await bench.session(PATIENT)).jobs()) listed.push(job.name);
    expect(listed.sort()).toEqual(['a', 'b', '{c}:job']);
    await Promise.all(replicas.map((locks) => locks.close()));
    for (const name of ['{a}', '{b}', '{c}:job']) {
      const node = await bench.cluster.primaryOf(name);
      await command(node, 'DEL', `holdfast_job:${name}`);
    }
  });

  test('a leader leads, hands over on close, and is shown', async () => {
    const [first, second] = [await bench.session(PATIENT), await bench.session(PATIENT)];
    const leaders = [first, second].map((locks) => locks.leader('boss'));
    const [one, two] = leaders;
    void one?.run(({ signal }) => untilAborted(signal));
    await waitFor(() => one?.isLeader === true, { limitMs: LIMIT_MS, what: 'the first leads' });
    void two?.run(({ signal }) => untilAborted(signal));
    await waitFor(async () => (await two?.current())?.waiters === 1, {
      limitMs: LIMIT_MS,
      what: 'the second waits',
    });
    await first?.close();
    await waitFor(() => two?.isLeader === true, { limitMs: LIMIT_MS, what: 'the second leads' });
  });
});

/** Another node than that one serves the name. */
async function untilServedByAnother(name: string, before: RedisServer): Promise<void> {
  await waitFor(async () => (await bench.cluster.primaryOf(name)) !== before, {
    limitMs: LIMIT_MS,
    what: 'another primary',
  });
}

/** What was acknowledged has reached the replica. */
async function untilReplicated(primary: RedisServer): Promise<void> {
  const offset = async (node: RedisServer, field: string): Promise<number> =>
    Number(new RegExp(`${field}:(\\d+)`).exec(String(await command(node, 'INFO', 'replication')))?.[1]);
  const replica = await bench.cluster.replicaOf(primary);
  await waitFor(
    async () => (await offset(replica, 'slave_repl_offset')) >= (await offset(primary, 'master_repl_offset')),
    { limitMs: LIMIT_MS, what: 'the replica' },
  );
}

describe('when a primary of the cluster fails', LONG, () => {
  test('a leader leads on, or another does with a larger fence: never two that both believe it', async () => {
    const name = 'failed-over';
    const sessions = [await bench.session(PATIENT), await bench.session(PATIENT)];
    const fences: number[] = [];
    const leaders = sessions.map((locks) => {
      const leader = locks.leader(name, { leaseMs: LEASE_MS });
      leader.on('elected', ({ fence }) => fences.push(fence));
      return leader;
    });
    const [one, two] = leaders;
    void one?.run(({ signal }) => untilAborted(signal));
    await waitFor(() => one?.isLeader === true, { limitMs: LIMIT_MS, what: 'the first leads' });
    void two?.run(({ signal }) => untilAborted(signal));
    await waitFor(async () => (await two?.current())?.waiters === 1, {
      limitMs: LIMIT_MS,
      what: 'the second waits',
    });
    const before = await bench.cluster.primaryOf(name);
    await untilReplicated(before);
    await before.kill();
    await untilServedByAnother(name, before);
    await waitFor(async () => (await two?.current()) !== null && leaders.some(({ isLeader }) => isLeader), {
      limitMs: LIMIT_MS,
      what: 'a leader at the new primary',
    });
    expect(leaders.filter(({ isLeader }) => isLeader)).toHaveLength(1);
    // Whoever leads hands over, also there.
    const leading = leaders.findIndex(({ isLeader }) => isLeader);
    await sessions[leading]?.close();
    await waitFor(() => leaders[1 - leading]?.isLeader === true, {
      limitMs: LIMIT_MS,
      what: 'the other leads',
    });
    expect([...new Set(fences)].sort((a, b) => a - b)).toEqual(fences);
  });

  test('a job goes on at the new primary: no slot and attempt starts twice', async () => {
    const name = 'failed-over-job';
    const sessions = [await bench.session(PATIENT), await bench.session(PATIENT)];
    const starts: string[] = [];
    for (const locks of sessions) {
      locks.schedule(name, { everyMs: 500, attempts: 2, leaseMs: LEASE_MS }, async ({ slot, attempt }) => {
        starts.push(`${slot.getTime()} ${attempt}`);
        await sleep(20);
      });
    }
    await waitFor(() => starts.length >= 2, { limitMs: LIMIT_MS, what: 'two runs' });
    const before = await bench.cluster.primaryOf(name);
    // A planned failover: everything that was acknowledged is on the replica. A marker that is lost may let a slot start again.
    await bench.cluster.failOver(before);
    await untilServedByAnother(name, before);
    const soFar = starts.length;
    await waitFor(() => starts.length >= soFar + 2, {
      limitMs: LIMIT_MS,
      what: 'two runs at the new primary',
    });
    expect(new Set(starts).size).toBe(starts.length);
    await Promise.all(sessions.map((locks) => locks.close()));
    await command(await bench.cluster.primaryOf(name), 'DEL', `holdfast_job:{${name}}`);
  });
});
