/** The scenarios, in the order in which they are played and told. */
import type { Scenario } from './scenario.ts';
import { callers } from './scenarios/callers.ts';
import { heap } from './scenarios/heap.ts';
import { oneCaller } from './scenarios/one-caller.ts';
import { processes } from './scenarios/processes.ts';
import { quorum } from './scenarios/quorum.ts';
import { renewal } from './scenarios/renewal.ts';
import { sale } from './scenarios/sale.ts';
import { waiters } from './scenarios/waiters.ts';
import { wake } from './scenarios/wake.ts';

export const PROGRAMME: readonly Scenario[] = [
  oneCaller,
  callers,
  waiters,
  processes,
  wake,
  quorum,
  renewal,
  heap,
  sale,
];
