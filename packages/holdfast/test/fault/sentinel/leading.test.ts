/** A leader and a job while another server becomes the primary. */
import { afterEach, expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useSentinels } from '../../support/servers/sentinel-group.ts';
import { waitFor } from '../../support/wait-for.ts';
import { sentinelSession } from './support.ts';

const group = useSentinels();
const bench = useBench();
const LIMIT_MS = 120_000;
const PATIENT = { leaseMs: 20_000, outageMs: 60_000 };

afterEach(async () => {
  const primary = await group.primary().catch(() => null);
  if (primary?.isRunning && !primary.isFrozen) await ask(primary.port, ['FLUSHALL']);
});

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

test('one leads before and after a failover, and a job goes on', { timeout: 240_000 }, async () => {
  const sessions = [1, 2].map(() => sentinelSession(bench, group, 'ioredis 6', PATIENT));
  const leaders = sessions.map((locks) => locks.leader('boss'));
  const fences: number[] = [];
  // Not compared: a failover may lose the marker of a slot, and the slot may run again.
  const starts: string[] = [];
  for (const leader of leaders) {
    void leader.run(({ signal, fence }) => {
      fences.push(fence);
      return untilAborted(signal);
    });
  }
  for (const locks of sessions) {
    locks.schedule(
      'tick',
      { everyMs: 1_000 },
      ({ slot, attempt }) => void starts.push(`${slot.getTime()} ${attempt}`),
    );
  }
  const leading = (): number => leaders.filter(({ isLeader }) => isLeader).length;
  await waitFor(() => leading() === 1 && starts.length > 0, {
    limitMs: LIMIT_MS,
    what: 'a leader and a run',
  });
  await group.failOver();
  const before = starts.length;
  await waitFor(() => leading() === 1 && starts.length > before + 1, {
    limitMs: LIMIT_MS,
    what: 'a leader and two more runs on the new primary',
  });
  expect(new Set(fences).size).toBe(fences.length);
  expect([...fences].sort((a, b) => a - b)).toEqual(fences);
  await Promise.all(sessions.map((locks) => locks.close()));
});
