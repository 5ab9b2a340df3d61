/** Mistakes that users of idempotency keys make or suffer: each row of the table of docs/guide/once.md. */
import { EmbeddedNode } from 'holdfast-testing';
import { expect, test } from 'vitest';
import { LockConfigError, Locks, OnceFailedError, OnceResultError } from '../../../src/index.ts';
import { gate } from '../../support/gate.ts';
import { rejection } from '../../support/rejection.ts';
import { useScene } from './scene.ts';

const scene = useScene();

const circular: { self?: unknown } = {};
circular.self = circular;

test.each([
  ['too large', 'x'.repeat(101), 'size'],
  ['circular', circular, 'encode'],
  ['a function', () => {}, 'encode'],
  ['a bigint', 1n, 'encode'],
] as const)('a result that cannot be stored never makes the body run again: %s', async (_, value, reason) => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  let runs = 0;
  const body = (): unknown => {
    runs += 1;
    return value;
  };
  const options = { maxBytes: 100, keepMs: 600_000, keepFailureMs: 1_000 };
  const error = await rejection(a.once('k', body, options));
  expect(error).toBeInstanceOf(OnceResultError);
  expect(error).toMatchObject({ code: 'EONCERESULT', reason, outcome: { status: 'fulfilled', value } });
  // For as long as a result would be kept, not as a failure.
  await clock.advance(500_000);
  for (const locks of [a, b]) {
    const kept = await rejection(locks.once('k', body, options));
    expect(kept).toBeInstanceOf(OnceFailedError);
    expect(kept).toMatchObject({ reason: 'unstorable', attempt: 1, original: { code: 'EONCERESULT' } });
  }
  expect(runs).toBe(1);
});

test('nor does a codec whose bytes were transferred elsewhere: the key is not left running', async () => {
  const locks = scene().process();
  const transferred = (): Uint8Array => {
    const bytes = new Uint8Array(8);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    return bytes;
  };
  const codec = { encode: transferred, decode: () => 1 };
  const error = await rejection(locks.once('k', () => 1, { codec }));
  expect(error).toMatchObject({ code: 'EONCERESULT', reason: 'encode', outcome: { value: 1 } });
  expect(await locks.once.peek('k')).toMatchObject({ state: 'failed', reason: 'unstorable' });
});

test('everybody gets the decoded copy, the owner too: a Date is a string for all', async () => {
  const [a, b] = [scene().process(), scene().process()];
  const at = new Date(0).toISOString();
  expect(await a.once('k', () => ({ at: new Date(0) }))).toEqual({ at });
  expect(await b.once('k', () => ({ at: new Date(1) }))).toEqual({ at });
});

test('copies are fresh: what one caller changes no other caller sees', async () => {
  const { clock } = scene();
  const locks = scene().process();
  const { opened, open } = gate();
  const body = (): Promise<number[]> => opened.then(() => [1]);
  const [first, second] = [locks.once('k', body), locks.once('k', body)];
  await clock.advance(0);
  open();
  (await first).push(2);
  expect(await second).toEqual([1]);
});

test.each([[undefined], [null], [''], [0], [false], ['\u0000 ü 😀']])(
  'the result %j is stored as it is',
  async (value) => {
    const [a, b] = [scene().process(), scene().process()];
    expect(await a.once('k', () => value)).toBe(value);
    expect(await b.once('k', () => 'another' as typeof value)).toBe(value);
  },
);

test('a codec writes text or bytes, and reads bytes', async () => {
  const [a, b] = [scene().process(), scene().process()];
  const date = {
    encode: (value: Date) => value.toISOString(),
    decode: (bytes: Uint8Array) => new Date(Buffer.from(bytes).toString()),
  };
  const bytes = {
    encode: (value: Uint8Array) => value,
    decode: (found: Uint8Array) => Uint8Array.from(found),
  };
  const every = Uint8Array.from({ length: 256 }, (_, i) => i);
  expect(await a.once('text', () => new Date(5), { codec: date })).toEqual(new Date(5));
  expect(await b.once('text', () => new Date(6), { codec: date })).toEqual(new Date(5));
  expect(await a.once('bytes', () => every, { codec: bytes })).toEqual(every);
  expect(await b.once('bytes', () => new Uint8Array(), { codec: bytes })).toEqual(every);
});

test('a codec that throws, or returns something else, is told, and nothing runs again', async () => {
  const locks = scene().process();
  const fail = (): never => {
    throw new Error('cannot');
  };
  const result = { encode: () => 'x', decode: fail };
  const unread = await rejection(locks.once('decode', () => 1, { codec: result }));
  expect(unread).toMatchObject({ reason: 'decode', outcome: { status: 'fulfilled', value: 1 } });
  // The bytes are stored: a codec that has been put right reads them.
  expect(await locks.once('decode', () => 2, { codec: { encode: String, decode: () => 7 } })).toBe(7);
  const other = await rejection(locks.once('decode', () => 2));
  expect(other).toMatchObject({ code: 'EONCERESULT', reason: 'decode' });
  expect(other).not.toHaveProperty('outcome');
  for (const [key, encode] of [
    ['throws', fail],
    ['number', () => 1 as never],
    ['surrogate', () => '\ud800'],
  ] as const) {
    const error = await rejection(locks.once(key, () => 1, { codec: { encode, decode: () => 1 } }));
    expect(error).toMatchObject({ code: 'EONCERESULT', reason: 'encode' });
  }
});

test('once inside its own body is an error, at once, at any depth; another key is not', async () => {
  const locks = scene().process();
  const error = await rejection(
    locks.once('k', () => locks.once('other', async () => locks.once('k', () => 1)), { attempts: 1 }),
  );
  expect(error).toBeInstanceOf(LockConfigError);
  expect(await locks.once('a', () => locks.once('b', () => 1))).toBe(1);
});

test('failures are not replayed by default: the next caller runs again until attempts are used up', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  let runs = 0;
  const body = (): never => {
    runs += 1;
    throw new Error(`run ${runs}`);
  };
  const options = { attempts: 3, keepFailureMs: 1_000 };
  for (let i = 1; i <= 3; i += 1) {
    expect(await rejection((i % 2 ? a : b).once('k', body, options))).toMatchObject({ message: `run ${i}` });
  }
  const kept = await rejection(b.once('k', body, options));
  expect(kept).toMatchObject({
    code: 'EONCEFAILED',
    reason: 'failed',
    attempt: 3,
    original: { message: 'run 3' },
  });
  await clock.advance(1_100);
  expect(await b.once('k', ({ attempt }) => attempt, options)).toBe(1);
});

test('with rethrow the first failure is kept for everybody', async () => {
  const [a, b] = [scene().process(), scene().process()];
  await rejection(a.once('k', () => Promise.reject(new Error('x')), { onError: 'rethrow' }));
  expect(await rejection(b.once('k', () => 1))).toMatchObject({ reason: 'failed', attempt: 1 });
});

test('a herd in one process sends one remote waiter, and a handful of commands', async () => {
  const { clock } = scene();
  const { locks, calls } = scene().watchedProcess();
  const { opened, open } = gate();
  const running = scene()
    .process()
    .once('k', () => opened.then(() => [1]));
  await clock.advance(0);
  const herd = Array.from({ length: 500 }, () => locks.once('k', () => [2]));
  await clock.advance(1_000);
  const waitingCalls = calls.made.length;
  open();
  await running;
  await clock.advance(100);
  const results = await Promise.all(herd);
  expect(new Set(results).size).toBe(500);
  expect(results.every((result) => result[0] === 1)).toBe(true);
  expect(waitingCalls).toBeLessThanOrEqual(3);
  expect(calls.made.length).toBeLessThanOrEqual(6);
});

test('a lost message costs at most a few seconds: those who wait ask again at a bounded pace', async () => {
  const { clock, node } = scene();
  const { locks, calls } = scene().watchedProcess();
  const { opened, open } = gate();
  const running = scene()
    .process({ leaseMs: 600_000 })
    .once('k', () => opened);
  await clock.advance(0);
  const waiting = locks.once('k', () => {});
  await clock.advance(60_000);
  expect(calls.made.length).toBeLessThanOrEqual(20);
  expect(calls.made.length).toBeGreaterThanOrEqual(10);
  // Nobody hears of the end.
  const record = await node.command('HGETALL', 'holdfast_once:{k}');
  expect(record).not.toBeNull();
  await node.command('HSET', 'holdfast_once:{k}', 'state', 'done', 'payload', 'j7');
  await clock.advance(6_000);
  expect(await waiting).toBe(7);
  open();
  await running.catch(() => {});
});

test('keys that differ by braces do not share a result', async () => {
  const locks = scene().process();
  expect(await locks.once('a', () => 1)).toBe(1);
  expect(await locks.once('{a}', () => 2)).toBe(2);
  expect(await locks.once(':{a}', () => 3)).toBe(3);
  expect(await locks.once('a', () => 4)).toBe(1);
});

test('once is refused on a quorum, with the reason', async () => {
  const nodes = [new EmbeddedNode(), new EmbeddedNode(), new EmbeddedNode()];
  const locks = new Locks(nodes.map((node) => node.client()));
  for (const call of [locks.once('k', () => 1), locks.once.peek('k'), locks.once.forget('k')]) {
    const error = await rejection(call);
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error).toMatchObject({ message: expect.stringContaining('minority') });
  }
  await locks.destroy();
  await Promise.all(nodes.map((node) => node.close()));
});
