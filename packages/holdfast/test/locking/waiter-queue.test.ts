import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Waiter } from '../../src/locking/waiter.ts';
import { WaiterQueue } from '../../src/locking/waiter-queue.ts';
import { resolveAcquireOptions, resolveLocksOptions } from '../../src/options/options.ts';
import { LockProtocol } from '../../src/primitives/lock/protocol.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { SEED } from './support/seed.ts';

const timers = new TimerQueue(new FakeClock());

function waiter(isTry = false): Waiter<string> {
  return new Waiter<string>(
    timers,
    new LockProtocol('a', 'a', 0),
    resolveAcquireOptions({}, resolveLocksOptions({}), isTry),
    0,
  );
}

function inOrder(queue: WaiterQueue<string>): Waiter<string>[] {
  const found: Waiter<string>[] = [];
  for (let each = queue.head; each !== null; each = each.next) found.push(each);
  return found;
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('push' as const), isTry: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('leave' as const), at: fc.nat(100) }) },
  fc.record({ does: fc.constant('take the tries' as const) }),
  fc.record({ does: fc.constant('take all' as const) }),
);

describe('a queue of waiters', () => {
  test('equals an array under any arrivals and departures', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (history) => {
        const queue = new WaiterQueue<string>();
        let model: Waiter<string>[] = [];
        let emptied = 0;
        let expectedEmptied = 0;
        queue.onEmpty = () => (emptied += 1);
        for (const now of history) {
          const before = model.length;
          if (now.does === 'push') {
            const added = waiter(now.isTry);
            queue.push(added);
            model.push(added);
          } else if (now.does === 'leave') {
            const gone = model[now.at % (model.length || 1)];
            if (gone !== undefined) queue.remove(gone);
            model = model.filter((left) => left !== gone);
          } else {
            const isTaken = (each: Waiter<string>): boolean => now.does === 'take all' || each.options.isTry;
            const taken = now.does === 'take all' ? queue.takeAll() : queue.takeTries();
            expect(taken).toEqual(model.filter(isTaken));
            expect(taken.every(({ queue, next, previous }) => queue === null && !next && !previous)).toBe(
              true,
            );
            model = model.filter((left) => !isTaken(left));
          }
          if (before > 0 && model.length === 0) expectedEmptied += 1;
          expect(inOrder(queue)).toEqual(model);
          expect([queue.size, emptied]).toEqual([model.length, expectedEmptied]);
        }
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  test('takes the removal of a waiter that stands elsewhere for done', () => {
    const [queue, other] = [new WaiterQueue<string>(), new WaiterQueue<string>()];
    const elsewhere = waiter();
    other.push(elsewhere);
    queue.push(waiter());
    queue.remove(elsewhere);
    queue.remove(waiter());
    expect([queue.size, other.size]).toEqual([1, 1]);
  });

  test('lets a waiter go when it settles', async () => {
    const queue = new WaiterQueue<string>();
    const [first, second] = [waiter(), waiter()];
    queue.push(first);
    queue.push(second);
    first.resolve('in');
    expect(queue.head).toBe(second);
    expect(await first.promise).toBe('in');
  });
});
