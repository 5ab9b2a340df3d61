/** Names: any that Redis can carry, each a lock of its own, and never at the cost of what stands there already. */

import { describe, expect, test } from 'vitest';
import { LockConfigError, LockConflictError } from '../../../src/index.ts';
import { CLIENTS, type ClientKind, useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilWaiting } from '../../support/locks/held.ts';
import { type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { listedNames } from '../../support/locks/listed.ts';
import { wokenBy } from '../../support/locks/woken.ts';
import { atOnce, rejection } from '../../support/rejection.ts';
import { ask, askAll } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import type { RespValue } from '../../support/servers/resp.ts';
import { always } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
// Keys that are not ours must stay: each test looks at its own, and the check empties the server.
useLeakCheck(redis, { ignoreKeys: [/redisson_lock_token:/, /^foreign/] });
const bench = useBench();

/** What may stand under a name that is no lock of that kind. */
const FOREIGN: Record<string, { readonly kinds: readonly Kind[]; readonly make: readonly string[] }> = {
  'a list': { kinds: [LOCK, MUTEX], make: ['RPUSH', 'KEY', 'a', 'b'] },
  'a set': { kinds: [LOCK, MUTEX], make: ['SADD', 'KEY', 'a'] },
  'a sorted set': { kinds: [LOCK, MUTEX], make: ['ZADD', 'KEY', '1', 'a'] },
  'a stream': { kinds: [LOCK, MUTEX], make: ['XADD', 'KEY', '1-1', 'a', 'b'] },
  'a string': { kinds: [LOCK], make: ['SET', 'KEY', 'a document'] },
  'a hash of text': { kinds: [LOCK, MUTEX], make: ['HSET', 'KEY', 'name', 'Ada'] },
  'a hash of many fields': { kinds: [LOCK, MUTEX], make: ['HSET', 'KEY', 'a', '1', 'b', '2'] },
  'a read-write lock': { kinds: [LOCK, MUTEX], make: ['HSET', 'KEY', 'mode', 'read', 'x:1', '1'] },
};

const CASES = Object.entries(FOREIGN).flatMap(([what, { kinds, make }]) =>
  kinds.map((kind) => ({ what, kind, make })),
);

/** Its bytes and its time to live. */
const snapshot = (key: string): Promise<RespValue[]> =>
  askAll(redis.port, [
    ['DUMP', key],
    ['PTTL', key],
  ]);

describe('a key that holds something else', () => {
  test.each(CASES)('$what is a conflict for a $kind.name, and is left as it is', async ({ kind, make }) => {
    for (const client of CLIENTS) {
      const locks = await bench.session(redis.port, { client });
      const name = `foreign:${bench.name()}`;
      await ask(
        redis.port,
        make.map((word) => (word === 'KEY' ? name : word)),
      );
      const before = await snapshot(name);
      let hasRun = false;
      const body = (): void => {
        hasRun = true;
      };
      const attempts = [
        kind.of(locks, name).tryAcquire(),
        // Without end, and yet told at once: waiting would not change it.
        kind.of(locks, name).acquire(),
        kind.of(locks, name).using(body),
      ];
      for (const error of await Promise.all(attempts.map(rejection))) {
        expect(error).toBeInstanceOf(LockConflictError);
        expect(error).toMatchObject({ code: 'ELOCKCONFLICT', lock: name });
      }
      expect(hasRun).toBe(false);
      expect(await snapshot(name)).toEqual(before);
    }
  });

  test('of the other kind is a conflict while it is held, and free for either kind after', async () => {
    const locks = await bench.session(redis.port);
    const name = bench.name();
    for (const [first, second] of [
      [LOCK, MUTEX],
      [MUTEX, LOCK],
    ] as const) {
      const lease = await first.of(locks, name).acquire();
      const owner = (await held(redis.port, first, name))?.owner;
      expect(await rejection(second.of(locks, name).acquire())).toBeInstanceOf(LockConflictError);
      expect((await held(redis.port, first, name))?.owner).toBe(owner);
      expect(await lease.release()).toBe(true);
    }
  });

  test('a string that somebody else put there is a mutex that is held, and is left as it is', async () => {
    const locks = await bench.session(redis.port);
    const name = `foreign:${bench.name()}`;
    await ask(redis.port, ['SET', name, 'a document']);
    const before = await snapshot(name);
    expect(await locks.mutex(name).tryAcquire()).toBeNull();
    expect(await snapshot(name)).toEqual(before);
  });

  test('a fence counter that is no number is a conflict, and neither key is written', async () => {
    const locks = await bench.session(redis.port);
    const makes = [
      ['SET', 'KEY', 'twelve'],
      ['SET', 'KEY', '9007199254740991'],
      ['RPUSH', 'KEY', 'a'],
    ];
    for (const make of makes) {
      const name = bench.name();
      const counter = `redisson_lock_token:{${name}}`;
      await ask(
        redis.port,
        make.map((word) => (word === 'KEY' ? counter : word)),
      );
      const before = await snapshot(counter);
      expect(await rejection(locks.lock(name).acquire())).toBeInstanceOf(LockConflictError);
      expect(await held(redis.port, LOCK, name)).toBeNull();
      expect(await snapshot(counter)).toEqual(before);
    }
  });

  test.each(MATRIX)(
    'that replaces a held $kind.name is a loss, and is left as it is: $client',
    async ({ client, kind }) => {
      const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
      const name = `foreign:${bench.name()}`;
      const lease = await kind.of(locks, name).acquire();
      await askAll(redis.port, [
        ['DEL', name],
        ['RPUSH', name, 'a'],
      ]);
      const before = await snapshot(name);
      await waitFor(() => lease.signal.aborted, { what: 'the loss to be told' });
      expect(lease.signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
      expect(await lease.release()).toBe(false);
      expect(await snapshot(name)).toEqual(before);
    },
  );
});

describe.each(CLIENTS)('strange names, %s', (client: ClientKind) => {
  const NAMES = [
    'plain',
    'PLAIN',
    'Plain',
    'plain ',
    ' plain',
    'pla\u0000in',
    '\u0000',
    'a\r\nb',
    'lock🔒',
    'lock🔓',
    'é',
    'e\u0301',
    'ß',
    'ss',
    '*',
    '?',
    '[a-z]',
    '\\',
    '"',
    "'; return 1 --",
    '0',
    '-1',
    'toString',
    '__proto__',
    'x'.repeat(1_000),
    `${'x'.repeat(999)}y`,
    `${'x'.repeat(999)}Y`,
    '🔒'.repeat(256),
    'a:b:{c}',
    '{a}:b:c',
  ];

  test.each([LOCK, MUTEX])(
    'are each a $name of its own: all can be held at once, found and released',
    async (kind) => {
      const locks = await bench.session(redis.port, { client });
      const other = await bench.session(redis.port, { client });
      const leases = await Promise.all(NAMES.map((name) => kind.of(locks, name).acquire({ waitMs: 60_000 })));
      expect(new Set(NAMES).size).toBe(NAMES.length);
      for (const [index, name] of NAMES.entries()) {
        expect(leases[index]).toMatchObject({ name, isHeld: true });
        expect(await kind.of(other, name).tryAcquire()).toBeNull();
        expect(await other.inspect(name)).toMatchObject({ name, kind: kind.name });
      }
      expect(await listedNames(other)).toEqual(NAMES.toSorted());
      for (const lease of leases) expect(await lease.release()).toBe(true);
    },
  );

  test.each([LOCK, MUTEX])('wake their own waiters: $name', async (kind) => {
    const owner = await bench.session(redis.port, { client });
    const other = await bench.session(redis.port, { client });
    const names = ['\u0000', 'lock🔒', 'a\r\nb', 'x'.repeat(1_000), '{a}:b', 'é'];
    await Promise.all(
      names.map(async (name) => {
        const lease = await kind.of(owner, name).acquire();
        const waiting = kind.of(other, name).acquire();
        await waitFor(async () => {
          const found = await owner.inspect(name);
          return found !== null && found.kind !== 'other' && found.waiters === 1;
        });
        const next = await wokenBy(name, async () => expect(await lease.release()).toBe(true), waiting);
        expect(await next.release()).toBe(true);
      }),
    );
  });

  test('that cannot be kept apart are refused before anything is sent', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client });
    const half = '🔒'.slice(0, 1);
    for (const name of ['', half, `a${half}`, 'x'.repeat(1_025), '🔒'.repeat(257)]) {
      expect(() => locks.lock(name)).toThrow(LockConfigError);
      expect(() => locks.mutex(name)).toThrow(LockConfigError);
    }
    for (const name of [undefined, null, 1, {}, ['a'], Symbol('a')]) {
      // As a caller without types would.
      expect(() => locks.lock(name as unknown as string)).toThrow(LockConfigError);
      expect(() => locks.mutex(name as unknown as string)).toThrow(LockConfigError);
    }
    expect(proxy.connectionsMade).toBe(0);
  });
});

test.each(MATRIX)(
  '$client, $kind.name: a release of `a` does not serve who waits for `{a}`',
  async ({ client, kind }) => {
    const [busy, free, waiter] = await Promise.all(
      [1, 2, 3].map(() => bench.session(redis.port, { client })),
    );
    if (busy === undefined || free === undefined || waiter === undefined) throw new Error('three sessions');
    const name = bench.name();
    const braced = `{${name}}`;
    const [owner, other] = [await kind.of(busy, braced).acquire(), await kind.of(free, name).acquire()];
    const waiting = kind.of(waiter, braced).acquire();
    await untilWaiting(redis.port, braced);
    expect(await other.release()).toBe(true);
    expect(await held(redis.port, kind, name)).toBe(null);
    always(() => expect(owner.isHeld).toBe(true));
    expect(await atOnce(waiting)).toBe('still pending');
    const next = await wokenBy(braced, async () => expect(await owner.release()).toBe(true), waiting);
    expect(await next.release()).toBe(true);
  },
);
