/** How long a process may take to learn of what kind the clients of a sentinel of node-redis are. */
import { expect, test } from 'vitest';
import {
  type Sentinel,
  TemplateSearch,
  templateOf,
} from '../../../src/clients/node-redis/client-template.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ROOTS = [{ host: '127.0.0.1', port: 1 }];

class Client {}

/** A sentinel of a copy of the package of its own, which takes `connectMs` to connect and has a `Client`. */
function sentinelOf(clock: FakeClock, connectMs: number): Sentinel {
  const sentinel: Sentinel = {
    duplicate: () => sentinel,
    connect: () => new Promise((resolve) => void clock.startTimer(connectMs, () => resolve(undefined))),
    destroy: async () => {},
    on: () => {},
    // What is made of it is never called here.
    _execute: (_, fn) => fn(new Client() as Parameters<typeof fn>[0]),
  };
  return sentinel;
}

test('a busy machine that takes seconds to connect has learnt it all the same', async () => {
  const clock = new FakeClock();
  const sentinel = sentinelOf(clock, 3_500);
  const search = new TemplateSearch(sentinel, {}, ROOTS, new TimerQueue(clock));
  await clock.advance(3_500);
  await search.result;
  expect(templateOf(sentinel)).toBeInstanceOf(Client);
});

test('a sentinel that never answers is given up, with the search for the primary that waits for it', async () => {
  const clock = new FakeClock();
  const search = new TemplateSearch(sentinelOf(clock, 60_000), {}, ROOTS, new TimerQueue(clock));
  await clock.advance(4_000);
  await expect(search.result).rejects.toThrow('no answer within 4000 ms');
});
