/** Owners that end without a word: killed, run dry, exited, collected. Real processes, one for each client. */
import { expect, test } from 'vitest';
import { type Child, startChild, useChildren } from '../support/child.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { ask } from '../support/raw-redis.ts';
import { useRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { CLIENTS, type ClientKind, useBench } from './acquire-support.ts';
import type { ChildLine, ChildOrder, Task } from './holder-support-child.ts';

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
useChildren();

interface Scene {
  readonly client: ClientKind;
  readonly name: string;
  readonly child: Child<ChildLine>;
  /** What the child said when it had the lock. */
  readonly held: ChildLine;
}

/** The same with both clients at once: a process takes a while to start. */
async function withHolders(task: Task, leaseMs: number, body: (scene: Scene) => Promise<void>): Promise<void> {
  await Promise.all(
    CLIENTS.map(async (client) => {
      const name = bench.name();
      const order: ChildOrder = { task, port: server.port, client, name, leaseMs };
      const child = startChild<ChildLine>('test/fault/holder-support-child.ts', [JSON.stringify(order)]);
      await body({ client, name, child, held: await child.next(({ is }) => is === 'held') });
    }),
  );
}

const exists = async (key: string): Promise<boolean> => (await ask(server.port, ['EXISTS', key])) === 1;

test('when the owner is killed the next waiter gets the lock after the lease and not before, with a larger fence', async () => {
  const locks = await bench.session(server.port);
  await withHolders('work', 1_500, async ({ name, child, held: { fence = 0 } }) => {
    const waiting = locks.lock(name).acquire({ waitMs: 15_000 });
    await child.kill('SIGKILL');
    const askedMs = performance.now();
    const ttlMs = Number(await ask(server.port, ['PTTL', name]));
    expect(ttlMs).toBeGreaterThan(0);
    const lease = await waiting;
    const waitedMs = performance.now() - askedMs;
    // The server rounds to whole milliseconds.
    expect(waitedMs).toBeGreaterThanOrEqual(ttlMs - 1);
    expect(waitedMs).toBeLessThan(ttlMs + 2_000);
    expect(lease.fence).toBeGreaterThan(fence);
    expect(await lease.release()).toBe(true);
  });
});

test('a process whose event loop runs dry while it holds releases at once', async () => {
  await withHolders('runDry', 30_000, async ({ name, child, held: { isHeld } }) => {
    expect(isHeld).toBe(true);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stderr).toBe('');
    expect(await exists(name)).toBe(false);
  });
});

test('a process that calls process.exit while it holds leaves the lock to its lease', async () => {
  const locks = await bench.session(server.port);
  await withHolders('exit', 1_500, async ({ name, child }) => {
    expect(await child.exited).toEqual({ code: 0, signal: null });
    const askedMs = performance.now();
    const ttlMs = Number(await ask(server.port, ['PTTL', name]));
    expect(ttlMs).toBeGreaterThan(0);
    const lease = await locks.lock(name).acquire({ waitMs: 15_000 });
    expect(performance.now() - askedMs).toBeGreaterThanOrEqual(ttlMs - 1);
    expect(await lease.release()).toBe(true);
  });
});

test('a lease that was thrown away is not renewed any more and runs out; one that is kept is renewed', async () => {
  const leaseMs = 1_200;
  await withHolders('collect', leaseMs, async ({ name, child }) => {
    expect(await child.next(({ is }) => is === 'abandoned')).toMatchObject({ lock: `${name}:dropped` });
    await waitFor(async () => !(await exists(`${name}:dropped`)), { what: 'the dropped lease to run out' });
    expect(await exists(`${name}:kept`)).toBe(true);
    const sinceMs = performance.now();
    await waitFor(() => performance.now() - sinceMs > leaseMs, { what: 'another lease' });
    child.send('go on');
    expect(await child.next(({ is }) => is === 'end')).toMatchObject({ isHeld: true, wasOurs: true });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.lines.filter(({ is }) => is === 'abandoned').length).toBe(1);
  });
});

test('a process that loses its lease to a silent server and handles nothing goes on, and ends with code 0', async () => {
  const children: Scene[] = [];
  await withHolders('careless', 1_200, async (scene) => {
    children.push(scene);
  });
  server.freeze();
  await Promise.all(children.map(({ child }) => child.next(({ is }) => is === 'lost')));
  for (const { child } of children) {
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stderr).toBe('');
  }
  server.resume();
});
