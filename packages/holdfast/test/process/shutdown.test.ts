/** SIGTERM while a service holds locks and waits for some: it closes, and the next process goes on at once. */

import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { type FencedLease, Locks } from '../../src/index.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { untilListening } from '../support/locks/held.ts';
import { LOCK } from '../support/locks/kind.ts';
import { type Child, type ChildExit, startChild, useChildren } from '../support/processes/child.ts';
import { startProxy } from '../support/proxies/fault-proxy.ts';
import { handled } from '../support/rejection.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';

import type { ServiceLine, ServiceTask } from './children/service.ts';
import { CLIENT_KINDS, type ClientKind } from './children/store.ts';
import type { TroubleLine } from './children/talk.ts';
import { CALL_TIMEOUT_MS, START_LIMIT_MS } from './limits.ts';

/** Far shorter than the lease of 30 seconds, which would be the wait if a lock were left behind. */
const PROMPT_MS = 15_000;
/** For a process that is closed and has nothing to do. The timer of a call would keep it for five seconds. */
const LEAVE_MS_MAX = 2_500;
const SHORT_GRACE_MS = 400;
const LONG_GRACE_MS = 20_000;
const ENDED: ChildExit = { code: 0, signal: null };
const JOB = 'job';
const WANTED = 'wanted';

const redis = useRedis();
useLeakCheck(redis, { ignoreKeys: [/^redisson_lock_token:/, /^job:(count|log)$/] });
useChildren();

type Line = ServiceLine & TroubleLine;

function startService(client: ClientKind, task: Partial<ServiceTask>): Child<Line> {
  const usual = { name: JOB, graceMs: LONG_GRACE_MS, section: 'finishes', waiters: 0, wanted: null } as const;
  const whole: ServiceTask = { port: redis.port, client, ...usual, ...task };
  return startChild('test/process/children/service.ts', [JSON.stringify(whole)]);
}

const openLocks = (): Locks =>
  new Locks(new Redis(redis.port, { lazyConnect: true }), { callTimeoutMs: CALL_TIMEOUT_MS });

/** The next process in line: resolves when the job is its own. */
async function waitInLine(locks: Locks): Promise<{ readonly next: Promise<FencedLease> }> {
  // A test that fails before it looks has a better reason than this one.
  const next = handled(locks.lock(JOB).acquire({ waitMs: PROMPT_MS }));
  await untilListening(redis.port, LOCK, JOB);
  return { next };
}

const all = <Value>(lines: readonly Line[], pick: (line: Line) => Value | undefined): Value[] =>
  lines.map(pick).filter((value) => value !== undefined);

/** What is true of every end: no trouble, code 0, and gone as soon as everything is closed. */
async function expectGoodEnd(service: Child<Line>): Promise<void> {
  expect(await service.exited, service.stderr).toEqual(ENDED);
  expect(all(service.lines, ({ trouble }) => trouble)).toEqual([]);
  expect(all(service.lines, ({ leftAfterMs }) => leftAfterMs)[0]).toBeLessThan(LEAVE_MS_MAX);
}

describe('a service that is told to end', { timeout: 2 * START_LIMIT_MS }, () => {
  test.each(CLIENT_KINDS)(
    'turns its callers away, finishes its section and releases (%s)',
    async (client) => {
      await using locks = openLocks();
      await using _held = await locks.lock(WANTED).acquire();
      const service = startService(client, { waiters: 5, wanted: WANTED });
      await service.next(({ holding }) => holding === true, START_LIMIT_MS);
      await untilListening(redis.port, LOCK, WANTED);
      const { next } = await waitInLine(locks);

      void service.kill('SIGTERM');
      await using lease = await next;
      expect(lease.isHeld).toBe(true);
      // The section had come to its end by then.
      expect(await ask(redis.port, ['LRANGE', `${JOB}:log`, '0', '-1'])).toEqual(['finished']);
      await service.exited;
      expect(all(service.lines, ({ finished }) => finished)).toEqual([true]);
      expect(all(service.lines, ({ outcome }) => outcome)).toEqual(['done']);
      expect(all(service.lines, ({ told }) => told)).toEqual([]);
      // Five who waited behind it, one who waited elsewhere, one who came too late.
      expect(all(service.lines, ({ turnedAway }) => turnedAway)).toEqual(Array(7).fill('ELOCKCLOSED'));
      // The rest of the grace is not waited for.
      expect(all(service.lines, ({ closedAfterMs }) => closedAfterMs)[0]).toBeLessThan(PROMPT_MS);
      await expectGoodEnd(service);
    },
  );

  const sections = [
    ['heeds', 'ioredis'],
    ['heeds', 'redis-5'],
    ['ignores', 'ioredis-5'],
    ['ignores', 'redis'],
  ] as const;
  test.each(sections)(
    'releases after its grace under a section that %s its signal (%s)',
    async (section, client) => {
      await using locks = openLocks();
      const service = startService(client, { section, graceMs: SHORT_GRACE_MS });
      await service.next(({ holding }) => holding === true, START_LIMIT_MS);
      const { next } = await waitInLine(locks);

      void service.kill('SIGTERM');
      await using _lease = await next;
      await service.exited;
      expect(all(service.lines, ({ told }) => told)).toEqual(['closed']);
      // A timer may fire up to a millisecond early by another clock.
      expect(all(service.lines, ({ toldAfterMs }) => toldAfterMs)[0]).toBeGreaterThanOrEqual(
        SHORT_GRACE_MS - 1,
      );
      expect(all(service.lines, ({ closedAfterMs }) => closedAfterMs)[0]).toBeLessThan(
        SHORT_GRACE_MS + PROMPT_MS,
      );
      expect(all(service.lines, ({ outcome }) => outcome)).toEqual(section === 'heeds' ? ['ELOCKLOST'] : []);
      await expectGoodEnd(service);
    },
  );

  test.each(['ioredis', 'redis'] as const)(
    'leaves no lock behind that was on its way (%s)',
    async (client) => {
      await using proxy = await startProxy(redis.port);
      // The server grants it; the service hears of that only after it has been told to end.
      const granted = proxy.delayReply(LOCK.acquires, SHORT_GRACE_MS);
      const service = startService(client, { port: proxy.port, graceMs: 0 });
      await granted;
      proxy.freeze();
      void service.kill('SIGTERM');
      await service.next(({ turnedAway }) => turnedAway !== undefined);
      proxy.thaw();
      await service.exited;
      expect(all(service.lines, ({ holding }) => holding)).toEqual([]);
      expect(all(service.lines, ({ outcome }) => outcome)).toEqual(['ELOCKCLOSED']);
      expect(await ask(redis.port, ['EXISTS', JOB])).toBe(0);
      await expectGoodEnd(service);
    },
  );
});
