/** What must be learnt once for a whole process is learnt once, however many sessions need it at the same moment. */
import { beforeAll, expect, test } from 'vitest';
import { PRIMARY } from '../process/counter-task.ts';
import { startChild, useChildren } from '../support/child.ts';
import { type RedisServer, startRedis, useRedis } from '../support/redis-server.ts';

const SESSIONS = 30;

interface Line {
  readonly words?: readonly string[];
}

const primary = useRedis();
let sentinel: RedisServer;
beforeAll(async () => {
  sentinel = await startRedis({ sentinel: [`sentinel monitor ${PRIMARY} 127.0.0.1 ${primary.port} 1`] });
});
useChildren();

test('many sessions of node-redis by sentinels that begin at once are all served', {
  timeout: 60_000,
}, async () => {
  const args = [String(SESSIONS), String(sentinel.port)];
  const child = startChild<Line>('test/clients/fixtures/sentinel-crowd.ts', args);
  expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
  expect(child.lines).toEqual([{ words: ['served'] }]);
});
