/**
 * Fences by majority: given by each server, on a majority before anybody is told, larger ever after. Where all give the
 * same there is nothing left to do; otherwise they are raised. How often that is depends on clocks, which are not ours
 * here: see `topologies/quorum/rounds.test.ts`, and the benchmark.
 */
import { describe, expect, test } from 'vitest';
import { type FencedLease, LockUnavailableError } from '../../../src/index.ts';
import { lockRaise } from '../../../src/scripts/generated.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { type FaultProxy, script } from '../../support/proxies/fault-proxy.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers);
const quorum = useQuorumBench(servers);

const HOUR_US = 3_600_000_000;

function counterKey(name: string): string {
  return `redisson_lock_token:{${name}}`;
}

async function counter(place: number, name: string): Promise<number> {
  return Number(await ask(quorum.server(place).port, ['GET', counterKey(name)]));
}

/** Lets servers count from what they would count from if their clocks were an hour ahead, all alike. */
async function hurry(places: readonly number[], name: string, moreUs = 0): Promise<number> {
  const ahead = Date.now() * 1_000 + HOUR_US + moreUs;
  for (const i of places) await ask(quorum.server(i).port, ['SET', counterKey(name), `${ahead}`]);
  return ahead;
}

async function raised(name: string, fence: number, places: readonly number[]): Promise<void> {
  for (const i of places)
    await waitFor(async () => (await counter(i, name)) >= fence, { what: `${i} raised` });
}

/** The servers that were asked to raise the fence of that name, by their place. */
function askedToRaise(proxies: readonly FaultProxy[], name: string): number[] {
  const isRaise = script(lockRaise.text);
  const isOfName = (args: readonly string[]): boolean => args.some((arg) => arg === counterKey(name));
  return proxies.flatMap(({ history }, i) =>
    history.some((args) => isRaise(args) && isOfName(args)) ? [i] : [],
  );
}

async function counters(name: string): Promise<Set<number>> {
  return new Set(await Promise.all([0, 1, 2, 3, 4].map((i) => counter(i, name))));
}

describe('a fence', () => {
  test('that all servers give alike is counted from where they are, and nobody asks again', async () => {
    const proxies = await quorum.proxies();
    // A server that is given up, because the machine stalls, would be raised when it is back.
    const patient = { nodeTimeoutMs: 20_000, callTimeoutMs: 20_000 };
    const sessions = [
      await quorum.assembled(LOCK, patient, proxies),
      await quorum.assembled(LOCK, patient, proxies),
    ];
    const name = quorum.name();
    // Ahead of every clock, so that it is the counters that decide, however long a request is on its way.
    const ahead = await hurry([0, 1, 2, 3, 4], name);
    for (let i = 0; i < 20; i += 1) {
      const lease = await sessions[i % 2]?.lock(name).acquire();
      expect(lease?.fence).toBe(ahead + 1 + i);
      await quorum.untilAll(LOCK, name);
      expect(await counters(name)).toEqual(new Set([lease?.fence]));
      expect(askedToRaise(proxies, name)).toEqual([]);
      await lease?.release();
      await quorum.untilFree(LOCK, name);
    }
  });

  test('grows from owner to owner, whichever server gives it and whoever must be raised', async () => {
    const sessions = [await quorum.assembled(LOCK), await quorum.assembled(LOCK)];
    const name = quorum.name();
    const fences: number[] = [];
    for (let i = 0; i < 20; i += 1) {
      const lease = await sessions[i % 2]?.lock(name).acquire();
      fences.push(lease?.fence ?? 0);
      await lease?.release();
    }
    await quorum.untilFree(LOCK, name);
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
    expect(fences).toHaveLength(20);
  });

  test('is raised only where it is not yet, and a majority has it before anybody is told', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(LOCK, {}, proxies);
    const name = quorum.name();
    const ahead = await hurry([0, 1], name);
    // Two have it, three are far behind; of those, the one that is heard must be raised. The others come too late.
    await Promise.all([2, 3].map((i) => quorum.server(i).freeze()));
    for (const proxy of proxies) proxy.clearHistory();
    const lease = await locks.lock(name).acquire();
    expect(lease.fence).toBe(ahead + 1);
    expect(await counter(4, name)).toBe(ahead + 1);
    expect(askedToRaise(proxies, name)).toEqual([2, 3, 4]);
    await quorum.resume([2, 3]);
    await lease.release();
    await quorum.untilFree(LOCK, name);
  });

  test('is the largest that a majority gives when no two give the same, and all others are raised to it', async () => {
    const locks = await quorum.assembled(LOCK);
    const name = quorum.name();
    const aheads: number[] = [];
    for (const i of [0, 1, 2, 3, 4]) aheads.push(await hurry([i], name, i * HOUR_US));
    const lease = await locks.lock(name).acquire();
    // Of any three, one is the third or further.
    expect(lease.fence).toBeGreaterThan(aheads[2] as number);
    expect(aheads).toContain(lease.fence - 1);
    await raised(name, lease.fence, [0, 1, 2, 3, 4]);
    expect(await locks.inspect(name)).toMatchObject({ kind: 'lock', fence: expect.any(Number) });
    const { fence: shown } = (await locks.inspect(name)) as { fence: number };
    expect(shown).toBeGreaterThanOrEqual(lease.fence);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(LOCK, name);
  });

  test('grows from majority to majority, whichever server had the largest', async () => {
    const locks = await quorum.assembled(LOCK);
    const name = quorum.name();
    for (const i of [0, 1, 2]) await hurry([i], name);
    const fences: number[] = [];
    for (const away of [[], [0, 1], [2, 3], [1, 4], [0, 2]]) {
      await Promise.all(away.map((i) => quorum.server(i).freeze()));
      const lease = await locks.lock(name).acquire();
      fences.push(lease.fence);
      await lease.release();
      await quorum.resume(away);
      await quorum.assemble(locks, LOCK);
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
    expect(fences).toHaveLength(5);
    await quorum.untilFree(LOCK, name);
  });

  test('is not given to anybody when a majority cannot be raised, and the votes are given back', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(LOCK, {}, proxies);
    const name = quorum.name();
    // No two give the same. One has it from the start, and one can be raised: two of five.
    for (const i of [0, 1, 2, 3, 4]) await hurry([i], name, i * HOUR_US);
    for (const proxy of proxies.slice(1)) void proxy.cutBeforeRequest(script(lockRaise.text));
    const error = await rejection(locks.lock(name).tryAcquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(askedToRaise(proxies, name).length).toBeGreaterThanOrEqual(3);
    await quorum.untilFree(LOCK, name);
  });

  test('is put back with the vote of a server that has lost both', async () => {
    const locks = await quorum.assembled(LOCK);
    const name = quorum.name();
    await Promise.all([3, 4].map((i) => quorum.server(i).kill()));
    await hurry([0, 1, 2], name);
    const lease = await locks.lock(name).acquire({ leaseMs: 6_000 });
    await Promise.all([3, 4].map((i) => quorum.server(i).restart()));
    await waitFor(async () => (await quorum.voters(LOCK, name)).length === 5);
    await raised(name, lease.fence, [3, 4]);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(LOCK, name);
    // Of those that were there at the time only one is asked now, and it has forgotten.
    await ask(quorum.server(1).port, ['FLUSHALL']);
    await Promise.all([0, 2].map((i) => quorum.server(i).kill()));
    const next = await locks.lock(name).acquire();
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
    await quorum.untilFree(LOCK, name);
  });

  test('is larger for the second of two owners when servers forgot the first', async () => {
    const locks = await quorum.assembled(LOCK);
    const others = await quorum.assembled(LOCK);
    const name = quorum.name();
    const lease = await locks.lock(name).acquire({ renew: false });
    // A vote that came behind the loss would keep the second one out.
    await quorum.untilAll(LOCK, name);
    await Promise.all([0, 1, 2].map((i) => ask(quorum.server(i).port, ['FLUSHALL'])));
    // Outside of what a quorum survives: two hold it, and the resource can tell them apart.
    const second: FencedLease = await others.lock(name).acquire();
    expect(lease.isHeld && second.isHeld).toBe(true);
    expect(second.fence).toBeGreaterThan(lease.fence);
    await second.release();
    expect(await lease.release()).toBe(false);
    await quorum.untilFree(LOCK, name);
  });
});
