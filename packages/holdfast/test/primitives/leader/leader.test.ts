/** The promises of a leader and its pitfalls, on a clock that the test moves. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { CHANNELS } from '../../../src/telemetry/channels.ts';
import { uncaughtDuring } from '../../locking/support/uncaught.ts';
import { gate as makeGate } from '../../support/gate.ts';
import { World } from '../schedule/world.ts';
import { Terms } from './terms.ts';
import { untilAborted } from './until-aborted.ts';

const KEY = 'holdfast_leader:{boss}';

describe('one leader', () => {
  test('leads at a time, and the next has a larger fence', async () => {
    const world = await World.open();
    const terms = new Terms();
    const stops = [0, 1, 2].map((who) => {
      const stop = new AbortController();
      void world.replica().leader('boss').run(terms.bodyOf(who), { signal: stop.signal });
      return stop;
    });
    for (let turn = 0; turn < 3; turn += 1) {
      await world.advance(1_000);
      expect(terms.all).toHaveLength(turn + 1);
      stops[terms.all.at(-1)?.who ?? 0]?.abort();
    }
    await world.advance(1_000);
    terms.expectTurnOfEach(3);
  });

  test('hands over in under a second when its process closes', async () => {
    const world = await World.open();
    const first = world.replica();
    void first.leader('boss').run(({ signal }) => untilAborted(signal));
    await world.advance(100);
    const second = world.replica().leader('boss');
    void second.run(({ signal }) => untilAborted(signal));
    await world.advance(5_000);
    expect(second.isLeader).toBe(false);
    const closed = first.close();
    await world.advance(900);
    expect(second.isLeader).toBe(true);
    await closed;
  });

  test('is told within a third of its lease when its lock is gone, and one leads again: FLUSHALL', async () => {
    const world = await World.open();
    const events: string[] = [];
    const leaders = [0, 1].map((who) => {
      const leader = world.replica({ leaseMs: 9_000 }).leader('boss');
      leader.on('elected', () => events.push(`elected ${who}`));
      leader.on('lost', () => events.push(`lost ${who}`));
      void leader.run(({ signal }) => untilAborted(signal));
      return leader;
    });
    await world.advance(1_000);
    expect(leaders.map(({ isLeader }) => isLeader)).toEqual([true, false]);
    await world.node.command('FLUSHALL');
    // Within a third of the lease the old leader knows. Until then two may lead: that is what the fence is for.
    expect(events).not.toContain('lost 0');
    await world.advance(3_100);
    expect(events).toContain('lost 0');
    await world.advance(10_000);
    expect(leaders.filter(({ isLeader }) => isLeader)).toHaveLength(1);
  });

  test('that cannot renew is told by its own clock before the server lets anybody in: partitioned', async () => {
    const world = await World.open();
    const first = world.replica({ leaseMs: 6_000 }).leader('boss');
    let lostAtMs = 0;
    first.on('lost', () => {
      lostAtMs = world.clock.monotonicMs();
    });
    void first.run(({ signal }) => untilAborted(signal));
    await world.advance(100);
    world.node.pause();
    await world.advance(7_000);
    expect(first.isLeader).toBe(false);
    expect(lostAtMs).toBeGreaterThan(0);
    expect(lostAtMs).toBeLessThan(6_100);
    world.node.resume();
    await world.advance(20_000);
    // It campaigns again.
    expect(first.isLeader).toBe(true);
  });
});

describe('a term', () => {
  test('that is lost tells its body before the listeners', async () => {
    const world = await World.open();
    const leader = world.replica({ leaseMs: 3_000 }).leader('boss');
    const told: string[] = [];
    leader.on('lost', () => told.push('lost'));
    void leader.run(({ signal }) => {
      signal.addEventListener('abort', () => told.push('body'), { once: true });
      return untilAborted(signal);
    });
    await world.advance(100);
    await world.node.command('DEL', KEY);
    await world.advance(1_500);
    expect(told).toEqual(['body', 'lost']);
  });

  test('that is over before its body begins has no body, and is released', async () => {
    const world = await World.open();
    const leader = world.replica().leader('boss');
    const stop = new AbortController();
    const told: string[] = [];
    leader.on('elected', () => stop.abort());
    leader.on('resigned', () => told.push('resigned'));
    const running = leader.run(() => void told.push('body'), { signal: stop.signal });
    await world.until(running);
    expect(told).toEqual(['resigned']);
    expect(await world.node.command('EXISTS', KEY)).toBe(0);
  });
});

describe('a body that was told to end', () => {
  test('is waited for while the lock is renewed: no release before it settles', async () => {
    const world = await World.open();
    const gate = makeGate();
    const stop = new AbortController();
    const leader = world.replica({ leaseMs: 3_000 }).leader('boss', { graceMs: 60_000 });
    const running = leader.run(() => gate.opened, { signal: stop.signal });
    const other = world.replica({ leaseMs: 3_000 }).leader('boss');
    void other.run(({ signal }) => untilAborted(signal));
    await world.advance(100);
    stop.abort();
    await world.advance(20_000);
    expect([leader.isLeader, other.isLeader]).toEqual([false, false]);
    gate.open();
    await world.advance(500);
    await running;
    expect(other.isLeader).toBe(true);
  });

  test('and does not end within its grace is stuck: renewal ends, run rejects, nothing is released', async () => {
    const world = await World.open();
    const stop = new AbortController();
    const locks = world.replica({ leaseMs: 4_000 });
    const leader = locks.leader('boss', { graceMs: 1_000 });
    const stuck = vi.fn();
    leader.on('stuck', stuck);
    const running = leader.run(() => new Promise(() => {}), { signal: stop.signal });
    running.catch(() => {});
    await world.advance(100);
    stop.abort();
    await world.advance(1_100);
    await expect(running).rejects.toMatchObject({ code: 'ELEADERSTUCK', lock: 'boss' });
    expect(stuck).toHaveBeenCalledWith({ fence: expect.any(Number) });
    // The body may be at work: closing does not let anybody in before the lease ends.
    await world.until(locks.close());
    expect(await world.node.command('EXISTS', KEY)).toBe(1);
    await world.advance(4_000);
    expect(await world.node.command('EXISTS', KEY)).toBe(0);
  });

  test('and is stuck keeps every other body out until it has ended: run rejects again', async () => {
    const world = await World.open();
    const gate = makeGate();
    const stop = new AbortController();
    const leader = world.replica({ leaseMs: 4_000 }).leader('boss', { graceMs: 1_000 });
    const stuck = leader.run(() => gate.opened, { signal: stop.signal });
    stuck.catch(() => {});
    await world.advance(100);
    stop.abort();
    await world.advance(1_100);
    await expect(stuck).rejects.toMatchObject({ code: 'ELEADERSTUCK' });
    const begun = vi.fn(({ signal }: { signal: AbortSignal }) => untilAborted(signal));
    const again = leader.run(begun);
    again.catch(() => {});
    await world.advance(20_000);
    expect(begun).not.toHaveBeenCalled();
    await expect(again).rejects.toMatchObject({ code: 'ELEADERSTUCK', lock: 'boss' });
    gate.open();
    await world.advance(0);
    void leader.run(begun);
    await world.advance(100);
    expect(begun).toHaveBeenCalledTimes(1);
  });

  test('by a loss is waited for before the next campaign', async () => {
    const world = await World.open();
    const gate = makeGate();
    const bodies = { running: 0, most: 0, begun: 0 };
    const leader = world.replica({ leaseMs: 3_000 }).leader('boss', { graceMs: 60_000 });
    void leader.run(async ({ signal }) => {
      bodies.begun += 1;
      bodies.running += 1;
      bodies.most = Math.max(bodies.most, bodies.running);
      await untilAborted(signal);
      await gate.opened;
      bodies.running -= 1;
    });
    await world.advance(100);
    await world.node.command('FLUSHALL');
    await world.advance(10_000);
    expect([bodies.begun, await world.node.command('EXISTS', KEY)]).toEqual([1, 0]);
    gate.open();
    await world.advance(1_000);
    expect(bodies).toMatchObject({ begun: 2, most: 1 });
  });
});

describe('a standby', () => {
  test('campaigns again after every loss, for as long as it is not stopped', async () => {
    const world = await World.open();
    const leader = world.replica({ leaseMs: 3_000 }).leader('boss');
    let elected = 0;
    leader.on('elected', () => {
      elected += 1;
    });
    void leader.run(({ signal }) => untilAborted(signal));
    for (let turn = 1; turn <= 4; turn += 1) {
      await world.advance(2_000);
      expect(elected).toBe(turn);
      await world.node.command('FLUSHALL');
    }
  });

  test('outlasts an outage of any length', async () => {
    const world = await World.open();
    const holder = world.replica({ leaseMs: 3_000 });
    void holder.leader('boss').run(({ signal }) => untilAborted(signal));
    await world.advance(100);
    const standby = world.replica({ leaseMs: 3_000, outageMs: 1_000 }).leader('boss');
    void standby.run(({ signal }) => untilAborted(signal));
    await world.advance(1_000);
    world.node.pause();
    await holder.destroy();
    await world.advance(120_000);
    world.node.resume();
    await world.advance(60_000);
    expect(standby.isLeader).toBe(true);
  });

  test('whose server was never there is told so', async () => {
    const world = await World.open();
    const locks = world.replica();
    await world.node.close();
    await expect(world.until(locks.leader('boss').run(() => {}))).rejects.toMatchObject({
      code: 'ELOCKUNAVAILABLE',
    });
  });
});

describe('a body that returns', () => {
  test('steps down, warns once, and campaigns again after a growing pause', async () => {
    const world = await World.open();
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const times: number[] = [];
    const options = { backoffMs: { min: 1_000, max: 4_000 } };
    void world
      .replica()
      .leader('returning', options)
      .run(() => {
        times.push(world.clock.monotonicMs());
      });
    await world.advance(20_000);
    const pauses = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(500);
    expect(pauses.at(-1)).toBeGreaterThanOrEqual(2_000);
    expect(pauses.every((ms) => ms <= 4_100)).toBe(true);
    const codes = warn.mock.calls.map(([, given]) => (given as { code: string }).code);
    expect(codes).toEqual(['HOLDFAST_LEADER_RETURNED']);
  });

  test("ends run with afterReturn: 'stop'", async () => {
    const world = await World.open();
    const leader = world.replica().leader('boss', { afterReturn: 'stop' });
    await world.until(leader.run(() => {}));
    expect(await world.node.command('EXISTS', KEY)).toBe(0);
  });

  test('by an error of its own releases, and run rejects with that error', async () => {
    const world = await World.open();
    const leader = world.replica().leader('boss');
    const resigned = vi.fn();
    leader.on('resigned', resigned);
    const error = new Error('boom');
    await expect(world.until(leader.run(() => Promise.reject(error)))).rejects.toBe(error);
    expect(resigned).toHaveBeenCalledWith({ fence: expect.any(Number), error });
    expect(await world.node.command('EXISTS', KEY)).toBe(0);
  });
});

test('stepDown lets another lead, and this one campaigns again', async () => {
  const world = await World.open();
  const [first, second] = [0, 1].map(() => world.replica().leader('boss'));
  void first?.run(({ signal }) => untilAborted(signal));
  await world.advance(100);
  void second?.run(({ signal }) => untilAborted(signal));
  await world.advance(1_000);
  await world.until(first?.stepDown() ?? Promise.reject(new Error('no leader')));
  await world.advance(500);
  expect([first?.isLeader, second?.isLeader]).toEqual([false, true]);
  await world.advance(2_000);
  await world.until(second?.stepDown() ?? Promise.reject(new Error('no leader')));
  await world.advance(500);
  expect(first?.isLeader).toBe(true);
  await world.until(second?.stepDown() ?? Promise.reject(new Error('no leader')));
});

test('current tells who leads, in any process', async () => {
  const world = await World.open();
  const locks = world.replica({ prefix: 'app:' });
  const leader = locks.leader('boss');
  expect(await leader.current()).toBeNull();
  void leader.run(({ signal }) => untilAborted(signal));
  await world.advance(100);
  expect(await leader.current()).toMatchObject({ session: locks.session, isMe: true, waiters: 0 });
  const other = world.replica({ prefix: 'app:' });
  expect(await other.leader('boss').current()).toMatchObject({ session: locks.session, isMe: false });
  const listed = [];
  for await (const found of other.list({ prefix: 'bo' })) listed.push(found);
  expect(listed).toMatchObject([{ name: 'boss', kind: 'leader' }]);
});

test('events are told on the channel too', async () => {
  const world = await World.open();
  const messages: unknown[] = [];
  const hear = (message: unknown): void => {
    messages.push(message);
  };
  subscribe(CHANNELS.leader, hear);
  onTestFinished(() => {
    unsubscribe(CHANNELS.leader, hear);
  });
  const locks = world.replica();
  void locks.leader('boss').run(({ signal }) => untilAborted(signal));
  await world.advance(100);
  await world.until(locks.close());
  const told = { leader: 'boss', session: locks.session };
  expect(messages).toMatchObject([
    { ...told, event: 'elected' },
    { ...told, event: 'resigned' },
  ]);
});

test('a listener that throws hurts nobody but the program that gave it', async () => {
  const world = await World.open();
  const leader = world.replica().leader('boss');
  leader.on('elected', () => {
    throw new Error('listener');
  });
  const uncaught = await uncaughtDuring(async () => {
    void leader.run(({ signal }) => untilAborted(signal));
    await world.advance(1_000);
  });
  expect(leader.isLeader).toBe(true);
  expect(uncaught).toMatchObject([{ message: 'listener' }]);
});

test.each([
  ['options', () => ({ graceMs: -1 }), /graceMs/],
  ['options', () => ({ afterReturn: 'quit' }), /afterReturn/],
  ['options', () => ({ backoffMs: { min: 5, max: 1 } }), /backoffMs.max/],
  ['options', () => ({ grace: 1 }), /an option of a leader/],
])('bad %s are refused before any work', async (_, options, message) => {
  const world = await World.open();
  expect(() => world.replica().leader('boss', options() as object)).toThrow(message);
});

test('run is refused while it runs, with a bad body, and after close', async () => {
  const world = await World.open();
  const locks = world.replica();
  const leader = locks.leader('boss');
  await expect(leader.run(1 as never)).rejects.toMatchObject({ code: 'ELOCKCONFIG' });
  void leader.run(({ signal }) => untilAborted(signal));
  await expect(leader.run(() => {})).rejects.toMatchObject({ code: 'ELOCKCONFIG' });
  await world.advance(100);
  await world.until(locks.close());
  await expect(leader.run(() => {})).rejects.toMatchObject({ code: 'ELOCKCLOSED' });
});
