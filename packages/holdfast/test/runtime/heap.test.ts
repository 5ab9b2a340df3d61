import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Heap, type HeapItem } from '../../src/runtime/heap.ts';
import { SEED } from '../locking/support/seed.ts';

interface Timed extends HeapItem {
  dueMs: number;
}

const item = (dueMs: number): Timed => ({ dueMs, heapIndex: -1 });

type Step =
  | { readonly does: 'push'; readonly dueMs: number }
  | { readonly does: 'take' }
  | { readonly does: 'remove'; readonly at: number }
  | { readonly does: 'reschedule'; readonly at: number; readonly dueMs: number };

// Few different times, so that equal ones are common.
const dueMs = fc.integer({ min: 0, max: 12 });
const at = fc.nat(1_000);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ does: fc.constant('push' as const), dueMs }) },
    fc.record({ does: fc.constant('take' as const) }),
    fc.record({ does: fc.constant('remove' as const), at }),
    { weight: 2, arbitrary: fc.record({ does: fc.constant('reschedule' as const), at, dueMs }) },
  ),
  { maxLength: 200 },
);

describe('a heap', () => {
  test('equals a sorted array under any pushes, removals and changes of time', () => {
    fc.assert(
      fc.property(steps, (history) => {
        const heap = new Heap<Timed>();
        const model: Timed[] = [];
        const drop = (gone: Timed | undefined): void => {
          if (gone === undefined) return;
          heap.remove(gone);
          model.splice(model.indexOf(gone), 1);
          expect(gone.heapIndex).toBe(-1);
        };
        for (const step of history) {
          const chosen = 'at' in step ? model[step.at % (model.length || 1)] : undefined;
          if (step.does === 'push') {
            const added = item(step.dueMs);
            heap.put(added, step.dueMs);
            model.push(added);
          } else if (step.does === 'take') drop(heap.peek());
          else if (step.does === 'remove') drop(chosen);
          else if (chosen !== undefined) {
            chosen.dueMs = step.dueMs;
            heap.put(chosen, step.dueMs);
          }
          expect(heap.size).toBe(model.length);
          const firstDueMs = Math.min(...model.map((left) => left.dueMs));
          expect(heap.firstDueMs).toBe(firstDueMs);
          expect(heap.peek()?.dueMs ?? Number.POSITIVE_INFINITY).toBe(firstDueMs);
        }
        const expected = model.map((left) => left.dueMs).toSorted((a, b) => a - b);
        const drained: number[] = [];
        for (let first = heap.peek(); first !== undefined; first = heap.peek()) {
          drained.push(first.dueMs);
          heap.remove(first);
        }
        expect(drained).toEqual(expected);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  test('takes the removal of an item that it does not have for done', () => {
    const heap = new Heap<Timed>();
    heap.put(item(1), 1);
    const stranger = item(0);
    heap.remove(stranger);
    expect(heap.size).toBe(1);
  });
});
