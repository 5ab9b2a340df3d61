/** Leaders and jobs in a cluster: their keys share the slot of the name. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { command } from '../support/servers/redis-cluster.ts';
import { waitFor } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';

const bench = useClusterBench();
/** A failover, and the time until everybody has heard of it. */
const LONG = { timeout: 180_000 };
const LIMIT_MS = 120_000;
/** A busy machine takes long for a first connection to six nodes. */
const PATIENT = { callTimeoutMs: 30_000 };

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
