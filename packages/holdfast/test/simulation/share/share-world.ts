/**
 * Processes of ours and guests that listen, all of whom want one lock again as soon as they have given it back: how often each
 * of them has it. On virtual time, so that a share is the same on every machine.
 */
import type { ScriptEngine } from '../../../../testing/src/lua/script-engine.ts';
import type { PlantedBug } from '../planted/bug.ts';
import { drawTerms, type Terms } from '../terms.ts';
import { selectionOf } from '../world/fault-selection.ts';
import { Guest } from '../world/guest.ts';
import { Prng } from '../world/prng.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import { Timeline } from '../world/timeline.ts';
import { WorldBuilder } from '../world/world-builder.ts';

const NAME = 'a';
const LIMIT_MS = 60_000;
/** One way, for processes as for guests. */
const NEAR_MS: readonly number[] = [0.2, 0.4, 1];
/** The options of the library. */
const LIBRARY = { options: {}, lingersMs: [0], hasSubscriber: true } as const;

export interface ShareTerms {
  readonly processes: number;
  readonly guests: number;
  readonly workMs: number;
  readonly durationMs: number;
  readonly bug?: PlantedBug;
}

/** The turns of each process and of each guest in that time. */
export interface Shares {
  readonly ours: readonly number[];
  readonly guests: readonly number[];
}

/** Plays it, and checks that no two have the lock at once. */
export async function playShares(seed: number, engine: ScriptEngine, terms: ShareTerms): Promise<Shares> {
  const undo = terms.bug?.patch?.() ?? (() => {});
  try {
    return await contend(seed, engine, terms);
  } finally {
    undo();
  }
}

async function contend(
  seed: number,
  engine: ScriptEngine,
  { processes, guests, workMs, durationMs, bug }: ShareTerms,
): Promise<Shares> {
  const timeline = new Timeline();
  const prng = new Prng(seed);
  const network = () => ({ latenciesMs: NEAR_MS, strayChance: 0, strayMsMax: 0 });
  const terms: Terms = { ...drawTerms(prng, 1), ...LIBRARY, processes, network };
  const ignored = (): void => {};
  const builder = new WorldBuilder({ timeline, prng, terms }, selectionOf([], 1), engine, bug, {
    sent: ignored,
    arrived: ignored,
    answered: ignored,
    resynced: ignored,
    served: ignored,
  });
  const nodes = builder.makeNodes();
  const all = builder.makeProcesses(nodes);
  const turns = new Map<unknown, number>();
  let owner: unknown = null;
  const entered = (who: unknown): void => {
    if (owner !== null) throw new Error('two have the lock at once');
    owner = who;
    if (timeline.nowMs < durationMs) turns.set(who, (turns.get(who) ?? 0) + 1);
  };
  const left = (): void => {
    owner = null;
  };
  const invited = Array.from({ length: guests }, () => {
    const habits = { worksMs: [workMs], pausesMs: [0] };
    const world = { timeline, note: ignored, entered, left };
    return new Guest(world, nodes[0] as SimulatedNode, prng.fork(), 'lock', NAME, habits);
  });
  const loops = all.map(async (process) => {
    while (timeline.nowMs < durationMs) {
      const lease = await process.locks.lock(NAME).acquire();
      entered(process);
      if (workMs > 0) await process.sleep(workMs);
      left();
      await lease.release();
    }
  });
  await timeline.run(durationMs);
  for (const guest of invited) guest.stop();
  let isDone = false;
  void Promise.all(loops).then(() => {
    isDone = true;
  });
  await timeline.run(durationMs + LIMIT_MS, () => isDone);
  const closing = Promise.all(all.map(({ locks }) => locks.close()));
  await timeline.run(timeline.nowMs + 1_000);
  await closing;
  const turnsOf = (who: unknown): number => turns.get(who) ?? 0;
  return { ours: all.map(turnsOf), guests: invited.map(turnsOf) };
}
