/** Lets every rule look at the figures of one moment. */
import type { Figures } from '../../figures.ts';
import { CounterWindows } from './counter-window.ts';
import { type OwnCondition, observeFleet } from './observe-fleet.ts';
import { observeLocks } from './observe-locks.ts';
import { observeServers } from './observe-servers.ts';
import type { Judgement } from './rule.ts';

/** Remembers what the rules that count events need of the minutes before. */
export class Judge {
  readonly #windows = new CounterWindows();

  look(figures: Figures, own: OwnCondition): Judgement[] {
    return [
      ...observeServers(figures, this.#windows),
      ...observeLocks(figures),
      ...observeFleet(figures, own),
    ];
  }
}
