/** Whatever happens to the holder or to the server: no command goes on when somebody else may begin. */
import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startChild, useChildren } from '../../holdfast/test/support/processes/child.ts';
import { type FaultProxy, startProxy } from '../../holdfast/test/support/proxies/fault-proxy.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { inLine } from './support/holders.ts';
import { type Ran, start } from './support/holdfast.ts';
import { isRunning, type Traces, useTraces } from './support/job.ts';

const LEASE_MS = 4_000;
/** Time to hear SIGTERM and to say so, also for a shell that the machine lets wait. */
const GRACE_MS = 1_000;
/** Past the end of a lease. */
const LATE_MS_MAX = 1_000;

/** Looks are a few hundredths of a second apart. */
const STALL_MS_MIN = 100;
const TRIES_MAX = 10;

class StallError extends Error {}

const redis = useRedis();
const makeTraces = useTraces();
useChildren();

/** A command and a child of it, which both hear SIGTERM, say so with their numbers, and go on. */
const STUBBORN = `
  exec 2>/dev/null
  trap 'echo $$ >> terms' TERM
  sh -c 'trap "echo $$ >> terms" TERM; echo $$ >> pids; while :; do sleep 0.05; done' &
  echo $$ >> pids
  while :; do sleep 0.05; done
`;

/** One lock for each folder: the tests run side by side, because most of their time is waiting. */
const lockOf = ({ folder }: Traces): string => basename(folder);

function startStubborn(traces: Traces, url: string) {
  const terms = ['--lease', `${LEASE_MS}ms`, '--grace', `${GRACE_MS}ms`];
  return start(['run', '--redis', url, ...terms, lockOf(traces), '--', 'sh', '-c', STUBBORN], {
    cwd: traces.folder,
  });
}

/**
 * Looks all the time: when the key is gone, nobody of the command is left. A command is ended a quarter of a second
 * before, and a machine that stands still for so long ends it afterwards: that proves nothing either way.
 */
async function expectGoneBeforeKey(traces: Traces, pids: readonly number[]): Promise<void> {
  let lookedMs = performance.now();
  let longestMs = 0;
  const running = await waitFor(
    async () => {
      longestMs = Math.max(longestMs, performance.now() - lookedMs);
      lookedMs = performance.now();
      const isKept = (await ask(redis.port, ['EXISTS', lockOf(traces)])) === 1;
      // Looked at after the answer: of those who ran before it, nobody knows whether the key was still there.
      return isKept ? null : pids.filter(isRunning);
    },
    { what: 'the key to expire', limitMs: LEASE_MS + 30_000 },
  );
  if (running.length > 0 && longestMs > STALL_MS_MIN) {
    await waitFor(() => !pids.some(isRunning), { what: 'the command to be gone' });
    throw new StallError(`the machine stood still for ${Math.round(longestMs)} ms`);
  }
  expect(running).toEqual([]);
}

/** Plays it again where the machine stood still at the wrong moment. */
async function undisturbed(play: (traces: Traces) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await play(makeTraces());
    } catch (error) {
      if (!(error instanceof StallError) || tries === TRIES_MAX) throw error;
      console.info(`played again: ${error.message}`);
    }
  }
}

/** Both of them, be it twice: a holder that stalls is helped by its guard, and then does it itself too. */
function expectTold(traces: Traces, pids: readonly number[]): void {
  expect(new Set(traces.lines('terms').map(Number))).toEqual(new Set(pids));
}

function expectLost({ code, stderr }: Ran, traces: Traces, pids: readonly number[]): void {
  expect(stderr).toMatch(/^holdfast: lock "holdfast-cli-\w+": .*; the command has ended with 137\n$/);
  expect(code).toBe(79);
  expectTold(traces, pids);
}

async function throughProxy(body: (proxy: FaultProxy) => Promise<void>): Promise<void> {
  const proxy = await startProxy(redis.port);
  try {
    await body(proxy);
  } finally {
    await proxy.stop();
  }
}

describe.concurrent('a command that does not end on SIGTERM', () => {
  test('is gone before the key when the server stops answering', () =>
    undisturbed((traces) =>
      throughProxy(async (proxy) => {
        const running = startStubborn(traces, proxy.url);
        const pids = await traces.pids('pids', 2);
        proxy.freeze();
        await expectGoneBeforeKey(traces, pids);
        expectLost(await running.ended, traces, pids);
      }),
    ));

  test('is gone before the key when the holder is killed with SIGKILL', () =>
    undisturbed(async (traces) => {
      const running = startStubborn(traces, redis.url);
      const pids = await traces.pids('pids', 2);
      running.kill('SIGKILL');
      await expectGoneBeforeKey(traces, pids);
      expectTold(traces, pids);
    }));

  test('is gone before the key when the holder is stopped with SIGSTOP, which hears of it afterwards', () =>
    undisturbed(async (traces) => {
      const running = startStubborn(traces, redis.url);
      const pids = await traces.pids('pids', 2);
      running.kill('SIGSTOP');
      await expectGoneBeforeKey(traces, pids).finally(() => running.kill('SIGCONT'));
      expectLost(await running.ended, traces, pids);
    }));

  test('is gone within a renewal and the grace when somebody takes the lock away', async () => {
    const traces = makeTraces();
    const running = startStubborn(traces, redis.url);
    const pids = await traces.pids('pids', 2);
    await ask(redis.port, ['DEL', lockOf(traces)]);
    const ran = await running.ended;
    expect(pids.filter(isRunning)).toEqual([]);
    expectLost(ran, traces, pids);
  });
});

test.concurrent('a killed holder lets the next one in within its lease and a second', () =>
  undisturbed(async (traces) => {
    const holder = startStubborn(traces, redis.url);
    await traces.pids('pids', 2);
    const waiter = start(['run', '--quiet', '--redis', redis.url, lockOf(traces), '--', 'echo', 'mine']);
    await waitFor(async () => (await inLine(redis, lockOf(traces))) === 1, { limitMs: 90_000 });
    const killedMs = performance.now();
    holder.kill('SIGKILL');
    await waiter.says('mine');
    const lateMs = performance.now() - killedMs - LEASE_MS;
    expect(await waiter.ended).toMatchObject({ code: 0, stderr: '' });
    // A timer, a round trip and the start of a process, on a machine that may be busy: one try of three must do it.
    if (lateMs > LATE_MS_MAX)
      throw new StallError(`the next one came ${Math.round(lateMs)} ms after the lease`);
  }));

test.concurrent('a lock that was taken away is told even by a command that ends by itself', async () => {
  const traces = makeTraces();
  const script = 'echo on; until [ -e go ]; do sleep 0.02; done';
  const running = start(['run', '--redis', redis.url, lockOf(traces), '--', 'sh', '-c', script], {
    cwd: traces.folder,
  });
  await running.says('on');
  await ask(redis.port, ['DEL', lockOf(traces)]);
  await ask(redis.port, ['HSET', lockOf(traces), '00000000-0000-4000-8000-000000000000:1', '1']);
  await ask(redis.port, ['PEXPIRE', lockOf(traces), '300']);
  writeFileSync(traces.path('go'), '');
  expect(await running.ended).toMatchObject({ code: 79 });
});

test.concurrent('a holder that is killed before its command has begun never has one', async () => {
  const traces = makeTraces();
  const holder = startChild<number>(join(import.meta.dirname, 'children/unbegun.ts'), [traces.path('begun')]);
  const group = await holder.next();
  expect(await holder.exited).toMatchObject({ signal: 'SIGKILL' });
  await waitFor(() => !isRunning(group), { what: 'the group to end' });
  expect(existsSync(traces.path('begun'))).toBe(false);
});
