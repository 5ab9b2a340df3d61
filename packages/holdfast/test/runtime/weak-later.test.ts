import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { WeakLater } from '../../src/runtime/weak-later.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Made in a function of its own, so that no variable of the test holds the object. */
const watched = (): WeakLater<object> => new WeakLater({});

async function collectAll(): Promise<void> {
  for (let i = 0; i < 3; i += 1) {
    await nextTurn();
    collect();
  }
}

test('a reference keeps its object until it is first looked at', async () => {
  const reference = watched();
  await collectAll();
  expect(reference.isGone()).toBe(false);
});

test('a reference that was looked at lets its object go', async () => {
  const reference = watched();
  reference.isGone();
  await collectAll();
  expect(reference.isGone()).toBe(true);
});

test('a reference to an object in use never says that it is gone', async () => {
  const object = {};
  const reference = new WeakLater(object);
  reference.isGone();
  await collectAll();
  expect([reference.isGone(), object]).toEqual([false, {}]);
});
