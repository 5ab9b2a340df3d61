/** How the one server's answers, and its silence, become results that the core can act on. */
import { describe, expect, test } from 'vitest';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import { Server } from '../../src/topologies/server/server.ts';
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

const unknown = { is: 'failed', canRetry: true, mayBeGranted: true };
const passing = { is: 'failed', canRetry: true, mayBeGranted: false };
const hopeless = { is: 'failed', canRetry: false };
const conflict = { is: 'conflict' };
const failed = { is: 'failed' };
const gone = { is: 'gone' };

/** What becomes of a call, and what an acquire, a release and a statement make of it. */
const TABLE: readonly (readonly [
  name: string,
  fate: Fate,
  acquire: object,
  release: object,
  state: object,
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
    'that gives %s: acquire, release and both kinds of statement say so',
    async (_, fate, acquired, released, kept) => {
      const { stage, process } = setup();
      const { client, topology } = process;
      const protocol = process.lockProtocol('a');
      client.from('any', fate);
      expect(await stage.until(topology.acquire(protocol, TERMS, 500))).toMatchObject(acquired);
      expect(await stage.until(topology.release(protocol, TERMS, 500))).toMatchObject(released);
      const known = { isLive: true, lastFence: undefined };
      const renewal = { protocol, holder: 's:1', leaseMs: 500, known, batch: protocol.renewal };
      expect(await stage.until(topology.state([renewal, renewal], 500))).toMatchObject([kept, kept]);
      const recount = protocol.recount({ holder: 's:1', leaseMs: 500, isFixed: false, known }, 2);
      expect(await stage.until(topology.state([recount], 500))).toMatchObject([kept]);
      topology.stop();
    },
  );

  test.each([
    ['once more while it is wanted', true, 2, { is: 'granted' }],
    [
      'not again once it was given up: its release has been sent',
      false,
      1,
      { is: 'unanswered', canRetry: true },
    ],
  ])('that refuses an acquire as late is asked %s', async (_, isWanted, asked, decision) => {
    const { stage, process } = setup();
    const { client } = process;
    client.next('lock.acquire', says([OUTCOMES.LATE, Math.floor(stage.server.timeMs)]));
    const server = new Server(client, stage.clock);
    const acquiring = server.acquire(process.lockProtocol('a'), TERMS, 500, () => isWanted);
    expect(await stage.until(acquiring)).toMatchObject(decision);
    expect(client.sent('lock.acquire')).toHaveLength(asked);
  });

  test('whose grant comes after its lease has it given back, and the caller uses a fresh holder', async () => {
    const { stage, process } = setup();
    const { client, topology } = process;
    client.next('lock.acquire', answers(300));
    const late = { holder: 's:1', leaseMs: 100, fences: 1 };
    const acquiring = topology.acquire(process.lockProtocol('a'), late, 500);
    expect(await stage.until(acquiring)).toMatchObject({ ...passing, servers: [{ kind: 'late' }] });
    await stage.clock.settle();
    expect(client.sent('lock.release').map(({ args }) => args[0])).toEqual(['s:1']);
    expect(topology.holders.size).toBe(0);
  });

  test('tells each lease of a batch its own answer', async () => {
    const { process } = setup();
    const { client, topology } = process;
    const protocol = process.lockProtocol('a');
    client.next('lock.renew', says([OUTCOMES.RENEWED, OUTCOMES.GONE, OUTCOMES.FAILED, 'REVOKED why']));
    const renewals = ['s:1', 's:2', 's:3', 's:4'].map((holder) => ({
      protocol,
      holder,
      leaseMs: 500,
      known: { isLive: true, lastFence: undefined },
      batch: protocol.renewal,
    }));
    expect(await topology.state(renewals, 500)).toMatchObject([
      { is: 'kept' },
      gone,
      failed,
      { is: 'gone', words: 'why' },
    ]);
    expect(await topology.state([], 500)).toEqual([]);
    client.next('lock.renew', says([OUTCOMES.RENEWED]));
    expect(await topology.state(renewals, 500)).toMatchObject([failed, failed, failed, failed]);
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
