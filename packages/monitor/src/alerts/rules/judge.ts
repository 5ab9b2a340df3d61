/** Lets every rule look at the figures of one moment. */
import type { Figures } from '../../figures.ts';
import { CounterWindows } from './counter-window.ts';
import { type OwnCondition, observeFleet } from './observe-fleet.ts';
import { observeLocks } from './observe-locks.ts';
import { observeServers } from './observe-servers.ts';
import type { OpenAlert } from './open-alerts.ts';
import type { Judgement } from './rule.ts';

/** Remembers what the rules that count events need of the minutes before. */
export class Judge {
  readonly #windows = new CounterWindows();

  /** `alerts`: as the state has them. */
  look(figures: Figures, own: OwnCondition, alerts: readonly OpenAlert[]): Judgement[] {
    return [
      ...observeServers(figures, this.#windows, alerts),
      ...observeLocks(figures, alerts),
      ...observeFleet(figures, own),
    ];
  }
}
