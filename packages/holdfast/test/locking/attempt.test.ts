/** Under which holder an attempt is made: safety rule 5, before anything is granted. */
import { describe, expect, test } from 'vitest';
import { Attempts, SPARE_FENCES } from '../../src/locking/waiting/attempt.ts';
import { Mailboxes } from '../../src/locking/waiting/mailboxes.ts';
import type { AcquireResult } from '../../src/topologies/topology.ts';
import { failed, HELD, protocolWith, ScriptedTopology } from './support/scripted-topology.ts';

const WAIT_MS = Number.POSITIVE_INFINITY;

function setup(answers: readonly AcquireResult[], holderPer: 'attempt' | 'wait' = 'attempt') {
  const topology = new ScriptedTopology();
  topology.answers.push(...answers);
  let number = 0;
  const holderIds = { session: 's', nextNumber: () => ++number, token: () => 'token' };
  const { timers, options } = topology;
  const mailboxes = new Mailboxes(topology, 's', options.callTimeoutMs);
  const services = { topology, timers, options, holderIds, mailboxes, record: null };
  const attempts = new Attempts(services, protocolWith({ holderPer }));
  const make = async (leaseMs = 30_000, behind = 0): Promise<string> =>
    (await attempts.make({ leaseMs, waitMs: WAIT_MS, behind, joins: true, lingerMs: 0 })).is;
  return { topology, attempts, make, holders: () => topology.asked.map(({ holder }) => holder) };
}

describe('an attempt', () => {
  test('is made under a fresh holder each time', async () => {
    const { make, holders } = setup([HELD, HELD]);
    expect([await make(), await make(), await make(), await make()]).toEqual([
      'held',
      'held',
      'granted',
      'granted',
    ]);
    expect(holders()).toEqual(['s:1', 's:2', 's:3', 's:4']);
  });

  test('that may have been granted is repeated under its own holder, with its fences, until it is granted', async () => {
    const { topology, make, holders } = setup([failed(true), HELD, failed(true)]);
    for (const leaseMs of [30_000, 40_000, 50_000, 60_000]) await make(leaseMs, 200);
    expect(holders()).toEqual(['s:1', 's:1', 's:1', 's:1']);
    expect(topology.asked.map(({ leaseMs, fences }) => [leaseMs, fences])).toEqual([
      [30_000, 65],
      [40_000, 65],
      [50_000, 65],
      [60_000, 65],
    ]);
    await make();
    expect([holders().at(-1), topology.abandoned]).toEqual(['s:2', []]);
  });

  test('that certainly was not granted leaves nothing to clean up', async () => {
    const { topology, attempts, make, holders } = setup([failed(false), failed(false)]);
    await make();
    await make();
    attempts.abandon();
    expect([holders(), topology.abandoned]).toEqual([['s:1', 's:2'], []]);
  });

  test('whose holder the topology gives back is followed by one under a fresh holder, and nothing is abandoned', async () => {
    const { topology, attempts, make, holders } = setup([failed(true), failed(false), HELD]);
    for (let i = 0; i < 3; i += 1) await make();
    attempts.abandon();
    expect([holders(), topology.abandoned]).toEqual([['s:1', 's:1', 's:2'], []]);
  });

  test('that nobody wants any more is abandoned, once', async () => {
    const { topology, attempts, make } = setup([failed(true), HELD]);
    await make();
    await make();
    attempts.abandon();
    attempts.abandon();
    expect(topology.abandoned).toEqual(['s:1']);
  });

  test('that is made while another is being abandoned has a fresh holder, and is abandoned by itself', async () => {
    const { topology, attempts, make, holders } = setup([failed(true), failed(true)]);
    await make();
    let made: Promise<string> | undefined;
    // A release that is dropped is told on a channel, whose subscribers run at once.
    topology.abandon = (_, { holder }) => {
      topology.abandoned.push(holder);
      made ??= make();
    };
    attempts.abandon();
    await made;
    attempts.abandon();
    expect([holders(), topology.abandoned]).toEqual([
      ['s:1', 's:2'],
      ['s:1', 's:2'],
    ]);
  });

  test('that throws is told as broken, and its holder is abandoned', async () => {
    const { topology, attempts, make } = setup([]);
    const error = new Error('cannot happen');
    topology.acquire = () => Promise.reject(error);
    expect(
      await attempts.make({ leaseMs: 30_000, waitMs: WAIT_MS, behind: 0, joins: true, lingerMs: 0 }),
    ).toEqual({
      is: 'broken',
      error,
    });
    attempts.abandon();
    expect(topology.abandoned).toEqual(['s:1']);
    expect(await make()).toBe('broken');
  });

  test('of a kind with one holder for each wait keeps it until it is granted or given up', async () => {
    const { topology, attempts, make, holders } = setup([HELD, HELD], 'wait');
    await make();
    await make();
    attempts.abandon();
    await make();
    await make();
    expect([holders(), topology.abandoned]).toEqual([['s:1', 's:1', 's:2', 's:3'], ['s:1']]);
  });

  test.each([
    ['alone', 64, 0, 1 + SPARE_FENCES],
    ['with fewer behind than are spare', 1_000, 5, 1 + SPARE_FENCES],
    ['with more behind than are spare', 1_000, 200, 201],
    ['with fewer hand-overs than are spare', 3, 200, 4],
    ['without hand-overs', 0, 200, 1],
  ])('asks for a fence for each owner that the hold may serve: %s', async (_, handovers, behind, fences) => {
    const { topology, make } = setup([]);
    Object.assign(topology.options, { handovers });
    await make(30_000, behind);
    expect(topology.asked[0]?.fences).toBe(fences);
  });
});
