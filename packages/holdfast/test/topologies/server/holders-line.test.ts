/** Safety rule 5 for holders that wait in a line: a ticket may be granted at any time, without another ask. */
import { describe, expect, test } from 'vitest';
import { LockProtocol } from '../../../src/primitives/lock/protocol.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import type { Decision } from '../../../src/topologies/server/decision.ts';
import { Holders } from '../../../src/topologies/server/holders.ts';
import { answers, takesEffectLate } from '../../locking/support/scripted-client.ts';
import { CountedRandom, Stage } from '../../locking/support/stage.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { rejection } from '../../support/rejection.ts';
import {
  GONE,
  GRANTED,
  HELD,
  REFUSED,
  RELEASED,
  ScriptedDecider,
  UNANSWERED,
} from '../support/scripted-decider.ts';

const CALL_MS = 500;
const lock = new LockProtocol('a', 'a', 0);
const HOLD = { holder: 's:1', leaseMs: 10_000, fences: 1 };
const WAIT = { ...HOLD, ticket: '1.1.x 1000 p mailbox' };
const RELEASE = { holder: 's:1', leaseMs: 10_000 };

function setup() {
  const clock = new FakeClock();
  const decider = new ScriptedDecider();
  const options = { callTimeoutMs: CALL_MS, random: new CountedRandom() };
  const holders = new Holders(new TimerQueue(clock), decider, options);
  const acquire = (decision: Decision, terms: typeof HOLD = WAIT) => {
    decider.decisions.splice(0, 1, decision);
    return holders.acquire(lock, terms, CALL_MS);
  };
  return { clock, decider, holders, acquire };
}

describe('a holder in the line', () => {
  test('may be granted although its last ask was refused', async () => {
    const { acquire } = setup();
    expect(await acquire(HELD)).toEqual(HELD);
    expect(await acquire(REFUSED, { ...WAIT, isInLine: true } as never)).toMatchObject({
      mayBeGranted: true,
    });
  });

  test('that has no place yet, and whose only ask was refused, leaves nothing', async () => {
    const { acquire } = setup();
    expect(await acquire(REFUSED)).toMatchObject({ mayBeGranted: false });
  });

  test('whose ask had no answer is released until that ask cannot arrive any more, though one release found it', async () => {
    const { clock, decider, holders, acquire } = setup();
    await acquire(UNANSWERED);
    // Its ticket was granted and is released; the ask itself may have been another copy, and come behind.
    decider.results.push(RELEASED, GONE);
    holders.abandon(lock, RELEASE);
    await clock.advance(CALL_MS - 1);
    expect(holders.size).toBe(1);
    await clock.advance(2_000);
    expect(holders.size).toBe(0);
    expect(decider.releases.length).toBeGreaterThan(1);
  });

  test('without a ticket is done with the release that found it', async () => {
    const { clock, decider, holders, acquire } = setup();
    await acquire(UNANSWERED, HOLD);
    decider.results.push(RELEASED);
    holders.abandon(lock, RELEASE);
    await clock.settle();
    expect([holders.size, decider.releases.length]).toEqual([0, 1]);
  });

  test('that left the line proves nothing of an ask without an answer', async () => {
    const { clock, decider, holders, acquire } = setup();
    await acquire(UNANSWERED);
    // A server tells of a ticket that left as of a hold that is gone.
    decider.results.push(GONE);
    holders.abandon(lock, RELEASE);
    await clock.advance(CALL_MS - 1);
    expect(holders.size).toBe(1);
    await clock.advance(2_000);
    expect(holders.size).toBe(0);
  });

  test('that was granted is released again behind an ask without an answer', async () => {
    const { clock, decider, holders, acquire } = setup();
    await acquire(UNANSWERED);
    await acquire(GRANTED);
    decider.results.push(RELEASED);
    expect(await holders.release(lock, RELEASE, CALL_MS)).toEqual(RELEASED);
    await clock.settle();
    expect(decider.releases.length).toBeGreaterThan(1);
  });
});

describe('a release on a server with a line', () => {
  test('of a ticket is told as gone', async () => {
    const stage = new Stage();
    const [owner, process] = [stage.process(), stage.process()];
    await owner.lock('a').acquire();
    const waiting = rejection(process.lock('a').acquire());
    await stage.clock.settle();
    const [holder = ''] = stage.server.line('a');
    const terms = { holder, leaseMs: 30_000 };
    expect(await process.topology.release(process.lockProtocol('a'), terms, CALL_MS)).toEqual({ is: 'gone' });
    expect(stage.server.line('a')).toEqual([]);
    await process.session.destroy();
    await waiting;
  });

  test('takes an ask out of the line again that joins it after its callers have left', async () => {
    const stage = new Stage();
    const owner = await stage.process().lock('a').acquire();
    const process = await stage.acquaintedProcess();
    const controller = new AbortController();
    process.client.next('lock.acquire', answers(), takesEffectLate(300));
    const left = rejection(process.lock('a').acquire({ signal: controller.signal }));
    await stage.clock.advance(1);
    controller.abort();
    await left;
    await stage.clock.advance(5_000);
    expect([stage.server.line('a'), process.openReleases]).toEqual([[], 0]);
    expect(await owner.release()).toBe(true);
    expect(stage.server.keys).toEqual([]);
  });
});
