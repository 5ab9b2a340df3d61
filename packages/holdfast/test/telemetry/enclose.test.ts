/** What a subscriber puts around the body of `using`. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, expect, test } from 'vitest';
import { CHANNELS, type UsingTrace } from '../../src/telemetry/channels.ts';
import { Stage } from '../locking/support/stage.ts';
import { uncaughtDuring } from '../locking/support/uncaught.ts';
import { rejection } from '../support/rejection.ts';

const START = `tracing:${CHANNELS.using}:start`;
const user = new AsyncLocalStorage<string>();
const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function onUsing(handle: (trace: UsingTrace) => void): void {
  const listener = (trace: unknown): void => handle(trace as UsingTrace);
  subscribe(START, listener);
  ends.push(() => unsubscribe(START, listener));
}

const lockOf = (name: string) => new Stage().process().lock(name);

test('the body runs in the async context of the subscriber, across awaits, and nothing after it does', async () => {
  onUsing((trace) => {
    trace.enclose = (run) => user.run(`inside ${trace.lease === undefined}`, run);
  });
  const seen: (string | undefined)[] = [];
  await lockOf('a').using(async () => {
    seen.push(user.getStore());
    await Promise.resolve();
    seen.push(user.getStore());
  });
  seen.push(user.getStore());
  expect(seen).toEqual(['inside false', 'inside false', undefined]);
});

test('several subscribers enclose each other', async () => {
  const order: string[] = [];
  for (const name of ['first', 'second']) {
    onUsing((trace) => {
      const inner = trace.enclose;
      trace.enclose = (run) => {
        order.push(name);
        return inner === undefined ? run() : inner(run);
      };
    });
  }
  expect(await lockOf('a').using(() => order.push('body'))).toBe(3);
  expect(order).toEqual(['second', 'first', 'body']);
});

test.each<[string, (run: () => unknown) => unknown]>([
  ['does not run the body', () => {}],
  ['runs the body twice', (run) => [run(), run()]],
  ['returns something else', (run) => [run(), 'something else']],
])('a function that %s changes neither the body nor its result', async (_, enclose) => {
  onUsing((trace) => {
    trace.enclose = enclose;
  });
  let runs = 0;
  expect(await lockOf('a').using(async () => ++runs)).toBe(1);
  expect(runs).toBe(1);
  const error = new Error('of the body');
  const thrown = lockOf('b').using(() => {
    throw error;
  });
  expect(await rejection(thrown)).toBe(error);
});

test('a function that throws is told to the process, and the body runs all the same', async () => {
  const error = new Error('of the subscriber');
  onUsing((trace) => {
    trace.enclose = () => {
      throw error;
    };
  });
  const uncaught = await uncaughtDuring(async () => {
    expect(await lockOf('a').using(() => 'done')).toBe('done');
  });
  expect(uncaught).toEqual([error]);
});
