/** The terms of leaders that campaign side by side. */
import { expect } from 'vitest';
import type { LeaderBody } from '../../../src/index.ts';
import { untilAborted } from './until-aborted.ts';

export class Terms {
  readonly all: { readonly who: number; readonly fence: number; isOver: boolean }[] = [];

  /** Leads until told to stop. No term may begin before the one before it is over. */
  bodyOf(who: number): LeaderBody {
    return async ({ signal, fence }) => {
      expect(this.all.every(({ isOver }) => isOver)).toBe(true);
      const term = { who, fence, isOver: false };
      this.all.push(term);
      await untilAborted(signal);
      term.isOver = true;
    };
  }

  /** Each of so many has led once, with growing fences. */
  expectTurnOfEach(processes: number): void {
    const fences = this.all.map(({ fence }) => fence);
    expect(new Set(this.all.map(({ who }) => who)).size).toBe(processes);
    expect([...new Set(fences)].sort((a, b) => a - b)).toEqual(fences);
  }
}
