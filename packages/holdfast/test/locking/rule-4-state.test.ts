/** Safety rule 4: every request states the target, so that running it twice is harmless. */
import { describe, expect, test } from 'vitest';
import { LockUnknownError } from '../../src/errors.ts';
import { rejection } from '../support/rejection.ts';
import { useLateReleaseLog } from './support/late-release-log.ts';
import { answers, losesAnswer, type SentCall } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

const late = useLateReleaseLog();

const holders = (calls: readonly SentCall[]): string[] => [
  ...new Set(calls.map(({ args }) => args[0] ?? '')),
];

async function setup(): Promise<{ stage: Stage; process: StageProcess }> {
  const stage = new Stage();
  return { stage, process: await stage.acquaintedProcess() };
}

describe('rule 4: a request states the target', () => {
  test('so that an acquire whose answer was lost is repeated by the same hold and gets a fence of the same block', async () => {
    const { stage, process } = await setup();
    process.client.next('lock.acquire', losesAnswer(5), losesAnswer(5));
    const lease = await stage.until(process.lock('a').acquire());
    const attempts = process.client.sent('lock.acquire');
    expect([attempts.length, holders(attempts).length]).toEqual([3, 1]);
    // How many fences the first copy was given is not known to the server: it gives the last of them.
    expect(stage.server.grants.map(({ firstFence }) => firstFence + 64)).toEqual([lease.fence]);
    expect(late.outcomes).toEqual([]);
  });

  test('so that a repeated acquire asks for as many fences as the first, whoever came meanwhile', async () => {
    const stage = new Stage();
    const process = await stage.acquaintedProcess({ handovers: 1_000 });
    const lock = process.lock('a');
    process.client.next('lock.acquire', losesAnswer(5));
    const first = lock.acquire();
    // So many that an attempt of its own would ask for more.
    const others = Array.from({ length: 100 }, () => lock.acquire());
    const lease = await stage.until(first);
    expect(process.client.sent('lock.acquire').map(({ args }) => args[2])).toEqual(['65', '65']);
    expect(lease.fence).toBe((stage.server.grants[0]?.firstFence ?? 0) + 64);
    await lease.release();
    const fences = [lease.fence];
    for (const other of others) {
      const next = await stage.until(other);
      fences.push(next.fence);
      await next.release();
    }
    expect(new Set(fences).size).toBe(101);
    expect(fences.toSorted((a, b) => a - b)).toEqual(fences);
  });

  test('so that a repeated acquire of a block gets a fence of its own, and nobody else the same', async () => {
    const { stage, process } = await setup();
    const lock = process.lock('a');
    // All wait for a stranger, so that the attempt that succeeds asks for a block.
    stage.server.occupy('a', 100);
    // One that finds the stranger, one in the line, one that listens to the stranger too, and one at the end of the lease.
    process.client.next('lock.acquire', answers(1), answers(1), answers(1), losesAnswer(5));
    const acquiring = [lock.acquire(), lock.acquire(), lock.acquire()];
    const fences: number[] = [];
    for (const one of acquiring) {
      const lease = await stage.until(one);
      fences.push(lease.fence);
      await lease.release();
    }
    const sent = process.client.sent('lock.acquire');
    expect([sent[3], sent[4]].map((call) => call?.args[2])).toEqual(['65', '65']);
    expect(holders(sent.slice(3, 5))).toHaveLength(1);
    const [first] = stage.server.grants;
    expect(fences[0]).toBe((first?.firstFence ?? 0) + 64);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(3);
  });

  test('so that a release whose answer was lost is repeated and finds it gone', async () => {
    const { stage, process } = await setup();
    const lease = await process.lock('a').acquire();
    process.client.next('lock.release', losesAnswer(5));
    const error = await stage.until(rejection(lease.release()));
    expect(error).toBeInstanceOf(LockUnknownError);
    expect((error as Error).message).toMatch(/^lock "a": no answer to the release; it is being repeated/);
    await stage.clock.settle();
    expect(late.outcomes).toEqual(['gone']);
  });

  test('so that entering again states the count, however often the answer is lost', async () => {
    const { stage, process } = await setup();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    process.client.next('lock.recount', losesAnswer(5), losesAnswer(5));
    const inner = await stage.until(lock.acquire({ within: lease }));
    expect(process.client.sent('lock.recount').map(({ args }) => args[1])).toEqual(['2', '2', '2']);
    expect(stage.server.count('a')).toBe(2);
    expect([await inner.release(), stage.server.count('a')]).toEqual([true, 1]);
  });

  test('and a holder is never used for two acquisitions', async () => {
    const { process } = await setup();
    for (let i = 0; i < 5; i += 1) {
      await (await process.lock('a').acquire()).release();
      await (await process.mutex('m').acquire()).release();
    }
    expect(holders(process.client.sent('lock.acquire'))).toHaveLength(5);
    expect(holders(process.client.sent('mutex.acquire'))).toHaveLength(5);
  });
});
