/** Many calls of a script as one: each answers and does what it would have by itself. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallFailure, type ScriptCall, type ScriptText } from '../../src/clients/client.ts';
import { answersOf, scriptRequestOf } from '../../src/clients/connection/bundle.ts';
import { Call } from '../../src/clients/connection/call.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { lockAcquire, lockRelease, mutexAcquire, mutexRelease } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();
const RUNS = 60;

/** Long past, or never: what the server's clock says must not matter. */
const LATE_MS = 1;

function asCalls(requests: readonly ScriptCall[]): Call[] {
  const timers = new TimerQueue(systemClock);
  return requests.map((request) => new Call(request, { timeoutMs: 1_000 }, timers));
}

/** Without what depends on the time of the day. */
function plain(answer: unknown): unknown {
  if (answer instanceof CallFailure) return `${answer.kind} ${answer.word}`;
  if (Array.isArray(answer)) return answer.map(plain);
  return typeof answer === 'number' && answer > 10_000 ? 'a time' : answer;
}

async function together(requests: readonly ScriptCall[]): Promise<unknown[]> {
  const calls = asCalls(requests);
  return answersOf(calls, await database.run(scriptRequestOf(calls))).map(plain);
}

async function singly(requests: readonly ScriptCall[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const request of requests) {
    const answer = await database.run(request).catch((error: Error) => {
      return new CallFailure('reply', error.message, error.message.split(' ')[0]);
    });
    answers.push(plain(answer));
  }
  return answers;
}

/** All times to live are multiples of it: how many of them one began with shows for this long, whatever the machine does. */
const TTL_STEP_MS = 10_000;

/** A line of waiters without its times. */
function timeless(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(/\d{13,}/g, 'a time'));
}

/** Every key as it stands, its fences and times put aside. */
async function contents(): Promise<Record<string, unknown>> {
  const found = await database.contents();
  for (const key of Object.keys(found)) {
    const ttlMs = await database.redis.pttl(key);
    const value =
      key.startsWith('fence:') && /^\d+$/.test(String(found[key])) ? 'a fence' : timeless(found[key]);
    found[key] = [value, ttlMs < 0 ? ttlMs : Math.ceil(ttlMs / TTL_STEP_MS)];
  }
  return found;
}

async function prepare(): Promise<void> {
  await database.redis.flushall();
  await database.redis.rpush('k0', 'a list');
  await database.redis.hset('k1', 'h1', '1');
  await database.redis.pexpire('k1', 60_000);
  await database.redis.set('k2', 'h1', 'PX', 60_000);
  await database.redis.set('fence:k3', 'no number');
  // Free, with a wait in its line; and one whose line cannot be read.
  const place = { lock: 'k4', fence: 'fence:k4', line: 'line:k4' };
  const waiting = { leaseMs: 20_000, fences: 1, fenceTtlMs: 0, notAfterMs: 0, wantsTime: 0, commonUs: 0 };
  await database.run(lockAcquire.call({ ...place, ...waiting, holder: 'h3', ticket: '' }));
  await database.run(lockAcquire.call({ ...place, ...waiting, holder: 'h2', ticket: '3.1.ab 1000 n news' }));
  await database.redis.del('k4');
  await database.redis.set('line:k5', 'no line', 'PX', 60_000);
}

const key = fc.integer({ min: 0, max: 6 }).map((n) => `k${n}`);
const holder = fc.constantFrom('h1', 'h2');
const leaseMs = fc.constantFrom(20_000, 40_000);
const notAfterMs = fc.constantFrom(0, LATE_MS);
const ticket = fc.constantFrom('', '-', '1.1.ab 1000 n news', '2.1.ab 1000 p news');

const SCRIPTS: readonly { readonly text: ScriptText; readonly call: fc.Arbitrary<ScriptCall> }[] = [
  {
    text: mutexAcquire.text,
    call: fc
      .record({ mutex: key, token: holder, leaseMs, notAfterMs, ticket })
      .map((input) => mutexAcquire.call({ ...input, line: `line:${input.mutex}` })),
  },
  {
    text: mutexRelease.text,
    call: fc
      .record({
        mutex: key,
        token: holder,
        channel: fc.constant('news'),
        mode: fc.constantFrom('nobody', 'plain'),
        isVote: fc.constantFrom(0, 1),
      })
      .map((input) => mutexRelease.call({ ...input, line: `line:${input.mutex}` })),
  },
  {
    text: lockAcquire.text,
    call: fc
      .record({
        lock: key,
        holder,
        leaseMs,
        fences: fc.constantFrom(1, 3),
        fenceTtlMs: fc.constantFrom(0, 90_000),
        notAfterMs,
        wantsTime: fc.constantFrom(0, 1),
        commonUs: fc.constantFrom(0, 1),
        ticket,
      })
      .map((input) =>
        lockAcquire.call({ ...input, fence: `fence:${input.lock}`, line: `line:${input.lock}` }),
      ),
  },
  {
    text: lockRelease.text,
    call: fc
      .record({
        lock: key,
        holder,
        channel: fc.constant('news'),
        mode: fc.constantFrom('nobody', 'plain'),
        isVote: fc.constantFrom(0, 1),
      })
      .map((input) =>
        lockRelease.call({ ...input, fence: `fence:${input.lock}`, line: `line:${input.lock}` }),
      ),
  },
];

test.each(SCRIPTS)(
  '$text.name: a bundle answers and leaves what its calls do one by one',
  async ({ text, call }) => {
    expect(text.bundle).toBeDefined();
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 2, maxLength: 12 }), async (requests) => {
        await prepare();
        const expected = { answers: await singly(requests), contents: await contents() };
        await prepare();
        expect({ answers: await together(requests), contents: await contents() }).toEqual(expected);
      }),
      { numRuns: RUNS },
    );
  },
);

test('128 of them fit into one request', async () => {
  const terms = { leaseMs: 30_000, notAfterMs: 0, ticket: '' };
  const requests = Array.from({ length: 128 }, (_, i) =>
    mutexAcquire.call({ ...terms, mutex: `m${i}`, line: `line:m${i}`, token: `t${i}` }),
  );
  expect(await together(requests)).toEqual(requests.map(() => 'a time'));
  expect(Object.keys(await database.contents())).toHaveLength(128);
});

test('fences of a bundle grow for one name and are above the clock for each', async () => {
  const before = (await database.nowMs()) * 1000;
  const terms = { leaseMs: 30_000, fences: 1, fenceTtlMs: 0, notAfterMs: 0, wantsTime: 0, commonUs: 0 };
  const more = { ticket: '' };
  const calls = asCalls(
    ['a', 'b', 'c'].map((lock) =>
      lockAcquire.call({
        ...terms,
        ...more,
        lock,
        fence: `fence:${lock}`,
        line: `line:${lock}`,
        holder: lock,
      }),
    ),
  );
  for (const fence of answersOf(calls, await database.run(scriptRequestOf(calls)))) {
    expect(fence).toBeGreaterThan(before);
  }
});

test('a user without TIME is refused before anything is done', async () => {
  const terms = { leaseMs: 30_000, notAfterMs: 0, ticket: '' };
  const calls = asCalls(
    ['a', 'b'].map((mutex) => mutexAcquire.call({ ...terms, mutex, line: `line:${mutex}`, token: 't' })),
  );
  const restricted = await database.restricted('-time');
  await expect(database.run(scriptRequestOf(calls), restricted)).rejects.toThrow(
    /can't run this command|ACL failure|NOPERM/,
  );
  expect(await database.contents()).toEqual({});
});
