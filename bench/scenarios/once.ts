/** A call of `once` whose result is stored, beside a bare GET of the same bytes: what a replay costs. */

import { Locks } from 'holdfast';
import type { Measures } from '../measure/outcome.ts';
import { multipleOf, rawOf, withRatio } from '../measure/ratio.ts';
import { tableOf } from '../output/table.ts';
import { ioredis } from '../participants/connection.ts';
import type { OpenParticipant, Participant } from '../participants/participant.ts';
import { closeAll, openAll } from '../run/open-participants.ts';
import { inRounds } from '../run/rounds.ts';
import { within } from '../run/time-limit.ts';
import { extentOf, type Scenario } from './scenario.ts';

const KEY = 'once-bench';
const RESULT = { receipt: 'r-1', cents: 1_999 };
const SLACK_MS = 5_000;

async function openGet(port: number): Promise<OpenParticipant> {
  const redis = ioredis(port);
  await redis.set(`${KEY}:raw`, JSON.stringify(RESULT), 'PX', 600_000);
  return {
    async take() {
      const text = await redis.get(`${KEY}:raw`);
      if (text === null) throw new Error('the bare result is gone');
      JSON.parse(text);
      return async () => {};
    },
    async close() {
      redis.disconnect();
    },
  };
}

async function openOnce(port: number): Promise<OpenParticipant> {
  const redis = ioredis(port);
  const locks = new Locks(redis);
  await locks.once(KEY, () => RESULT);
  return {
    async take() {
      await locks.once(KEY, () => {
        throw new Error('the stored result is gone');
      });
      return async () => {};
    },
    async close() {
      await locks.once.forget(KEY);
      await locks.close();
      redis.disconnect();
    },
  };
}

const COMMON = { client: 'ioredis', isTuned: false, canRenew: false } as const;

const PARTICIPANTS: readonly Participant[] = [
  {
    ...COMMON,
    id: 'raw-ioredis',
    name: 'raw ioredis',
    settings: 'GET and JSON.parse',
    role: 'yardstick',
    sends: { get: 1 },
    open: openGet,
  },
  {
    ...COMMON,
    id: 'holdfast-once',
    name: 'holdfast once',
    settings: 'a stored result',
    role: 'holdfast',
    sends: { evalsha: 1, eval: 1 },
    open: openOnce,
  },
];

/** Calls a second, one after the other. */
async function callsFor(opened: OpenParticipant, limitMs: number): Promise<number> {
  const startedMs = performance.now();
  let calls = 0;
  for (; performance.now() - startedMs < limitMs; calls += 1) await opened.take(KEY);
  return (calls / (performance.now() - startedMs)) * 1_000;
}

export const once: Scenario = {
  name: 'once',
  async measure(context) {
    const { port, progress } = context;
    const opened = await openAll(PARTICIPANTS, (participant) => participant.open(port));
    const { rounds, windowMs } = extentOf(
      context,
      { rounds: 3, windowMs: 120 },
      { rounds: 9, windowMs: 700 },
    );
    const title = 'once, a stored result';
    const measured = await inRounds(
      PARTICIPANTS,
      { title, rounds, progress },
      async (participant): Promise<Measures> => {
        const each = opened.get(participant);
        if (each === undefined) throw new Error('expected an open participant');
        const warmThenMeasure = async (): Promise<number> => {
          await callsFor(each, windowMs / 3);
          return callsFor(each, windowMs);
        };
        return { perSecond: await within(2 * windowMs + SLACK_MS, warmThenMeasure()) };
      },
    );
    await closeAll(opened);
    const outcomes = withRatio(measured, 'speed', rawOf, multipleOf('perSecond'));
    const table = tableOf(
      {
        id: 'once',
        title: 'once, a stored result',
        about:
          'One caller asks for a result that is stored, again and again. Calls a second, as a share of the same client doing GET and JSON.parse on the same bytes.',
        columns: [{ key: 'speed', title: 'speed, bare GET = 1', digits: 2, hasSpread: true }],
        chart: 'speed',
        compared: [{ key: 'perSecond', title: 'calls a second', better: 'more' }],
      },
      outcomes,
    );
    return [table];
  },
};
