/** A leader and a job whose process is cut off from Redis: the body is told before anybody else can begin. */
import { describe, expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';

const LEASE_MS = 3_000;
/** A lease, a first connection and a reconnect, on a busy machine. */
const LIMIT_MS = 60_000;
const OPTIONS = { leaseMs: LEASE_MS, outageMs: LIMIT_MS };

const redis = useRedis();
/** Markers of jobs outlive their runs by design, as counters and empty lines do. */
useLeakCheck(redis, { ignoreKeys: [/redisson_lock_token:/, /holdfast_line:/, /holdfast_job:/] });
const bench = useBench();

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

describe('cut off from the server', { timeout: 3 * LIMIT_MS }, () => {
  test('a leader is told before another leads, and campaigns again when it is back', async () => {
    const proxy = await bench.proxy(redis.port);
    const sessions = [await bench.session(proxy.port, OPTIONS), await bench.session(redis.port, OPTIONS)];
    const name = bench.name();
    const told: string[] = [];
    const fences: number[] = [];
    const leaders = sessions.map((locks, who) => {
      const leader = locks.leader(name);
      leader.on('elected', ({ fence }) => {
        told.push(`elected ${who}`);
        fences.push(fence);
        // Whatever the timers of a busy machine did: by its own clock the other does not lead.
        expect(leaders.filter(({ isLeader }) => isLeader)).toEqual([leader]);
      });
      leader.on('lost', () => told.push(`lost ${who}`));
      return leader;
    });
    const body = ({ signal }: { signal: AbortSignal }): Promise<void> => untilAborted(signal);
    const [first, second] = leaders;
    const running = [first?.run(body)];
    await waitFor(() => first?.isLeader === true, { what: 'a leader', limitMs: LIMIT_MS });
    running.push(second?.run(body));
    await waitFor(async () => (await second?.current())?.waiters === 1, {
      what: 'the other in the line',
      limitMs: LIMIT_MS,
    });
    proxy.freeze();
    await waitFor(() => second?.isLeader === true, { what: 'the other leads', limitMs: LIMIT_MS });
    expect(told).toEqual(['elected 0', 'lost 0', 'elected 1']);
    proxy.thaw();
    await waitFor(async () => (await second?.current())?.waiters === 1, {
      what: 'the first in the line again',
      limitMs: LIMIT_MS,
    });
    await sessions[1]?.close();
    await waitFor(() => first?.isLeader === true, { what: 'the first leads again', limitMs: LIMIT_MS });
    expect([...fences].sort((a, b) => a - b)).toEqual(fences);
    await sessions[0]?.close();
    await Promise.all(running);
  });

  test('the run of a job is told before the next attempt starts, and its end is not recorded', async () => {
    const proxy = await bench.proxy(redis.port);
    const [near, far] = [await bench.session(redis.port, OPTIONS), await bench.session(proxy.port, OPTIONS)];
    const name = bench.name();
    const day = { everyMs: 86_400_000, attempts: 2 };
    const told: string[] = [];
    const cutOff = far.runJob(
      name,
      async ({ attempt, signal }) => {
        told.push(`attempt ${attempt}`);
        await untilAborted(signal);
        told.push('told');
      },
      day,
    );
    await waitFor(() => told.length === 1, { what: 'a run', limitMs: LIMIT_MS });
    proxy.freeze();
    const next = near.runJob(name, ({ attempt }) => void told.push(`attempt ${attempt}`), day);
    expect(await next).toMatchObject({ ran: true, isRecorded: true });
    expect(told).toEqual(['attempt 1', 'told', 'attempt 2']);
    proxy.thaw();
    // It returned, as if all were well; its slot is another's by now.
    expect(await cutOff).toMatchObject({ ran: true, isRecorded: false });
    expect(await ask(redis.port, ['HMGET', `holdfast_job:{${name}}`, 'state', 'attempt'])).toEqual([
      'done',
      '2',
    ]);
  });
});
