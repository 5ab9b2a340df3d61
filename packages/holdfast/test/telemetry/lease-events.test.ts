/** What is told of one lease from its grant to its end, by the fake clock: exact times, and one id throughout. */
import { describe, expect, test } from 'vitest';
import {
  CHANNELS,
  type EndedMessage,
  type HandedOverMessage,
  type LockTrace,
  type LostMessage,
  type RenewTrace,
} from '../../src/telemetry/channels.ts';
import { Stage } from '../locking/support/stage.ts';
import { useBench } from '../support/bench.ts';
import { rejection } from '../support/rejection.ts';

const bench = useBench();
const acquires = (): readonly LockTrace[] => bench.diagnostics(`tracing:${CHANNELS.acquire}:asyncEnd`);
const releases = (): readonly LockTrace[] => bench.diagnostics(`tracing:${CHANNELS.release}:start`);
const ends = (): readonly EndedMessage[] => bench.diagnostics(CHANNELS.ended);
const losses = (): readonly LostMessage[] => bench.diagnostics(CHANNELS.lost);

describe('the events of one lease', () => {
  test('have one id, from the acquire over the release to the end', async () => {
    const [acquired, released, ended] = [acquires(), releases(), ends()];
    const stage = new Stage();
    const process = stage.process();
    const lease = await process.lock('a').acquire();
    await stage.clock.advance(1_234);
    expect(await lease.release()).toBe(true);
    const { id } = process.session;
    const told = {
      lock: 'a',
      kind: 'lock',
      lease: expect.stringMatching(`^${id}#\\d+$`),
      fence: lease.fence,
    };
    expect(acquired).toMatchObject([{ ...told, via: 'free', waitedMs: 0, session: id }]);
    expect(released).toMatchObject([{ ...told, session: id }]);
    expect(ended).toEqual([{ ...told, heldMs: 1_234, end: 'released', reason: undefined }]);
    expect(new Set([...acquired, ...released, ...ended].map((event) => event.lease)).size).toBe(1);
  });

  test('tell of a wait how long it was, also when it failed', async () => {
    const acquired = acquires();
    const stage = new Stage();
    const [one, two] = [stage.process(), stage.process()];
    const lease = await one.lock('a').acquire();
    const error = await stage.until(rejection(two.lock('a').acquire({ waitMs: 700 })));
    expect(acquired.at(-1)).toMatchObject({ lock: 'a', error, waitedMs: 700 });
    expect(acquired.at(-1)?.lease).toBeUndefined();
    await lease.release();
  });

  test('of a hold that is lost say so once for the hold, and end each of its leases', async () => {
    const [acquired, lost, ended] = [acquires(), losses(), ends()];
    const stage = new Stage();
    const process = stage.process();
    const outer = await process.lock('a').acquire({ leaseMs: 600 });
    await stage.clock.advance(50);
    await process.lock('a').acquire({ within: outer });
    stage.server.delete('a');
    await stage.clock.advance(600);
    const [first, second] = acquired.map(({ lease }) => lease);
    expect(first).not.toBe(second);
    expect(acquired.map(({ via }) => via)).toEqual(['free', 'reentry']);
    expect(lost).toMatchObject([{ lease: first, reason: 'gone' }]);
    expect(ended.map(({ lease, end, reason }) => [lease, end, reason])).toEqual([
      [first, 'lost', 'gone'],
      [second, 'lost', 'gone'],
    ]);
    expect((ended[0]?.heldMs ?? 0) - (ended[1]?.heldMs ?? 0)).toBe(50);
    expect(await outer.release()).toBe(false);
    expect(ended).toHaveLength(2);
  });

  test('of a lease that is gone when it is released say that it was lost', async () => {
    const ended = ends();
    const stage = new Stage();
    const lease = await stage.process().lock('a').acquire();
    stage.server.delete('a');
    expect(await lease.release()).toBe(false);
    expect(ended).toMatchObject([{ end: 'lost', reason: 'gone' }]);
  });

  test('of a session that closes say that it was closed', async () => {
    const ended = ends();
    const stage = new Stage();
    const process = stage.process();
    await process.lock('a').acquire();
    await stage.until(process.session.close(0));
    expect(ended).toMatchObject([{ end: 'closed', reason: 'closed' }]);
  });

  test('are none for a lease from before anybody listened', async () => {
    const stage = new Stage();
    const lease = await stage.process().lock('a').acquire();
    const ended = ends();
    expect(await lease.release()).toBe(true);
    expect(ended).toEqual([]);
  });

  test('cannot be made out of step by a subscriber that takes the lock again', async () => {
    const ended = ends();
    const stage = new Stage();
    const process = stage.process();
    const taken: Promise<unknown>[] = [];
    (ended as EndedMessage[]).push = () => taken.push(process.lock('a').tryAcquire());
    const lease = await process.lock('a').acquire();
    expect(await lease.release()).toBe(true);
    expect(taken).toHaveLength(1);
    expect(await taken[0]).toMatchObject({ isHeld: true });
    expect(process.session.holds).toBe(1);
  });
});

test('a hand-over inside the process is told of, and the first grant is not', async () => {
  const acquired = acquires();
  const handovers = bench.diagnostics<HandedOverMessage>(CHANNELS.handedOver);
  const stage = new Stage();
  const process = stage.process();
  const first = await process.lock('a').acquire();
  const second = process.lock('a').acquire();
  await stage.clock.advance(10);
  await first.release();
  expect((await second).isHeld).toBe(true);
  expect(handovers).toEqual([{ lock: 'a', kind: 'lock', scope: 'local' }]);
  expect(acquired.map(({ via, waitedMs }) => [via, waitedMs])).toEqual([
    ['free', 0],
    ['local', 10],
  ]);
  await (await second).release();
});

test('a renewal says how much of each lease was left when its answer came', async () => {
  const renewals = bench.diagnostics<RenewTrace>(`tracing:${CHANNELS.renew}:asyncEnd`);
  const stage = new Stage();
  const process = stage.process({ leaseMs: 3_000 });
  const lease = await process.lock('a').acquire();
  await stage.clock.advance(1_100);
  expect(renewals).toMatchObject([{ locks: ['a'], leaseMs: [3_000], result: [{ is: 'kept' }] }]);
  const [marginMs] = renewals[0]?.marginMs ?? [];
  // A renewal is sent after about a third; the drift takes a little.
  expect(marginMs).toBeGreaterThan(1_800);
  expect(marginMs).toBeLessThan(2_100);
  await lease.release();
});
