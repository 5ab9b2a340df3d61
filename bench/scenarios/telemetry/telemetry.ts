/**
 * What telemetry costs a lone caller: the time of an acquire with its release, as a multiple of that without telemetry.
 * Subscribers are of the whole process, so the settings take turns, each for long enough to be measured warm.
 */
import type { Measures } from '../../measure/outcome.ts';
import { multipleOf, withRatio } from '../../measure/ratio.ts';
import { median } from '../../measure/statistics.ts';
import { type Row, tableOf } from '../../output/table.ts';
import type { OpenParticipant } from '../../participants/participant.ts';
import { inRounds } from '../../run/rounds.ts';
import { extentOf, type Scenario } from '../scenario.ts';
import { type Instrumented, instrumentedParticipants, METRICS_ONLY, WITHOUT } from './instrumented.ts';

/** Subscribing throws compiled code away: this many pairs compile it again. */
const WARM_UP_PAIRS = 1_000;

/** Keys that are used one after the other. */
const KEYS = 1_024;

/** Metrics may cost a lone caller this much, as a multiple of the time without them. Spans are for those who ask for them. */
const METRICS_BAR = 1.05;

/** Says of a row with metrics and no spans whether it is over the bar. The median of the rounds counts. */
function withBar(row: Row): Row {
  const { median: multiple = 0 } = row.figures['multiple'] ?? {};
  const isOver = METRICS_ONLY.includes(row.id) && multiple > METRICS_BAR;
  return isOver && row.failure === null ? { ...row, failure: `over the bar of ${METRICS_BAR}` } : row;
}

async function pairsMs(opened: OpenParticipant, pairs: number): Promise<number[]> {
  const timesMs: number[] = [];
  for (let i = 0; i < pairs; i += 1) {
    const startedMs = performance.now();
    const release = await opened.take(`telemetry:${i % KEYS}`);
    await release();
    timesMs.push(performance.now() - startedMs);
  }
  return timesMs;
}

async function measureOne(opened: OpenParticipant, each: Instrumented, pairs: number): Promise<Measures> {
  const telemetry = each.start();
  try {
    await pairsMs(opened, WARM_UP_PAIRS);
    return { pairMs: median(await pairsMs(opened, pairs)) };
  } finally {
    telemetry?.stop();
  }
}

export const telemetry: Scenario = {
  name: 'telemetry',
  async measure(context) {
    // An earlier commit is compared without telemetry, by the scenario of one caller.
    if (context.isBeforeRun) return [];
    const { port, progress } = context;
    const all = instrumentedParticipants();
    const opened = await all[0]?.participant.open(port);
    if (opened === undefined) throw new Error('expected a participant, got none');
    const { rounds, pairs } = extentOf(context, { rounds: 11, pairs: 1_500 }, { rounds: 31, pairs: 3_000 });
    const measured = await inRounds(
      all.map(({ participant }) => participant),
      { title: 'telemetry', rounds, progress },
      ({ id }) => {
        const each = all.find(({ participant }) => participant.id === id);
        if (each === undefined) throw new Error(`expected one of the participants, got ${id}`);
        return measureOne(opened, each, pairs);
      },
    );
    await opened.close();
    const outcomes = withRatio(measured, 'multiple', () => WITHOUT, multipleOf('pairMs'));
    const table = tableOf(
      {
        id: 'telemetry',
        title: 'What telemetry costs one caller',
        about:
          'One caller, one key after the other, nobody else. Time of an acquire with its release, as a multiple of the same without subscribers. holdfast-telemetry with metrics, for which the bar is 1.05, and with spans for a provider without exporters.',
        columns: [{ key: 'multiple', title: 'time, without telemetry = 1', digits: 3, hasSpread: true }],
        chart: 'multiple',
        compared: [],
      },
      outcomes,
    );
    return [{ ...table, rows: table.rows.map(withBar) }];
  },
};
