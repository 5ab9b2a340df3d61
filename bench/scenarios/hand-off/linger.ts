/** One process takes the same name again and again and keeps the lock in between (`lingerMs`), beside the raw client. */
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';
import { commandsSent } from '../../measure/commands-sent.ts';
import type { Measures } from '../../measure/outcome.ts';
import { multipleOf, rawOf, withRatio } from '../../measure/ratio.ts';
import { tableOf } from '../../output/table.ts';
import { ioredis } from '../../participants/connection.ts';
import type { OpenParticipant, Participant } from '../../participants/participant.ts';
import { participantOf } from '../../participants/participant-list.ts';
import { closeAll, openAll } from '../../run/open-participants.ts';
import { inRounds } from '../../run/rounds.ts';
import { within } from '../../run/time-limit.ts';
import { extentOf, type Scenario } from '../scenario.ts';

const KEY = 'linger';
const LINGER_MS = 1_000;
const SLACK_MS = 5_000;

/** The participant of the other scenarios, with lock caching. */
function lingering(kind: 'lock' | 'mutex'): Participant {
  return {
    ...participantOf(`holdfast-${kind}-ioredis`),
    id: `holdfast-${kind}-ioredis-linger`,
    settings: `lingerMs: ${LINGER_MS.toLocaleString('en')}`,
    async open(port) {
      const locks = new Locks(ioredis(port, { lazyConnect: true }), { lingerMs: LINGER_MS });
      return {
        async take(key) {
          const lease = await locks[kind](key).acquire();
          return () => lease.release();
        },
        close: () => locks.close(),
      };
    },
  };
}

/** Pairs of acquire and release, one after the other. */
async function pairsFor(opened: OpenParticipant, key: string, limitMs: number): Promise<number> {
  const startedMs = performance.now();
  let pairs = 0;
  for (; performance.now() - startedMs < limitMs; pairs += 1) {
    const release = await opened.take(key);
    await release();
  }
  return pairs;
}

interface Window {
  readonly key: string;
  readonly windowMs: number;
}

async function measurePairs(
  participant: Participant,
  opened: OpenParticipant,
  admin: Redis,
  { key, windowMs }: Window,
): Promise<Measures> {
  await pairsFor(opened, key, windowMs / 3);
  await admin.config('RESETSTAT');
  const startedMs = performance.now();
  const pairs = await pairsFor(opened, key, windowMs);
  const seconds = (performance.now() - startedMs) / 1_000;
  return { perSecond: pairs / seconds, commands: (await commandsSent(admin, participant)) / pairs };
}

export const linger: Scenario = {
  name: 'linger',
  async measure(context) {
    // Earlier commits refuse the option.
    if (context.isBeforeRun) return [];
    const { port, progress } = context;
    const own = [lingering('lock'), lingering('mutex')];
    const participants = [participantOf('raw-ioredis'), ...own.filter(context.isAsked)];
    const admin = new Redis(port, '127.0.0.1');
    const opened = await openAll(participants, (participant) => participant.open(port));
    const extent = extentOf(context, { rounds: 3, windowMs: 200 }, { rounds: 7, windowMs: 1_500 });
    const { rounds, windowMs } = extent;
    const measured = await inRounds(
      participants,
      { title: 'the same name again and again', rounds, progress },
      (participant): Promise<Measures> => {
        const each = opened.get(participant);
        if (each === undefined) throw new Error('expected an open participant');
        const window = { key: `${KEY}:${participant.id}`, windowMs };
        return within(2 * windowMs + SLACK_MS, measurePairs(participant, each, admin, window));
      },
    );
    await closeAll(opened);
    admin.disconnect();
    const outcomes = withRatio(measured, 'speed', rawOf, multipleOf('perSecond'));
    const table = tableOf(
      {
        id: 'linger',
        title: 'The same name again and again, with lock caching',
        about:
          'One caller acquires and releases one key, and nobody else wants it. holdfast keeps the lock in between (`lingerMs`). Pairs a second, as a multiple of the same client doing SET NX PX and EVALSHA compare-and-delete, and the commands that a pair costs.',
        columns: [
          { key: 'speed', title: 'speed, raw client = 1', digits: 1, hasSpread: true },
          { key: 'commands', title: 'commands each', digits: 3 },
        ],
        chart: 'speed',
        compared: [{ key: 'perSecond', title: 'pairs a second', better: 'more' }],
      },
      outcomes,
    );
    return [table];
  },
};
