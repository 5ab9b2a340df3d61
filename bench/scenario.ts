/** One situation in which contestants are compared. */
import type { Entrant } from './contestant.ts';
import type { Progress } from './progress.ts';
import type { Table } from './table.ts';

export interface Context {
  /** A server of our own, for every scenario but the quorum's. */
  readonly port: number;
  readonly isQuick: boolean;
  readonly progress: Progress;
  /** Whom the caller asked for. Yardsticks always play, because ratios need them. */
  isAsked(entrant: Entrant): boolean;
}

export interface Scenario {
  readonly name: string;
  play(context: Context): Promise<Table[]>;
}
