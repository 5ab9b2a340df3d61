/** A scenario is one situation in which participants are measured side by side. */
import type { Table } from '../output/table.ts';
import type { Selection } from '../participants/selection.ts';
import type { Progress } from '../run/progress.ts';

export interface Context extends Selection {
  /** The benchmark's own server, for every scenario but the quorum's. */
  readonly port: number;
  /** The process of that server. */
  readonly serverPid: number;
  /** The number of rounds that the command line asked for; null leaves it to the scenario. */
  readonly rounds: number | null;
  readonly progress: Progress;
}

export interface Scenario {
  readonly name: string;
  measure(context: Context): Promise<Table[]>;
}

/** How much to measure: the scenario's quick or full extent, with the asked number of rounds. */
export function extentOf<Extent extends { readonly rounds: number }>(
  { isQuick, rounds }: Context,
  quick: Extent,
  full: Extent,
): Extent {
  const extent = isQuick ? quick : full;
  return rounds === null ? extent : { ...extent, rounds };
}
