/**
 * By quorum there is no line. A process that is far away from the servers gets its turns beside a near one that is never without a
 * wish, because that one pauses for longer after each turn in a row; and beside several, because now and then chance decides.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { loadScriptEngine, type ScriptEngine } from '../../../../testing/src/lua/script-engine.ts';
import { Pause } from '../../../src/locking/waiting/pause.ts';
import { QuorumTopology } from '../../../src/topologies/quorum/quorum.ts';
import { replace } from '../planted/code-bugs.ts';
import { drawTerms, type Terms } from '../terms.ts';
import { selectionOf } from '../world/fault-selection.ts';
import { Prng } from '../world/prng.ts';
import { Timeline } from '../world/timeline.ts';
import { WorldBuilder } from '../world/world-builder.ts';

const NODES = 3;
const DURATION_MS = 10_000;
/** Chance gives the far one a turn beside two others about once in ten seconds. */
const LONG_MS = 80_000;
/** One way. */
const FAR_MS: readonly number[] = [10];
const NEAR_MS: readonly number[] = [0.2, 0.4, 1];
/** The far one has at least this part of all turns. */
const SHARE_MIN = 0.05;
const LIMIT_MS = 240_000;

let engine: ScriptEngine;
beforeAll(async () => {
  engine = await loadScriptEngine();
});

/** How many turns each process had. The first is the far one. */
async function turnsBeside(near: number, workMs: number, durationMs: number): Promise<readonly number[]> {
  const timeline = new Timeline();
  const prng = new Prng(1);
  let made = 0;
  const network: Terms['network'] = () => {
    made += 1;
    return { latenciesMs: made === 1 ? FAR_MS : NEAR_MS, strayChance: 0, strayMsMax: 0 };
  };
  const library = { options: { restartGuardMs: 0 }, lingersMs: [0], hasSubscriber: true } as const;
  const terms: Terms = { ...drawTerms(prng, NODES), ...library, processes: 1 + near, network };
  const ignored = (): void => {};
  const builder = new WorldBuilder({ timeline, prng, terms }, selectionOf([], NODES), engine, undefined, {
    sent: ignored,
    arrived: ignored,
    answered: ignored,
    resynced: ignored,
    served: ignored,
  });
  const processes = builder.makeProcesses(builder.makeNodes());
  const turns = processes.map(() => 0);
  const loops = processes.map(async (process, i) => {
    while (timeline.nowMs < durationMs) {
      const lease = await process.locks.lock('a').acquire();
      turns[i] = (turns[i] ?? 0) + 1;
      await process.sleep(workMs);
      await lease.release();
    }
  });
  await timeline.run(durationMs);
  const counted = [...turns];
  let isDone = false;
  void Promise.all(loops).then(() => {
    isDone = true;
  });
  await timeline.run(2 * durationMs, () => isDone);
  const closing = Promise.all(processes.map(({ locks }) => locks.close()));
  await timeline.run(timeline.nowMs + 1_000);
  await closing;
  return counted;
}

/** What part of the turns the far one has beside a near one. */
async function shareOfFar(workMs: number): Promise<number> {
  const counted = await turnsBeside(1, workMs, DURATION_MS);
  return (counted[0] ?? 0) / counted.reduce((sum, count) => sum + count, 0);
}

/** Nobody knows the servers' time, so nobody lets chance decide. */
function withoutChance(): () => void {
  return replace(QuorumTopology.prototype, 'serverTimeMs', () => () => 0);
}

describe('by quorum a process far away from the servers', () => {
  test.each([2, 20, 60])(
    'gets its turns beside a near one with sections of %d ms',
    { timeout: LIMIT_MS },
    async (workMs) => {
      expect(await shareOfFar(workMs)).toBeGreaterThan(SHARE_MIN);
    },
  );

  test('gets fewer where the pauses do not grow', { timeout: LIMIT_MS }, async () => {
    const undo = replace(
      Pause.prototype,
      'begin',
      (right) =>
        function begin(this: Pause, grantedMs) {
          this.reset();
          right.call(this, grantedMs);
        },
    );
    const undoChance = withoutChance();
    try {
      expect(await shareOfFar(60)).toBeLessThan(SHARE_MIN);
    } finally {
      undoChance();
      undo();
    }
  });

  test.each([2, 3])('gets turns beside %d near ones', { timeout: LIMIT_MS }, async (near) => {
    const [far = 0, ...others] = await turnsBeside(near, 60, LONG_MS);
    // A third of that is left to it where only those who are woken let chance decide, and the last owner does not.
    expect(far / others.reduce((sum, count) => sum + count, far)).toBeGreaterThan(0.01);
  });

  test('gets none beside two near ones where chance never decides', { timeout: LIMIT_MS }, async () => {
    const undo = withoutChance();
    try {
      const counted = await turnsBeside(2, 60, LONG_MS);
      expect(counted[0]).toBe(0);
    } finally {
      undo();
    }
  });
});
