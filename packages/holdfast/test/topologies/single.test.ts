/** How the one server's answers, and its silence, become results that the core can act on. */
import { describe, expect, test } from 'vitest';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import {
  answers,
  type Fate,
  fails,
  hangs,
  losesAnswer,
  refuses,
  says,
} from '../locking/support/scripted-client.ts';
import { Stage, type StageProcess } from '../locking/support/stage.ts';

const TERMS = { holder: 's:1', leaseMs: 1_000, fences: 3 };

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

const unknown = { is: 'unknown' };
const passing = { is: 'refused', isPassing: true };
const hopeless = { is: 'refused', isPassing: false };
const conflict = { is: 'conflict' };
const failed = { is: 'failed' };
const gone = { is: 'gone' };

/** What becomes of a call, and what an acquire, a release and a renewal make of it. */
const TABLE: readonly (readonly [
  name: string,
  fate: Fate,
  acquire: object,
  release: object,
  renew: object,
])[] = [
  ['no answer', hangs(), unknown, failed, failed],
  ['a lost answer', losesAnswer(5), unknown, failed, failed],
  ['nonsense', says('what'), unknown, failed, failed],
  ['an outcome of another script', says([OUTCOMES.FOUND]), unknown, failed, failed],
  ['no connection', refuses(), passing, failed, failed],
  ['LOADING', fails('LOADING Redis is loading the dataset in memory'), passing, failed, failed],
  ['READONLY', fails("READONLY You can't write against a read only replica."), passing, failed, failed],
  ['OOM', fails("OOM command not allowed when used memory > 'maxmemory'."), passing, failed, failed],
  ['NOPERM', fails('NOPERM this user has no permissions'), hopeless, failed, failed],
  ['ERR', fails('ERR unknown command'), hopeless, failed, failed],
  ['WRONGTYPE', fails('WRONGTYPE Operation against a key holding the wrong kind'), conflict, gone, gone],
];

describe('one server', () => {
  test.each(TABLE)(
    'that gives %s: acquire, release and renewal say so',
    async (_, fate, acquired, released, kept) => {
      const { stage, process } = setup();
      const { client, single: topology } = process;
      const protocol = process.lockProtocol('a');
      client.from('any', fate);
      expect(await stage.until(topology.acquire(protocol, TERMS, 500))).toMatchObject(acquired);
      expect(await stage.until(topology.release(protocol, TERMS, 500))).toMatchObject(released);
      const item = { protocol, holder: 's:1', leaseMs: 500, claim: { isLive: true, lastFence: undefined } };
      expect(await stage.until(topology.renew([item, item], 500))).toMatchObject([kept, kept]);
      expect(await stage.until(topology.recount(protocol, item, 2, 500))).toMatchObject(kept);
    },
  );

  test.each([
    ['once more while it is wanted', true, 2, { is: 'granted' }],
    ['not again once it was given up: its release has been sent', false, 1, passing],
  ])('that refuses an acquire as late is asked %s', async (_, isWanted, asked, result) => {
    const { stage, process } = setup();
    const { client, single: topology } = process;
    client.next('lock.acquire', says([OUTCOMES.LATE, Math.floor(stage.server.timeMs)]));
    const protocol = process.lockProtocol('a');
    const acquiring = topology.acquire(protocol, TERMS, 500, () => isWanted);
    expect(await stage.until(acquiring)).toMatchObject(result);
    expect(client.sent('lock.acquire')).toHaveLength(asked);
  });

  test('tells each lease of a batch its own answer', async () => {
    const { process } = setup();
    const { client, single: topology } = process;
    const protocol = process.lockProtocol('a');
    client.next('lock.renew', says([OUTCOMES.RENEWED, OUTCOMES.GONE, OUTCOMES.FAILED]));
    const items = ['s:1', 's:2', 's:3'].map((holder) => ({
      protocol,
      holder,
      leaseMs: 500,
      claim: { isLive: true, lastFence: undefined },
    }));
    expect(await topology.renew(items, 500)).toMatchObject([{ is: 'kept' }, gone, failed]);
    expect(await topology.renew([], 500)).toEqual([]);
    client.next('lock.renew', says([OUTCOMES.RENEWED]));
    expect(await topology.renew(items, 500)).toMatchObject([failed, failed, failed]);
  });

  test('has answered once it has said anything, an error included', async () => {
    for (const [fate, hasAnswered] of [
      [refuses(), false],
      [hangs(), false],
      [fails('LOADING soon'), true],
      [answers(), true],
    ] as const) {
      const { stage, process } = setup();
      process.client.next('lock.acquire', fate);
      await stage.until(process.topology.acquire(process.lockProtocol('a'), TERMS, 100));
      expect(process.topology.hasAnswered).toBe(hasAnswered);
    }
  });

  test('is asked for its time when what we know of it is old, and not with every grant', async () => {
    const { stage, process } = setup();
    const asked: (string | undefined)[] = [];
    for (const pauseMs of [0, 1, 9_000, 1_000, 10_000]) {
      await stage.clock.advance(pauseMs);
      await (await process.lock('a').acquire()).release();
      asked.push(process.client.sent('lock.acquire').at(-1)?.args[5]);
    }
    expect(asked).toEqual(['1', '0', '0', '1', '0']);
  });

  test('names itself in what it failed at', async () => {
    const { process } = setup();
    process.client.next('lock.acquire', fails('NOPERM no'));
    const result = await process.topology.acquire(process.lockProtocol('a'), TERMS, 100);
    expect(result).toMatchObject({ servers: [{ server: 'scripted', kind: 'reply', text: 'NOPERM no' }] });
  });
});
