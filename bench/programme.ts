/** The scenarios, in the order in which they are played and told. */
import type { Scenario } from './scenario.ts';
import { callers } from './scenarios/callers.ts';
import { oneCaller } from './scenarios/one-caller.ts';
import { processes } from './scenarios/processes.ts';
import { quorum } from './scenarios/quorum.ts';

export const PROGRAMME: readonly Scenario[] = [oneCaller, callers, processes, quorum];
