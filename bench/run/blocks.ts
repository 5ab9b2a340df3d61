/**
 * A lone caller in this process. Participants take turns in blocks of acquire and release: long enough that each is
 * measured warm, as in a user's loop, and short enough that a slow moment of the machine affects all of them.
 */

import type { Measures, Outcome } from '../measure/outcome.ts';
import { median, sum } from '../measure/statistics.ts';
import type { OpenParticipant } from '../participants/participant.ts';
import type { OpenParticipants } from './open-participants.ts';
import { messageOf, type RoundsPlan } from './rounds.ts';
import { within } from './time-limit.ts';
import { turnsOf } from './turns.ts';

/** Keys that a participant uses one after the other. */
const KEYS = 1_024;

export interface BlocksPlan extends RoundsPlan {
  /** Blocks of each participant in a round. */
  readonly turns: number;
  /** Pairs of acquire and release in a block. */
  readonly pairs: number;
  /** Time limit of one block. */
  readonly limitMs: number;
}

interface Caller {
  readonly outcome: Outcome;
  readonly opened: OpenParticipant;
  /** Pairs so far: the next key is chosen by it. */
  pairs: number;
}

async function measureBlock(caller: Caller, pairs: number): Promise<Measures> {
  const { opened, outcome } = caller;
  const acquiresMs: number[] = [];
  const releasesMs: number[] = [];
  const pairsMs: number[] = [];
  let failed = 0;
  for (let i = 0; i < pairs; i += 1) {
    caller.pairs += 1;
    const key = `${outcome.participant.id}:${caller.pairs % KEYS}`;
    const startedMs = performance.now();
    try {
      const release = await opened.take(key);
      const takenMs = performance.now();
      await release();
      const endedMs = performance.now();
      acquiresMs.push(takenMs - startedMs);
      releasesMs.push(endedMs - takenMs);
      pairsMs.push(endedMs - startedMs);
    } catch (error) {
      failed += 1;
      if (failed === pairs) throw error;
    }
  }
  return {
    failed,
    acquireMs: median(acquiresMs),
    releaseMs: median(releasesMs),
    pairMs: median(pairsMs),
  };
}

/** Null when the caller gets stuck or fails, which excludes its participant from the rest. */
async function tryBlock(caller: Caller, { pairs, limitMs }: BlocksPlan): Promise<Measures | null> {
  if (caller.outcome.failure !== null) return null;
  try {
    return await within(limitMs, measureBlock(caller, pairs));
  } catch (error) {
    caller.outcome.failure = messageOf(error);
    await within(limitMs, caller.opened.close()).catch(() => {});
    return null;
  }
}

function medianOf(blocks: readonly Measures[]): Measures {
  const keys = Object.keys(blocks[0] ?? {});
  const medians = keys.map((key) => [key, median(blocks.map((block) => block[key] ?? Number.NaN))]);
  return { ...Object.fromEntries(medians), failed: sum(blocks.map(({ failed = 0 }) => failed)) };
}

async function measureRound(callers: readonly Caller[], round: number, plan: BlocksPlan): Promise<void> {
  const blocks = new Map<Caller, Measures[]>(callers.map((caller) => [caller, []]));
  for (let turn = 0; turn < plan.turns; turn += 1) {
    for (const caller of turnsOf(callers, turn)) {
      plan.progress.tell(plan.title, `round ${round + 1} of ${plan.rounds}`, caller.outcome.participant.id);
      const block = await tryBlock(caller, plan);
      if (block !== null) blocks.get(caller)?.push(block);
    }
  }
  for (const [caller, measured] of blocks) {
    caller.outcome.rounds.push(measured.length === plan.turns ? medianOf(measured) : null);
  }
}

export async function inBlocks(opened: OpenParticipants, plan: BlocksPlan): Promise<Outcome[]> {
  const callers: Caller[] = [...opened].map(([participant, each]) => ({
    outcome: { participant, rounds: [], failure: null },
    opened: each,
    pairs: 0,
  }));
  // Warm-up: connections, script caches, compiled code; and, where a server is broken, the calls that detect it.
  for (const caller of callers) {
    plan.progress.tell(plan.title, 'warm-up', caller.outcome.participant.id);
    await tryBlock(caller, plan);
    await tryBlock(caller, plan);
  }
  for (let round = 0; round < plan.rounds; round += 1) await measureRound(callers, round, plan);
  return callers.map((caller) => caller.outcome);
}
