/** What happened and why, for somebody who has never used a lock. */
import { type Line, styled } from '../output.ts';
import { whole } from './progress.ts';
import type { RoundResult } from './round.ts';

/** From examples/inventory/shop.ts. */
export const CODE: readonly string[] = [
  'this.#locks.lock(this.#item).using(',
  '  async ({ fence }): Promise<Sale> => {',
  '    this.#selling = fence;',
  '    const left = await this.#stock.read(fence);',
  "    if (left <= 0) return { result: 'sold out' };",
  '    if (thinkMs > 0) await sleep(thinkMs);',
  '    const isWritten = await this.#stock.writeFenced(left - 1, fence);',
  "    return isWritten ? { result: 'sold', left: left - 1, fence } : { result: 'refused', fence };",
  '  },',
  '  { waitMs: WAIT_MS },',
  ');',
];

/** `refuser` is what has the stock: it refuses the late write. */
export function summarize(results: readonly RoundResult[], leaseMs: number, refuser: string): Line[] {
  return [
    '',
    [styled('bold', 'What happened')],
    ...results.flatMap((result) => explain(result, leaseMs, refuser).map((line) => `  ${line}`)),
    '',
    [styled('bold', 'The code that did it')],
    ...CODE.map((line) => ['  ', styled('cyan', line)]),
    '',
    'The whole shop is in examples/inventory. Next: docs/guide/quick-start.md',
  ];
}

function explain(result: RoundResult, leaseMs: number, refuser: string): string[] {
  const { round, sold, stock, oversold, lostUpdates, handovers, refusedWrites } = result;
  switch (round) {
    case 'without': {
      const over =
        oversold > 0
          ? `${whole(sold)} people paid for ${whole(stock)} items`
          : `the stock missed ${whole(lostUpdates)} sales`;
      return [
        `Without a lock ${over}: two shops read the same number, and both wrote`,
        'one less. Every sale looked right to the shop that made it.',
      ];
    }
    case 'with':
      return [
        `With the lock ${whole(sold)} sales took ${whole(sold)} items: one shop at a time reads and writes. It went from shop`,
        `to shop ${whole(handovers ?? 0)} times; buyers in one shop pass it on among themselves.`,
      ];
    case 'killed':
      return [
        `A shop that was killed could not let go of the lock. Redis did, when its lease of ${leaseMs / 1000} s was over,`,
        'and the others went on. Nothing was sold twice.',
      ];
    case 'frozen':
      return [
        'A shop that stood still believed, when it woke, that it held the lock. Others had sold meanwhile.',
        refusedWrites > 0
          ? `Its write carried an older fence than theirs, so ${refuser} refused it.`
          : 'Its write was not refused: something is wrong.',
      ];
  }
}
