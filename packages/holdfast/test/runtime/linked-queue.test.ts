import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LinkedItem, LinkedQueue } from '../../src/runtime/linked-queue.ts';
import { SEED } from '../locking/support/seed.ts';

class Item implements LinkedItem<Item> {
  previous: Item | null = null;
  next: Item | null = null;
  queue: object | null = null;
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constantFrom('push' as const, 'push first' as const) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('leave' as const), at: fc.nat(100) }) },
);

describe('a linked queue', () => {
  test('equals an array under any arrivals and departures', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (history) => {
        const queue = new LinkedQueue<Item>();
        let model: Item[] = [];
        for (const now of history) {
          if (now.does === 'leave') {
            const gone = model[now.at % (model.length || 1)];
            if (gone !== undefined) expect(queue.remove(gone)).toBe(true);
            model = model.filter((left) => left !== gone);
            expect([gone?.queue ?? null, gone?.next ?? null, gone?.previous ?? null]).toEqual([
              null,
              null,
              null,
            ]);
          } else {
            const added = new Item();
            if (now.does === 'push') queue.push(added);
            else queue.pushFirst(added);
            model = now.does === 'push' ? [...model, added] : [added, ...model];
          }
          expect([...queue]).toEqual(model);
          expect([queue.size, queue.head]).toEqual([model.length, model[0] ?? null]);
        }
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  test('takes the removal of an item that stands elsewhere for done', () => {
    const [queue, other] = [new LinkedQueue<Item>(), new LinkedQueue<Item>()];
    const elsewhere = new Item();
    other.push(elsewhere);
    queue.push(new Item());
    expect([queue.remove(elsewhere), queue.remove(new Item())]).toEqual([false, false]);
    expect([queue.size, other.size]).toEqual([1, 1]);
  });

  test('can be walked over while each item leaves', () => {
    const queue = new LinkedQueue<Item>();
    for (let i = 0; i < 5; i += 1) queue.push(new Item());
    for (const item of queue) queue.remove(item);
    expect([queue.size, queue.head]).toEqual([0, null]);
  });
});
