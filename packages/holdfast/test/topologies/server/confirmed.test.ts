/** Who may ask for replicas, and what becomes of a grant that they do not have. */

import { EmbeddedNode } from 'holdfast-testing';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import {
  type Acknowledged,
  CallFailure,
  LockConfigError,
  Locks,
  type ScriptCall,
} from '../../../src/index.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import { SingleTopology } from '../../../src/topologies/single.ts';
import { says } from '../../locking/support/scripted-client.ts';
import { Stage } from '../../locking/support/stage.ts';

const TERMS = { min: 1, timeoutMs: 500, aof: false };
const HOLD = { holder: 's:1', leaseMs: 1_000, fences: 1 };

describe('replicas', () => {
  test('are not asked for several servers, whose majority is what counts', () => {
    const clients = [1, 2, 3].map((port) => new Redis({ port, lazyConnect: true }));
    const make = (): Locks => new Locks(clients, { replicas: { min: 1 } });
    expect(make).toThrow(LockConfigError);
    expect(make).toThrow('expected no replicas with several clients, got some');
  });

  test('are not asked through a client that cannot count them', async () => {
    const node = new EmbeddedNode();
    const make = (): Locks => new Locks(node.client(), { replicas: { min: 2 } });
    expect(make).toThrow(LockConfigError);
    expect(make).toThrow(
      'expected a client that can count replicas for replicas.min 2, got embedded node, which cannot',
    );
    await node.close();
  });
});

type Outcome = (run: () => Promise<unknown>) => Promise<Acknowledged | CallFailure>;

/** A server that grants, and a count that goes as the test says. */
function setUp(outcome: Outcome) {
  const stage = new Stage();
  const process = stage.process();
  const { client } = process;
  const acknowledge = (call: ScriptCall): Promise<Acknowledged | CallFailure> =>
    outcome(() => client.run(call, 500));
  const counting = Object.assign(client, { acknowledge });
  const options = { ...process.session.options, replicas: TERMS };
  const topology = new SingleTopology(counting, process.timers, options);
  return { stage, client, topology, protocol: process.lockProtocol('a') };
}

function copies(count: { replicas: number; local: number } | CallFailure): Outcome {
  return async (run) => {
    // What the scripted server answers is what a script answers.
    const reply = (await run()) as Acknowledged['reply'];
    return { reply, copies: Promise.resolve(count) };
  };
}

const ENOUGH = copies({ replicas: 1, local: 0 });
const STEPPED_DOWN = new CallFailure('reply', 'UNBLOCKED force unblock from blocking operation', 'UNBLOCKED');
/** To WAIT, in the words of Redis. */
const REPLICA = new CallFailure('reply', 'ERR WAIT cannot be used with replica instances. Please', 'ERR');
const NONE = copies({ replicas: 0, local: 0 });

describe('a grant', () => {
  test('that enough replicas have is granted', async () => {
    const { stage, topology, protocol } = setUp(ENOUGH);
    expect(await stage.until(topology.acquire(protocol, HOLD, 500))).toMatchObject({ is: 'granted' });
  });

  test.each<[string, Outcome, object]>([
    ['too few have', NONE, { canRetry: true }],
    ['nobody counted', copies(new CallFailure('unknown', 'lost')), { canRetry: true }],
    ['could not be stated again', async () => new CallFailure('unreachable', 'no'), { canRetry: true }],
    ['a server that stepped down did not count', copies(STEPPED_DOWN), { canRetry: true }],
    ['a server that is a replica by then did not count', copies(REPLICA), { canRetry: true }],
    [
      'a server counts in another way',
      copies(new CallFailure('reply', 'ERR WAIT', 'ERR')),
      { canRetry: false },
    ],
    ['our user may not count', copies(new CallFailure('reply', 'NOPERM', 'NOPERM')), { canRetry: false }],
  ])('that %s fails and is given back', async (_, outcome, result) => {
    const { stage, topology, protocol } = setUp(outcome);
    const failed = { is: 'failed', mayBeGranted: false, ...result };
    expect(await stage.until(topology.acquire(protocol, HOLD, 500))).toMatchObject(failed);
    await stage.clock.settle();
    expect([stage.server.keys, topology.holders.size]).toEqual([[], 0]);
  });

  test('that replicas have only after its lease fails and is given back', async () => {
    const { stage, client, topology, protocol } = setUp(async (run) => {
      const reply = (await run()) as Acknowledged['reply'];
      await stage.clock.advance(2_000);
      return { reply, copies: Promise.resolve({ replicas: 1, local: 0 }) };
    });
    const result = await topology.acquire(protocol, HOLD, 5_000);
    expect(result).toMatchObject({ is: 'failed', mayBeGranted: false });
    expect(client.sent('lock.release').map(({ args }) => args[0])).toEqual([HOLD.holder]);
  });
});

describe('a renewal and a re-entry', () => {
  test('that too few replicas have has failed, and one that is gone is gone whoever has it', async () => {
    const { stage, topology, protocol, client } = setUp(NONE);
    const known = { isLive: true, lastFence: undefined };
    const renewal = { protocol, holder: 's:1', leaseMs: 500, known, batch: protocol.renewal };
    const recount = protocol.recount({ holder: 's:1', leaseMs: 500, isFixed: false, known }, 2);
    expect(await stage.until(topology.state([renewal], 500))).toEqual([{ is: 'gone' }]);
    for (const [script, reply, statement] of [
      ['lock.renew', ['REVOKED why'], renewal],
      ['lock.recount', [OUTCOMES.REVOKED, 'why'], recount],
    ] as const) {
      client.next(script, says(reply));
      expect(await stage.until(topology.state([statement], 500))).toEqual([{ is: 'gone', words: 'why' }]);
    }
    await stage.until(
      client.run(protocol.acquire(HOLD, { notAfterMs: 0, wantsTime: false, hasLine: true }), 500),
    );
    const failed = { is: 'failed', servers: [{ kind: 'replicas' }] };
    expect(await stage.until(topology.state([renewal], 500))).toMatchObject([failed]);
    expect(await stage.until(topology.state([recount], 500))).toMatchObject([failed]);
  });
});
