/** Owners that end without a word: killed, run dry, exited, collected. Real processes. */
import { expect, test } from 'vitest';
import { CLIENTS, type ClientKind, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { useChildren } from '../../support/processes/child.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Task } from './child.ts';
import { type Holder, SLOW, startHolder } from './process.ts';

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
useChildren();

const start = (task: Task, client: ClientKind, leaseMs: number): Promise<Holder> =>
  startHolder({ task, client, leaseMs, port: server.port, name: bench.name() });

/** One for each client, at the same time: a process takes a while to start. */
const startBoth = (task: Task, leaseMs: number): Promise<Holder[]> =>
  Promise.all(CLIENTS.map((client) => start(task, client, leaseMs)));

const exists = async (key: string): Promise<boolean> => (await ask(server.port, ['EXISTS', key])) === 1;

test(
  'when the owner is killed the next waiter gets the lock after the lease and not before, with a larger fence',
  SLOW,
  async () => {
    const locks = await bench.session(server.port);
    const { name, child, held } = await start('work', 'ioredis', 2_000);
    const waiting = locks.lock(name).acquire({ waitMs: 15_000 });
    // From here on it renews nothing, however long its end takes to be told.
    child.stop();
    const askedMs = performance.now();
    const ttlMs = Number(await ask(server.port, ['PTTL', name]));
    expect(ttlMs).toBeGreaterThan(0);
    await child.kill('SIGKILL');
    const lease = await waiting;
    const waitedMs = performance.now() - askedMs;
    // The server rounds to whole milliseconds.
    expect(waitedMs).toBeGreaterThanOrEqual(ttlMs - 1);
    expect(waitedMs).toBeLessThan(ttlMs + 20_000);
    expect(lease.fence).toBeGreaterThan(held.fence ?? Number.POSITIVE_INFINITY);
    expect(await lease.release()).toBe(true);
  },
);

test('a process whose event loop runs dry while it holds releases at once', SLOW, async () => {
  for (const { name, child, held } of await startBoth('runDry', 30_000)) {
    expect(held.isHeld).toBe(true);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stderr).toBe('');
    expect(await exists(name)).toBe(false);
  }
});

test('a process that calls process.exit while it holds leaves the lock to its lease', SLOW, async () => {
  const locks = await bench.session(server.port);
  // Long against the end of a process, which is told when all it said has been read.
  const { name, child } = await start('exit', 'node-redis', 3_000);
  expect(await child.exited).toEqual({ code: 0, signal: null });
  const askedMs = performance.now();
  const ttlMs = Number(await ask(server.port, ['PTTL', name]));
  expect(ttlMs).toBeGreaterThan(0);
  const lease = await locks.lock(name).acquire({ waitMs: 15_000 });
  expect(performance.now() - askedMs).toBeGreaterThanOrEqual(ttlMs - 1);
  expect(await lease.release()).toBe(true);
});

test(
  'a lease that was thrown away is not renewed any more and runs out; one that is kept is renewed',
  SLOW,
  async () => {
    // The one that is kept must outlive the pauses of a busy machine.
    const leaseMs = 6_000;
    const { name, child } = await start('collect', 'ioredis', leaseMs);
    expect(await child.next(({ is }) => is === 'abandoned')).toMatchObject({ lock: `${name}:dropped` });
    await waitFor(async () => !(await exists(`${name}:dropped`)), { what: 'the dropped lease to run out' });
    const sinceMs = performance.now();
    await waitFor(() => performance.now() - sinceMs > leaseMs, { what: 'another lease' });
    expect(await exists(`${name}:kept`)).toBe(true);
    child.send('go on');
    expect(await child.next(({ is }) => is === 'end')).toMatchObject({ isHeld: true, wasOurs: true });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.lines.filter(({ is }) => is === 'abandoned').length).toBe(1);
  },
);

test(
  'a process that loses its lease to a silent server and handles nothing goes on, and ends with code 0',
  SLOW,
  async () => {
    const holders = await startBoth('careless', 1_500);
    server.freeze();
    await Promise.all(holders.map(({ child }) => child.next(({ is }) => is === 'lost')));
    for (const { child } of holders) {
      expect(await child.exited).toEqual({ code: 0, signal: null });
      expect(child.stderr).toBe('');
    }
    server.resume();
  },
);
