/** Whatever rights a user lacks, none of our scripts leaves a key that never expires. */
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import type { ScriptCall } from '../../src/clients/client.ts';
import {
  adminForceReleaseLock,
  adminForceReleaseMutex,
  type JobStartInput,
  jobFinish,
  jobStart,
  type LockAcquireInput,
  lockAcquire,
  lockRaise,
  lockRecount,
  lockRelease,
  lockRenew,
  type MutexAcquireInput,
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
/** Where those who wait hear that they are the owner. Without a listener they are passed over. */
const MAILBOX = 'holdfast_session:';
const TICKET = `1.1.ab 1000 p ${MAILBOX}a`;

function askForLock(place: string, changes: Partial<LockAcquireInput> = {}): ScriptCall {
  const lock = `lock:${place}`;
  return lockAcquire.call({
    ...{ ...HOLD, lock, fence: `redisson_lock_token:{${lock}}`, fences: 1, fenceTtlMs: 600_000 },
    ...{ notAfterMs: 0, wantsTime: 1, commonUs: 0, line: `holdfast_line:{${lock}}`, ticket: TICKET },
    ...changes,
  });
}

function askForMutex(place: string, changes: Partial<MutexAcquireInput> = {}): ScriptCall {
  return mutexAcquire.call({
    ...{ mutex: `mutex:${place}`, line: `holdfast_line:{mutex:${place}}`, token: TOKEN },
    ...{ leaseMs: HOLD.leaseMs, notAfterMs: 0, ticket: TICKET },
    ...changes,
  });
}

/** A run outside of the schedule, now. */
function startJob(place: string, changes: Partial<JobStartInput> = {}): ScriptCall {
  return jobStart.call({
    ...{ ...HOLD, lock: `job_lock:${place}`, fence: `job_fence:${place}`, job: `job:${place}` },
    ...{ fenceTtlMs: 600_000, notAfterMs: 0, slotMs: 0, nextMs: 0, lateMs: -1, attempts: 1, restMs: 0 },
    ...{ isKnown: 1, host: 'host', spec: '' },
    ...changes,
  });
}

/** How each key comes to be, for the scripts that find it there. */
function makingOf(place: string): readonly ScriptCall[] {
  return [
    askForLock(place),
    askForMutex(place),
    startJob(place),
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

/** The second who asks, and waits in line where there is an owner. */
function waitingOf(place: string): readonly ScriptCall[] {
  const ticket = TICKET.replace('ab', 'cd');
  return [
    askForLock(place, { holder: 'session:2', ticket }),
    askForMutex(place, { token: 'token-2:holdfast', ticket }),
  ];
}

/** Every script that writes a lock, a mutex, a line, a counter, a job or a record. */
function callsOn(place: string): readonly ScriptCall[] {
  const [lock, mutex] = [`lock:${place}`, `mutex:${place}`];
  const fence = `redisson_lock_token:{${lock}}`;
  const line = `holdfast_line:{${lock}}`;
  const leaseMs = 2 * HOLD.leaseMs;
  // A hold that goes on: its lease grows, and its counter with it.
  const held = { ...HOLD, lock, fence, leaseMs, lastFence: 1_999_999_999_999_999, fenceTtlMs: 600_000 };
  return [
    ...makingOf(place),
    ...waitingOf(place),
    // A slot that does not run is written without a lock: the first that is known, and one that is too late.
    startJob(place, { slotMs: 1_000, isKnown: 0 }),
    startJob(place, { slotMs: 1_000, lateMs: 1 }),
    jobFinish.call({
      ...{ lock: `job_lock:${place}`, job: `job:${place}`, holder: HOLD.holder, slotMs: 0, attempt: 1 },
      ...{ state: 'retry', text: 'no paper', retryMs: 1_000, channel: 'channel', mode: 'plain' },
    }),
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
    adminForceReleaseLock.call({
      ...{ lock, fence, line, owner: '', channel: 'channel', mode: 'plain', mailbox: MAILBOX, words: 'why' },
    }),
    adminForceReleaseMutex.call({
      ...{ mutex, line: `holdfast_line:{${mutex}}`, owner: '', channel: 'channel', mode: 'plain' },
      ...{ mailbox: MAILBOX, words: 'why' },
    }),
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
  // Only keys of one kind may get an expiry.
  ...['lock', 'job_lock', 'job', 'once', 'once_record', 'holdfast_line', 'redisson_lock_token'].map(
    (kind) => ['-pexpire', `(~${kind}:* +@all)`],
  ),
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

/** A lock, a mutex, and the locks of a once key and of a job. */
const HOLDS = /^(lock|mutex|once|job_lock):/;

/** What stands there when a user comes that lacks rights. */
const BEFORE: Readonly<Record<string, (places: readonly string[]) => Promise<unknown>>> = {
  free: async () => {},
  held: (places) => runAll(database.redis, places.flatMap(makingOf)),
  'held and waited for': seizeAndWait,
  'waited for, and its owner gone': async (places) => {
    await seizeAndWait(places);
    await forget((key) => HOLDS.test(key));
  },
  'held, and its records gone': async (places) => {
    await runAll(database.redis, places.flatMap(makingOf));
    await forget((key) => !HOLDS.test(key));
  },
};

async function forget(isForgotten: (key: string) => boolean): Promise<void> {
  const keys = await database.redis.keys('*');
  await database.redis.del(keys.filter(isForgotten));
}

async function seizeAndWait(places: readonly string[]): Promise<void> {
  await runAll(database.redis, [...places.flatMap(makingOf), ...places.flatMap(waitingOf)]);
}

test.each(Object.entries(BEFORE))(
  'no lack of rights leaves a key without an expiry where all is %s',
  async (_what, before) => {
    // Each call has keys of its own.
    const places = callsOn('').map(({ script }, i) => `${script.name}:${i}`);
    for (const { script } of callsOn('')) await database.load(script);
    await database.listen(`${MAILBOX}a`);
    const user = await database.restricted();
    for (const rules of LACKING) {
      await database.redis.flushall();
      await before(places);
      await database.restricted(...rules);
      await runAll(
        user,
        places.map((place, i) => callsOn(place)[i] as ScriptCall),
      );
      expect({ rules, left: await database.redis.eval(KEYS_FOR_EVER, 0) }).toEqual({ rules, left: [] });
    }
  },
);

test('a server whose PEXPIRE is called something else refuses before anything is written', async () => {
  const [{ script, keys, args }] = makingOf('a') as [ScriptCall];
  // As it looks to a script: there is no such command.
  const source = script.source.replaceAll('PEXPIRE', 'PEXPIRE-RENAMED');
  await expect(database.redis.eval(source, keys.length, ...keys, ...args)).rejects.toThrow(/Invalid command/);
  expect(await database.contents()).toEqual({});
});
