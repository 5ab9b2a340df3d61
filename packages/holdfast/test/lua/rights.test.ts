/** Whatever rights a user lacks, none of our scripts leaves a key that never expires. */
import { expect, test } from 'vitest';
import type { ScriptCall } from '../../src/clients/client.ts';
import {
  lockAcquire,
  lockRaise,
  lockRecount,
  lockRelease,
  lockRenew,
  mutexAcquire,
  mutexRelease,
  mutexRenew,
  sessionForget,
  sessionRecord,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const [LOCK, MUTEX, FENCE, RECORD] = ['lock', 'mutex', 'redisson_lock_token:{lock}', 'holdfast_session:a'];
const [HOLDER, TOKEN, LEASE_MS] = ['session:1', 'token-1', 30_000];

/** A hold that goes on: its lease grows, and its counter with it. */
const HELD = {
  lock: LOCK,
  fence: FENCE,
  holder: HOLDER,
  leaseMs: 2 * LEASE_MS,
  lastFence: 1_999_999_999_999_999,
  fenceTtlMs: 600_000,
};

/** Every script that writes a lock, a mutex, a counter or a record. */
const CALLS: readonly ScriptCall[] = [
  lockAcquire.call({
    ...{ lock: LOCK, fence: FENCE, holder: HOLDER, leaseMs: LEASE_MS, fences: 1, fenceTtlMs: 600_000 },
    ...{ notAfterMs: 0, wantsTime: 1, commonUs: 0 },
  }),
  lockRecount.call({ ...HELD, count: 2, fixed: 0 }),
  lockRenew.call([HELD]),
  lockRaise.call({
    lock: LOCK,
    fence: FENCE,
    holder: HOLDER,
    last: 2_000_000_000_000_000,
    fenceTtlMs: 600_000,
    isGiven: 0,
  }),
  lockRelease.call({ lock: LOCK, holder: HOLDER, channel: 'channel', how: 'plain' }),
  mutexAcquire.call({ mutex: MUTEX, token: TOKEN, leaseMs: LEASE_MS, notAfterMs: 0 }),
  mutexRenew.call([{ mutex: MUTEX, token: TOKEN, leaseMs: 2 * LEASE_MS }]),
  mutexRelease.call({ mutex: MUTEX, token: TOKEN, channel: 'channel', how: 'plain' }),
  sessionRecord.call({ record: RECORD, application: 'billing', host: 'host', pid: 7, ttlMs: 60_000 }),
  sessionForget.call({ record: RECORD }),
];

/** All sets of what scripts can be refused: commands that write, and those that read a time or a field. */
function allSets(words: readonly string[]): string[][] {
  return words.reduce<string[][]>((sets, word) => sets.flatMap((set) => [set, [...set, word]]), [[]]);
}

const REFUSED = allSets(['-pexpire', '-del', '-hdel', '-hset', '-set', '-pttl', '-hexists']);

/** Keys that may be read and written by some commands only, in Redis 7's words for it. */
const SELECTORS = [
  ['-@all', '+eval', '+evalsha', '+time', '+pttl', '+get', '+set', '+hset', '(%R~* +@all)'],
  ['resetkeys', '~other', '(~* +@all -pexpire)'],
];

async function keysForEver(): Promise<string[]> {
  const keys = await database.redis.keys('*');
  const times = await Promise.all(keys.map((key) => database.redis.pttl(key)));
  return keys.filter((_, i) => times[i] === -1);
}

test.each([
  ['free', []],
  ['held', [0, 5, 8]],
] as const)('no lack of rights leaves a key without an expiry where all is %s', async (_what, before) => {
  for (const { script } of CALLS) await database.load(script);
  const user = await database.restricted();
  for (const rules of [...REFUSED, ...SELECTORS]) {
    await database.restricted(...rules);
    for (const call of CALLS) {
      await database.redis.flushall();
      for (const index of before) await database.run(CALLS[index] as ScriptCall);
      const { script, keys, args } = call;
      // A refusal is as good an answer as any.
      await user.evalsha(script.sha, keys.length, ...keys, ...args).catch(() => {});
      expect({ script: script.name, rules, left: await keysForEver() }).toEqual({
        script: script.name,
        rules,
        left: [],
      });
    }
  }
});

test('a server whose PEXPIRE is called something else refuses before anything is written', async () => {
  const call = CALLS[0] as ScriptCall;
  // As it looks to a script: there is no such command.
  const source = call.script.source.replaceAll('PEXPIRE', 'PEXPIRE-RENAMED');
  const { keys, args } = call;
  await expect(database.redis.eval(source, keys.length, ...keys, ...args)).rejects.toThrow(/Invalid command/);
  expect(await database.contents()).toEqual({});
});
