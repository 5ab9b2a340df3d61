/** How large a seed's world is and what is done in it. */
import type { LocksOptions } from '../../src/index.ts';
import type { WorkTerms } from './workload.ts';
import type { Fault } from './world/fault-selection.ts';
import type { Prng } from './world/prng.ts';
import type { NetworkConditions } from './world/socket.ts';

export interface Terms extends WorkTerms {
  readonly title: string;
  readonly nodes: number;
  readonly processes: number;
  /** For each process. */
  readonly callers: number;
  /** How long faults happen. */
  readonly faultMs: number;
  readonly options: LocksOptions;
  /** The option `lingerMs` of the `Locks` of each process, one after the other, and around again. */
  readonly lingersMs: readonly number[];
  /** Whether clients listen on connections of their own. */
  readonly hasSubscriber: boolean;
  network(faults: ReadonlySet<Fault>): NetworkConditions;
}

const QUICK_MS: readonly number[] = [0.2, 0.4, 1];
const SLOW_MS: readonly number[] = [0.5, 2, 8, 25];

/**
 * How long a process keeps a lock that nobody uses or wants: by the option of its `Locks`, and by that of its callers' acquisitions.
 * The longest outlives several asks of a waiter.
 */
const LINGERS: readonly Pick<Terms, 'lingersMs' | 'callerLingersMs'>[] = [
  { lingersMs: [0], callerLingersMs: [null] },
  { lingersMs: [0], callerLingersMs: [null] },
  { lingersMs: [50], callerLingersMs: [null] },
  { lingersMs: [500], callerLingersMs: [null] },
  { lingersMs: [5_000, 0], callerLingersMs: [null] },
  { lingersMs: [0], callerLingersMs: [5_000, null] },
  { lingersMs: [500, 0, 5_000], callerLingersMs: [null, 0, 50] },
];
/** Several nodes have no line: nobody would hear that a lock is wanted, and none is kept whatever the options say. */
const LINGERS_OF_SEVERAL = { lingersMs: [500], callerLingersMs: [null] } as const;

export function drawTerms(prng: Prng, nodesWanted: number | undefined): Terms {
  const nodes = nodesWanted ?? 1;
  const kind = prng.chance(0.7) ? 'lock' : 'mutex';
  const processes = prng.between(2, 4);
  const callers = prng.between(1, 3);
  const names = prng.chance(0.7) ? ['a'] : ['a', 'b'];
  const leasesMs = prng.pick([[200], [500, 1_000], [300, 3_000], [10_000], [30_000], [1_000, 30_000]]);
  const longestMs = Math.max(...leasesMs);
  const drawn = {
    callTimeoutMs: prng.pick([100, 300, 1_000, 2_000]),
    handovers: prng.pick([0, 1, 64, 64]),
    handoverMs: prng.pick([50, 50, 5_000]),
    // How long a grant in the line stands before its owner has stated the lease; 0: ask first.
    claimMs: prng.pick([1_000, 1_000, 1_000, 300, 3_000, 0]),
    lingers: nodes === 1 ? prng.pick(LINGERS) : LINGERS_OF_SEVERAL,
    // Counters that nobody sees expire, and such that do between two owners.
    fenceTtlMs: prng.pick([3_600_000, 3_600_000, 0, 2_000, 200]),
    // Of several nodes: the guard against one that has restarted must know the longest lease of everybody.
    leaseMs: nodes === 1 ? (leasesMs[0] as number) : longestMs,
  };
  const { lingers, ...options } = drawn;
  return {
    title: `${nodes} node${nodes > 1 ? 's' : ''}, ${processes} processes of ${callers} on ${names.length} ${kind}${names.length > 1 ? 's' : ''}, leases ${leasesMs.join('/')} ms, handovers ${options.handovers}, claims ${options.claimMs} ms, linger ${lingers.lingersMs.join('/')} ms, of callers ${lingers.callerLingersMs.join('/')} ms, counters ${options.fenceTtlMs} ms, call limit ${options.callTimeoutMs} ms`,
    kind,
    nodes,
    processes,
    callers,
    names,
    leasesMs,
    worksMs: prng.pick([
      [0, 1],
      [0, 5, 20],
      [5, 100, 400],
      [50, 700],
      // Longer than it takes until a claim is extended, and longer than a claim.
      [0, 30, 1_500],
    ]),
    pausesMs: prng.pick([
      [0, 1, 5],
      [1, 30, 100],
      [20, 300],
    ]),
    slowCallbacks: prng.chance(0.2),
    rounds: Math.ceil(60 / (processes * callers)),
    faultMs: prng.pick([2_000, 4_000, 8_000]),
    options,
    ...lingers,
    hasSubscriber: prng.chance(0.5),
    network: (faults) => ({
      latenciesMs: faults.has('slow network') ? SLOW_MS : QUICK_MS,
      strayChance: faults.has('stray') ? 0.5 : 0,
      strayMsMax: 3_000,
    }),
  };
}
