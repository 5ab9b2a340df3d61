/** A process that has no lease and waits for none ends by itself, at once; one that waits does not. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { rowsOf } from '../support/extent.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { type Child, startChild, useChildren } from '../support/processes/child.ts';
import { freePort } from '../support/servers/free-port.ts';
import { ask, askAll } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import type { LeaverLine, LeaverTask } from './children/leaver.ts';
import type { StepName } from './children/steps.ts';
import { CLIENT_KINDS as ALL_KINDS, type ClientKind } from './children/store.ts';
import type { TroubleLine } from './children/talk.ts';
import { CALL_TIMEOUT_MS, START_LIMIT_MS } from './limits.ts';

/**
 * A few milliseconds on a quiet machine. A forgotten timer keeps it for longer: that of a call for five seconds, of a
 * renewal or of a sleeping waiter for more than three. A socket keeps it for ever.
 */
const LEAVE_MS_MAX = 2_500;
const LIMIT_MS = 60_000;
/** A process that nothing holds is gone within milliseconds. */
const STAY_MS = 1_000;

/** The oldest versions in the matrix only. */
const CLIENT_KINDS: readonly ClientKind[] = rowsOf(
  ALL_KINDS.map((kind) => ({ kind, isMatrix: kind.endsWith('-5') })),
).map(({ kind }) => kind);

const redis = useRedis();
useLeakCheck(redis);
useChildren();

type Leaver = Child<LeaverLine & TroubleLine>;

function startLeaver(client: ClientKind, steps: readonly StepName[], more: Partial<LeaverTask> = {}): Leaver {
  const usual = { connects: true, callTimeoutMs: CALL_TIMEOUT_MS };
  const task: LeaverTask = { port: redis.port, client, prefix: `${client}:`, steps, ...usual, ...more };
  return startChild('test/process/children/leaver.ts', [JSON.stringify(task)]);
}

/** How each ended, one line for each client: all alike when all is well. */
async function endings(leavers: readonly Leaver[]): Promise<string[]> {
  return Promise.all(leavers.map(ending));
}

async function ending(child: Leaver, index: number): Promise<string> {
  const who = CLIENT_KINDS[index];
  const overrun = AbortSignal.timeout(LIMIT_MS);
  const exit = await Promise.race([child.exited, once(overrun, 'abort').then(() => null)]);
  if (exit === null) return `${who} did not leave: ${JSON.stringify(child.lines)}`;
  const trouble = child.lines.flatMap(({ trouble = [] }) => trouble);
  if (exit.code !== 0 || trouble.length > 0)
    return `${who} ended with ${exit.code}: ${trouble} ${child.stderr}`;
  const { leftAfterMs = Number.NaN } = child.lines.at(-1) ?? {};
  return leftAfterMs < LEAVE_MS_MAX ? `${who} left` : `${who} left after ${leftAfterMs} ms`;
}

const ALL_LEFT = CLIENT_KINDS.map((client) => `${client} left`);

describe('a process that is done with its locks leaves at once', {
  timeout: LIMIT_MS + START_LIMIT_MS,
}, () => {
  interface Habit {
    readonly after: string;
    readonly steps: readonly StepName[];
    readonly more?: Partial<LeaverTask>;
  }
  const habits: readonly Habit[] = [
    { after: 'an acquire and a release', steps: ['acquire'] },
    { after: 'every way to hold', steps: ['mutex', 'using', 'dispose', 'renew', 'expire', 'admin'] },
    // Its own client is never connected, so that nothing but ours could keep it.
    {
      after: 'every way to wait',
      steps: ['wait', 'tryHeld', 'timeOut', 'abortInFlight'],
      more: { connects: false },
    },
    { after: 'a thousand waiters with one signal', steps: ['abortThousand', 'serveThousand'] },
    { after: 'holding, waiting and close', steps: ['renew', 'wait', 'abortInFlight', 'close'] },
  ];
  for (const { after, steps, more } of habits) {
    test(`after ${after}`, async () => {
      expect(await endings(CLIENT_KINDS.map((client) => startLeaver(client, steps, more)))).toEqual(ALL_LEFT);
    });
  }

  test('after a failure to reach a server that is not there', async () => {
    const nowhere = { port: await freePort(), connects: false };
    expect(await endings(CLIENT_KINDS.map((client) => startLeaver(client, ['fail'], nowhere)))).toEqual(
      ALL_LEFT,
    );
  });

  test('after a failure to hear from a server that says nothing', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
    });
    silent.listen({ port: await freePort(), host: '127.0.0.1' });
    await once(silent, 'listening');
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    // A request that got no answer is followed by its release, which may take as long once more.
    const there = { port, connects: false, callTimeoutMs: 300 };
    try {
      expect(await endings(CLIENT_KINDS.map((client) => startLeaver(client, ['fail'], there)))).toEqual(
        ALL_LEFT,
      );
      expect(sockets.size).toBeGreaterThanOrEqual(CLIENT_KINDS.length);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });
});

describe('a process that waits for a lock', { timeout: LIMIT_MS + START_LIMIT_MS }, () => {
  test('stays until it has had its turn', async () => {
    const names = CLIENT_KINDS.map((client) => `${client}:of the test`);
    const channels = names.map((name) => `redisson_lock__channel:{${name}}`);
    await askAll(
      redis.port,
      names.flatMap((name) => [
        ['HSET', name, '01234567-89ab-4cde-8f01-23456789abcd:1', '1'],
        ['PEXPIRE', name, '120000'],
      ]),
    );
    const waiters = CLIENT_KINDS.map((client) => startLeaver(client, ['waitForTest'], { connects: false }));
    await waitFor(
      async () => !String(await ask(redis.port, ['PUBSUB', 'NUMSUB', ...channels])).includes(',0'),
      { limitMs: LIMIT_MS, what: 'every process to listen' },
    );
    // Nor does a lost subscription let it go: the waiter sits in a timer, not on a socket.
    await ask(redis.port, ['CLIENT', 'KILL', 'TYPE', 'pubsub']);
    const leftTooSoon = await Promise.race([
      ...waiters.map(({ exited }, index) => exited.then(() => CLIENT_KINDS[index])),
      sleep(STAY_MS),
    ]);
    expect(leftTooSoon).toBeUndefined();

    await askAll(redis.port, [['DEL', ...names], ...channels.map((channel) => ['PUBLISH', channel, '0'])]);
    expect(await endings(waiters)).toEqual(ALL_LEFT);
  });
});
