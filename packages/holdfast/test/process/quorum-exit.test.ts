/** A process that used a quorum and is done leaves by itself, also when some of the servers never answered. */
import { describe, expect, test } from 'vitest';
import { useServers } from '../fault/quorum/support.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { startChild, useChildren } from '../support/processes/child.ts';
import type { LeaverLine, LeaverTask } from './children/leaver.ts';
import type { StepName } from './children/steps.ts';
import type { ClientKind } from './children/store.ts';
import type { TroubleLine } from './children/talk.ts';
import { CALL_TIMEOUT_MS, START_LIMIT_MS } from './limits.ts';

const CLIENTS: readonly ClientKind[] = ['ioredis', 'redis'];
/** A forgotten timer, of a call or of a renewal, keeps it for more than three seconds. */
const LEAVE_MS_MAX = 2_500;
/** A server that hangs is still being asked when the work is done, for no longer than one call may take. */
const HANGING_CALL_TIMEOUT_MS = 2_000;
/** What a server may take to answer: longer than this machine stalls. */
const NODE_TIMEOUT_MS = 1_500;

const servers = useServers(5);
useLeakCheck(servers);
useChildren();

async function leftAfterMs(
  client: ClientKind,
  steps: readonly StepName[],
  callTimeoutMs: number,
): Promise<number> {
  const quorum = servers.map(({ port }) => port);
  const [port = 0] = quorum.slice(-1);
  const usual = { connects: false, callTimeoutMs };
  const several = { quorum, nodeTimeoutMs: NODE_TIMEOUT_MS, restartGuardMs: 0 };
  const task: LeaverTask = { port, client, prefix: `${client}:`, steps, ...usual, ...several };
  const child = startChild<LeaverLine & TroubleLine>('test/process/children/leaver.ts', [
    JSON.stringify(task),
  ]);
  const { code } = await child.exited;
  expect(child.lines.flatMap(({ trouble = [] }) => trouble)).toEqual([]);
  expect(code, child.stderr).toBe(0);
  return child.lines.at(-1)?.leftAfterMs ?? Number.NaN;
}

describe('a process that is done with the locks of five servers', { timeout: START_LIMIT_MS }, () => {
  test('leaves at once', async () => {
    const steps: StepName[] = [
      'acquire',
      'mutex',
      'using',
      'renew',
      'expire',
      'wait',
      'tryHeld',
      'abortInFlight',
    ];
    for (const tookMs of await Promise.all(
      CLIENTS.map((client) => leftAfterMs(client, steps, CALL_TIMEOUT_MS)),
    )) {
      expect(tookMs).toBeLessThan(LEAVE_MS_MAX);
    }
  });

  test('leaves within the time of one call when one is frozen and one is gone', async () => {
    servers[0]?.freeze();
    await servers[1]?.kill();
    const steps: StepName[] = ['acquire', 'mutex', 'using', 'wait'];
    for (const tookMs of await Promise.all(
      CLIENTS.map((client) => leftAfterMs(client, steps, HANGING_CALL_TIMEOUT_MS)),
    )) {
      expect(tookMs).toBeLessThan(HANGING_CALL_TIMEOUT_MS + LEAVE_MS_MAX);
    }
  });
});
