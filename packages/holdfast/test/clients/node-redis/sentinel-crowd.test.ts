/** What must be learnt once for a whole process is learnt once, however many sessions need it at the same moment. */
import { beforeAll, expect, test } from 'vitest';
import { PRIMARY } from '../../process/counter/task.ts';
import { startChild, useChildren } from '../../support/processes/child.ts';
import { type RedisServer, startRedis, useRedis } from '../../support/servers/redis-server.ts';

const SESSIONS = 30;

/** For one connection of the caller's sentinel to each of those it knows. */
const ROOTS = 3;
/** So long at least a search has to itself before the next one may begin beside it. */
const HEAD_START_MS = 500;

interface ChildLine {
  readonly words: readonly string[];
  /** How many sentinels of the caller's kind began to connect before the first of them was done, and when that was. */
  readonly begun: number;
  readonly doneAfterMs: number;
}

const primary = useRedis();
let sentinel: RedisServer;
beforeAll(async () => {
  sentinel = await startRedis({ sentinel: [`sentinel monitor ${PRIMARY} 127.0.0.1 ${primary.port} 1`] });
});
useChildren();

test('many sessions of node-redis by sentinels that begin at once are all served, and few of them search', async () => {
  const args = [String(SESSIONS), String(sentinel.port)];
  const child = startChild<ChildLine>('test/clients/fixtures/sentinel-crowd.ts', args);
  expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
  const [line] = child.lines;
  expect(line?.words).toEqual(['served']);
  // Each session for itself would be ninety, at once.
  const searches = 1 + Math.floor((line?.doneAfterMs ?? 0) / (HEAD_START_MS - 1));
  expect(line?.begun).toBeLessThanOrEqual(ROOTS * searches);
});
