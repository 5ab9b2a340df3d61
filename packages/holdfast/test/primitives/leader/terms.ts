/** The terms of leaders that campaign side by side. */
import { expect } from 'vitest';
import type { LeaderBody } from '../../../src/index.ts';
import { untilAborted } from './until-aborted.ts';

export class Terms {
  readonly all: { readonly who: number; readonly fence: number; isOver: boolean }[] = [];

  /** Terms that began before another was over, by who led. A body that throws would only end its own leader's run. */
  readonly #early: number[] = [];

  /** Leads until told to stop. */
  bodyOf(who: number): LeaderBody {
    return async ({ signal, fence }) => {
      if (!this.all.every(({ isOver }) => isOver)) this.#early.push(who);
      const term = { who, fence, isOver: false };
      this.all.push(term);
      await untilAborted(signal);
      term.isOver = true;
    };
  }

  /** Each process has led, with growing fences, and no two at once. */
  expectTurnOfEach(processes: number): void {
    const fences = this.all.map(({ fence }) => fence);
    expect(this.#early).toEqual([]);
    expect(new Set(this.all.map(({ who }) => who)).size).toBe(processes);
    expect([...new Set(fences)].sort((a, b) => a - b)).toEqual(fences);
  }
}
