/** Which faults a seed turns on: a random few (swarm testing), so that each is also seen without the others in its way. */
import type { Prng } from './prng.ts';

/** Faults that the promises of a lock are made for. */
const BEARABLE = [
  'slow network',
  'stall',
  'cut',
  'half-open',
  'stray',
  'resend',
  'pause',
  'crash',
  'suspend',
  'client wall jump',
  'drift',
  'freeze',
  'restart with everything',
  'script flush',
  'close',
  'evict counter',
  'message lost',
  'message late',
  'message doubled',
  'subscription cut',
  'line lost',
  'far process',
  'guest',
  'freeze at grant',
  'abort at grant',
  'close at grant',
] as const;

/** Faults of the line of waiters, which several nodes do not have. */
const OF_THE_LINE: readonly Fault[] = [
  'message lost',
  'message late',
  'message doubled',
  'subscription cut',
  'line lost',
  'far process',
  'guest',
  'freeze at grant',
  'abort at grant',
  'close at grant',
];

/** Faults that can give a lock to two owners: only fences help then. */
const BREAKING = [
  'restart with nothing',
  'restart without the last second',
  'flush',
  'delete',
  'node jump forward',
  'node jump back',
] as const;

export const FAULTS = [...BEARABLE, ...BREAKING] as const;

export type Fault = (typeof FAULTS)[number];

export interface FaultSelection {
  readonly faults: ReadonlySet<Fault>;
  /** No fault is on that can give a lock to two owners. */
  readonly isInModel: boolean;
}

const FAULT_CHANCE = 0.3;
const MODEL_SHARE = 0.65;

/** Several nodes bear the loss of one's memory: who has restarted does not vote until every lease has run out. */
const BEARABLE_BY_SEVERAL: readonly Fault[] = ['restart with nothing', 'restart without the last second'];

function breakingFaults(nodes: number): readonly Fault[] {
  return nodes === 1 ? BREAKING : BREAKING.filter((fault) => !BEARABLE_BY_SEVERAL.includes(fault));
}

/** The clock of one node makes up for a lost counter; several nodes' clocks differ. */
function bearableFaults(nodes: number): readonly Fault[] {
  if (nodes === 1) return BEARABLE;
  const bearable = BEARABLE.filter((fault) => fault !== 'evict counter' && !OF_THE_LINE.includes(fault));
  return [...bearable, ...BEARABLE_BY_SEVERAL];
}

/** A selection that somebody chose. */
export function selectionOf(faults: Iterable<Fault>, nodes: number): FaultSelection {
  const chosen = new Set(faults);
  // On one node a clock that goes back keeps a key for longer, and gives it to nobody.
  const breaking = breakingFaults(nodes).filter((fault) => nodes > 1 || fault !== 'node jump back');
  return { faults: chosen, isInModel: !breaking.some((fault) => chosen.has(fault)) };
}

export function drawFaults(prng: Prng, nodes: number): FaultSelection {
  const bearable = bearableFaults(nodes);
  const faults = new Set<Fault>(bearable.filter(() => prng.chance(FAULT_CHANCE)));
  const isInModel = prng.chance(MODEL_SHARE);
  // A machine that sleeps and whose wall clock is set back has no clock left that shows how much time went by.
  if (faults.has('suspend')) faults.delete('client wall jump');
  if (!isInModel) {
    const breaking = breakingFaults(nodes);
    faults.add(prng.pick(breaking));
    for (const fault of breaking) if (prng.chance(0.2)) faults.add(fault);
  }
  return selectionOf(faults, nodes);
}
