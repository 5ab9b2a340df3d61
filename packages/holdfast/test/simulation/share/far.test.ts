/**
 * By quorum there is no line. A process that is far away from the servers gets its turns beside a near one that is never without a
 * wish, because that one pauses for longer after each turn in a row.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { loadScriptEngine, type ScriptEngine } from '../../../../testing/src/lua/script-engine.ts';
import { Pause } from '../../../src/locking/waiting/pause.ts';
import { replace } from '../planted/code-bugs.ts';
import { drawTerms, type Terms } from '../terms.ts';
import { selectionOf } from '../world/fault-selection.ts';
import { Prng } from '../world/prng.ts';
import { Timeline } from '../world/timeline.ts';
import { WorldBuilder } from '../world/world-builder.ts';

const NODES = 3;
const DURATION_MS = 10_000;
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

/** What part of the turns the first process has, which is the far one. */
async function shareOfFar(workMs: number): Promise<number> {
  const timeline = new Timeline();
  const prng = new Prng(1);
  let made = 0;
  const network: Terms['network'] = () => {
    made += 1;
    return { latenciesMs: made === 1 ? FAR_MS : NEAR_MS, strayChance: 0, strayMsMax: 0 };
  };
  const library = { options: { restartGuardMs: 0 }, lingersMs: [0], hasSubscriber: true } as const;
  const terms: Terms = { ...drawTerms(prng, NODES), ...library, processes: 2, network };
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
    while (timeline.nowMs < DURATION_MS) {
      const lease = await process.locks.lock('a').acquire();
      turns[i] = (turns[i] ?? 0) + 1;
      await process.sleep(workMs);
      await lease.release();
    }
  });
  await timeline.run(DURATION_MS);
  const counted = [...turns];
  let isDone = false;
  void Promise.all(loops).then(() => {
    isDone = true;
  });
  await timeline.run(2 * DURATION_MS, () => isDone);
  const closing = Promise.all(processes.map(({ locks }) => locks.close()));
  await timeline.run(timeline.nowMs + 1_000);
  await closing;
  return (counted[0] ?? 0) / counted.reduce((sum, count) => sum + count, 0);
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
        function begin(this: Pause) {
          this.reset();
          right.call(this);
        },
    );
    try {
      expect(await shareOfFar(60)).toBeLessThan(SHARE_MIN);
    } finally {
      undo();
    }
  });
});
