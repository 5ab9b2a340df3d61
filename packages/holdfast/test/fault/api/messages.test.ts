/** What a user reads when something else stands under a name, or somebody with a strange identity holds it. */
import { describe, expect, test } from 'vitest';
import { type LockError, LockTimeoutError } from '../../../src/index.ts';
import { CLIENTS, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { answered } from '../../support/locks/answered.ts';
import { untilWaiting } from '../../support/locks/held.ts';
import { type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';

const redis = useRedis();
// Keys that are not ours must stay: each test makes its own, and the check empties the server.
useLeakCheck(redis, { ignoreKeys: [/redisson_lock_token:/, /^foreign/] });
const bench = useBench();

/** A line of its own in a log, a cleared screen, a name that reads backwards. */
const HOSTILE = 'x\r\nall is well\u001b[2J\u009b31m\u202e\u0000';
const UNPRINTABLE = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u;

const EXPECTED = { lock: 'a hash with one holder', mutex: 'a string' } as const;

const IN_THE_WAY: readonly { what: string; kind: Kind; make: readonly string[] }[] = [
  { what: 'a list', kind: LOCK, make: ['RPUSH', 'KEY', 'a'] },
  { what: 'a string', kind: LOCK, make: ['SET', 'KEY', 'a document'] },
  { what: 'a hash of another kind', kind: LOCK, make: ['HSET', 'KEY', 'a', '1', 'b', '2'] },
  { what: 'a hash that is not a lock', kind: LOCK, make: ['HSET', 'KEY', 'name', 'Ada'] },
  { what: 'a list', kind: MUTEX, make: ['RPUSH', 'KEY', 'a'] },
  { what: 'a hash', kind: MUTEX, make: ['HSET', 'KEY', 'name', 'Ada'] },
];

describe('an error', () => {
  test.each(IN_THE_WAY)(
    'about $what where a $kind.name should be says both',
    async ({ what, kind, make }) => {
      for (const client of CLIENTS) {
        const locks = await bench.session(redis.port, { client });
        const name = `foreign:${bench.name()}`;
        await ask(
          redis.port,
          make.map((word) => (word === 'KEY' ? name : word)),
        );
        const error = (await rejection(kind.of(locks, name).acquire())) as LockError;
        expect(error.message).toBe(
          `${kind.name} "${name}": the key holds something else (expected ${EXPECTED[kind.name]}, got ${what}); it was left untouched`,
        );
      }
    },
  );

  test.each([
    ['a list', ['RPUSH', 'KEY', 'a']],
    ['text', ['SET', 'KEY', 'many']],
  ])(
    'about a counter of fences that is %s names the counter, and nothing of our scripts',
    async (_, make) => {
      const locks = await bench.session(redis.port);
      const name = `foreign:${bench.name()}`;
      const counter = `redisson_lock_token:{${name}}`;
      await ask(
        redis.port,
        make.map((word) => (word === 'KEY' ? counter : word)),
      );
      const error = (await rejection(locks.lock(name).acquire())) as LockError;
      expect(error).toMatchObject({ code: 'ELOCKCONFLICT' });
      expect(error.message).toBe(
        `lock "${name}": the counter of its fences holds no number that can grow; it was left untouched`,
      );
    },
  );

  test('about a holder that would steer a terminal shows it escaped, and keeps it as it is', async () => {
    for (const client of CLIENTS) {
      const locks = await bench.session(redis.port, { client });
      const name = `foreign:${bench.name()}`;
      await ask(redis.port, ['HSET', name, HOSTILE, '1']);
      await ask(redis.port, ['PEXPIRE', name, '60000']);
      // A first connection, or a stall, may take longer than a short wait, which would be an outage.
      await warmUp(locks, LOCK);
      const acquire = () => locks.lock(name).acquire({ waitMs: 1_000.5 });
      const error = (await answered(acquire)) as LockTimeoutError;
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error.holder?.owner).toBe(HOSTILE);
      expect(error.message).not.toMatch(UNPRINTABLE);
      expect(error.message).toContain('x\\u{d}\\u{a}all is well\\u{1b}[2J\\u{9b}31m\\u{202e}\\u{0} holds it');
      expect(error.message).not.toMatch(/\d\.\d/);
      for (const line of String(error.stack).split('\n')) expect(line).not.toMatch(UNPRINTABLE);
      // The wait that is over leaves the line.
      await untilWaiting(redis.port, name, 0);
    }
  });
});
