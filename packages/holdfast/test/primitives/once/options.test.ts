/** Bad input is told before any work; a good one is documented in docs/reference/options.md. */
import { expect, test } from 'vitest';
import { LockConfigError, type OnceOptions } from '../../../src/index.ts';
import { gate } from '../../support/gate.ts';
import { rejection } from '../../support/rejection.ts';
import { useScene } from './scene.ts';

const scene = useScene();

test.each([
  [{ keepMs: 999 }, 'keepMs to be an integer from 1000 to 31622400000, got 999'],
  [{ keepFailureMs: 0 }, 'keepFailureMs to be an integer from 1 '],
  [{ onError: 'ignore' }, "onError to be one of 'retry', 'rethrow', got \"ignore\""],
  [{ attempts: 0 }, 'attempts to be an integer from 1 '],
  [{ attempts: 1.5 }, 'attempts to be an integer from 1 '],
  [{ fingerprint: '' }, 'fingerprint to be a non-empty string of at most 128 bytes'],
  [{ fingerprint: 'é'.repeat(65) }, 'got 130 bytes'],
  [{ fingerprint: '\ud800' }, 'fingerprint to be a non-empty string'],
  [{ maxBytes: 0 }, 'maxBytes to be an integer from 1 to 16777216, got 0'],
  [{ codec: {} }, 'codec.encode to be a function, got undefined'],
  [{ codec: { encode: String } }, 'codec.decode to be a function, got undefined'],
  [{ codec: 5 }, 'codec to be an object, got 5'],
  [{ waitMs: -1 }, 'waitMs to be a number of at least 0, got -1'],
  [{ leaseMs: 1 }, 'leaseMs to be an integer from 4 '],
  [{ signal: 5 }, 'signal to be an AbortSignal, got 5'],
  [{ keepForMs: 5 }, 'an option of once among keepMs, '],
  [5, 'the options of once to be an object, got 5'],
])('the options %j are refused', async (options, text) => {
  const { locks, calls } = scene().watchedProcess();
  const error = await rejection(locks.once('k', () => 1, options as OnceOptions<number>));
  expect(error).toBeInstanceOf(LockConfigError);
  expect(error).toMatchObject({ message: expect.stringContaining(`expected`) });
  expect(error).toMatchObject({ message: expect.stringContaining(text) });
  expect(calls.made).toEqual([]);
});

test('a bad key or body is refused', async () => {
  const locks = scene().process();
  expect(await rejection(locks.once('', () => 1))).toBeInstanceOf(LockConfigError);
  expect(await rejection(locks.once('k', 5 as never))).toMatchObject({
    message: 'expected the body of once to be a function, got 5',
  });
  expect(await rejection(locks.once.peek(5 as never))).toBeInstanceOf(LockConfigError);
  expect(await rejection(locks.once.forget(''))).toBeInstanceOf(LockConfigError);
});

test('an aborted signal ends a wait, and not a run that has begun', async () => {
  const { clock } = scene();
  const [a, b] = [scene().process(), scene().process()];
  expect(await rejection(a.once('k', () => 1, { signal: AbortSignal.abort('why') }))).toBe('why');
  const controller = new AbortController();
  const { opened, open } = gate();
  const running = a.once('k', () => opened.then(() => 1), { signal: controller.signal });
  await clock.advance(0);
  const waiting = rejection(b.once('k', () => 2, { signal: controller.signal }));
  await clock.advance(0);
  controller.abort('enough');
  expect(await waiting).toMatchObject({ code: 'ELOCKABORTED', cause: 'enough' });
  open();
  expect(await running).toBe(1);
});
