/** Whatever rights a user lacks, none of our scripts leaves a key that never expires. */
import type { Redis } from 'ioredis';
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
  onceBegin,
  onceFinish,
  onceRelease,
  sessionForget,
  sessionRecord,
} from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const HOLD = { holder: 'session:1', leaseMs: 30_000 };
const TOKEN = 'token-1';
const TICKET = '1.1.ab 1000 p holdfast_session:a';

/** How each key comes to be, for the scripts that find it there. */
function makingOf(place: string): readonly ScriptCall[] {
  const lock = `lock:${place}`;
  return [
    lockAcquire.call({
      ...{ ...HOLD, lock, fence: `redisson_lock_token:{${lock}}`, fences: 1, fenceTtlMs: 600_000 },
      ...{ notAfterMs: 0, wantsTime: 1, commonUs: 0, line: `holdfast_line:{${lock}}`, ticket: TICKET },
    }),
    mutexAcquire.call({
      ...{ mutex: `mutex:${place}`, line: `holdfast_line:{mutex:${place}}`, token: TOKEN },
      ...{ leaseMs: HOLD.leaseMs, notAfterMs: 0, ticket: TICKET },
    }),
    onceBegin.call({
      ...{ ...HOLD, lock: `once:${place}`, fence: `once_fence:${place}`, record: `once_record:${place}` },
      ...{ fenceTtlMs: 600_000, notAfterMs: 0, print: '', attempts: 3 },
      ...{ recordTtlMs: 60_000, keepFailureMs: 60_000 },
    }),
    sessionRecord.call({
      ...{ record: `holdfast_session:${place}`, application: 'billing', host: 'host' },
      ...{ pid: 7, ttlMs: 60_000 },
    }),
  ];
}

/** Every script that writes a lock, a mutex, a counter or a record. */
function callsOn(place: string): readonly ScriptCall[] {
  const [lock, mutex] = [`lock:${place}`, `mutex:${place}`];
  const fence = `redisson_lock_token:{${lock}}`;
  const line = `holdfast_line:{${lock}}`;
  const leaseMs = 2 * HOLD.leaseMs;
  // A hold that goes on: its lease grows, and its counter with it.
  const held = { ...HOLD, lock, fence, leaseMs, lastFence: 1_999_999_999_999_999, fenceTtlMs: 600_000 };
  return [
    ...makingOf(place),
    lockRecount.call({ ...held, count: 2, fixed: 0 }),
    lockRenew.call([held]),
    lockRaise.call({ ...HOLD, lock, fence, last: 2_000_000_000_000_000, fenceTtlMs: 600_000, isGiven: 0 }),
    lockRelease.call({ ...HOLD, lock, fence, line, channel: 'channel', mode: 'plain', isVote: 0 }),
    mutexRenew.call([{ mutex, token: TOKEN, leaseMs }]),
    mutexRelease.call({
      ...{ mutex, line: `holdfast_line:{${mutex}}`, token: TOKEN, channel: 'channel' },
      ...{ mode: 'plain', isVote: 0 },
    }),
    onceRelease.call({
      ...{ lock: `once:${place}`, record: `once_record:${place}`, holder: HOLD.holder },
      ...{ hasRun: 0, channel: 'channel', mode: 'plain' },
    }),
    onceFinish.call({
      ...{ lock: `once:${place}`, record: `once_record:${place}`, holder: HOLD.holder, attempt: 1, fence: 7 },
      ...{ print: '', state: 'done', reason: '', payload: 'j1', keepMs: 60_000 },
      ...{ channel: 'channel', mode: 'plain' },
    }),
    sessionForget.call({ record: `holdfast_session:${place}` }),
  ];
}

function allSets(words: readonly string[]): string[][] {
  return words.reduce<string[][]>((sets, word) => sets.flatMap((set) => [set, [...set, word]]), [[]]);
}

/** What a user may lack: every set of the commands that write, and by themselves those that read. */
const LACKING: readonly (readonly string[])[] = [
  ...allSets(['-pexpire', '-del', '-hdel', '-hset', '-set']),
  ...['-pttl', '-hexists', '-get', '-time'].map((word) => [word]),
  // Keys on which some commands are allowed only, in Redis 7's words for it.
  ['-@all', '+evalsha', '+time', '+pttl', '+get', '+set', '+hset', '(%R~* +@all)'],
  ['resetkeys', '~other', '(~* +@all -pexpire)'],
];

const KEYS_FOR_EVER = `local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
end
return found`;

/** Sends all in one go, each script to keys of its own; a refusal is as good an answer as any. */
async function runAll(client: Redis, calls: readonly ScriptCall[]): Promise<void> {
  const batch = client.pipeline();
  for (const { script, keys, args } of calls) batch.evalsha(script.sha, keys.length, ...keys, ...args);
  await batch.exec();
}

test.each([
  ['free', false],
  ['held', true],
] as const)('no lack of rights leaves a key without an expiry where all is %s', async (_what, isHeld) => {
  const places = callsOn('').map(({ script }) => script.name);
  for (const { script } of callsOn('')) await database.load(script);
  const user = await database.restricted();
  for (const rules of LACKING) {
    await database.redis.flushall();
    if (isHeld) await runAll(database.redis, places.flatMap(makingOf));
    await database.restricted(...rules);
    await runAll(
      user,
      places.map((place, i) => callsOn(place)[i] as ScriptCall),
    );
    expect({ rules, left: await database.redis.eval(KEYS_FOR_EVER, 0) }).toEqual({ rules, left: [] });
  }
});

test('a server whose PEXPIRE is called something else refuses before anything is written', async () => {
  const [{ script, keys, args }] = makingOf('a') as [ScriptCall];
  // As it looks to a script: there is no such command.
  const source = script.source.replaceAll('PEXPIRE', 'PEXPIRE-RENAMED');
  await expect(database.redis.eval(source, keys.length, ...keys, ...args)).rejects.toThrow(/Invalid command/);
  expect(await database.contents()).toEqual({});
});
