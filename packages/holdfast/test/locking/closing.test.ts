/** `close` finishes and releases; `destroy` drops everything now. */
import { describe, expect, test } from 'vitest';
import { CLIENT, type Client } from '../../src/clients/client.ts';
import { Locks } from '../../src/locks.ts';
import { rejection } from '../support/rejection.ts';
import { answers, hangs, losesAnswer } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

function expectNothingLeft(stage: Stage, { timers, session, openReleases }: StageProcess): void {
  expect([timers.size, stage.clock.pendingTimers, session.holds, openReleases]).toEqual([0, 0, 0, 0]);
  expect([stage.server.keys, stage.server.channels.names]).toEqual([[], []]);
}

describe('close', () => {
  test('releases what is held, tells its owner, and turns waiters away', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire();
    const { signal } = lease;
    const waiting = rejection(process.lock('a').acquire());
    await stage.until(process.session.close(0));
    expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'closed' });
    expect(await waiting).toMatchObject({ code: 'ELOCKCLOSED', lock: 'a' });
    expect(await lease.release()).toBe(false);
    expectNothingLeft(stage, process);
  });

  test('gives owners their grace, and is done when the last of them is', async () => {
    const { stage, process } = setup();
    const leases = [await process.lock('a').acquire(), await process.lock('b').acquire()];
    const startedMs = stage.clock.monotonicMs();
    const closed = process.session.close(5_000);
    await stage.clock.advance(300);
    expect(await leases[0]?.release()).toBe(true);
    await stage.clock.advance(300);
    expect(await leases[1]?.release()).toBe(true);
    await stage.until(closed);
    expect(stage.clock.monotonicMs() - startedMs).toBe(600);
    expectNothingLeft(stage, process);
  });

  test('takes what is not finished after the grace', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 500 });
    const { signal } = lease;
    const closed = process.session.close(5_000);
    await stage.clock.advance(4_999);
    expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
    await stage.until(closed);
    expect(signal.reason).toMatchObject({ reason: 'closed' });
    expectNothingLeft(stage, process);
  });

  test('does not hand over any more', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire();
    const closed = process.session.close(1_000);
    const error = rejection(process.lock('a').acquire());
    await lease.release();
    expect(await error).toMatchObject({ code: 'ELOCKCLOSED' });
    await stage.until(closed);
    expectNothingLeft(stage, process);
  });

  test.each([
    ['is granted', answers(300)],
    ['is granted and its answer lost', losesAnswer()],
  ])('waits for an acquire under way that %s, and gives it back', async (_, fate) => {
    const { stage, process } = setup();
    process.client.next('lock.acquire', fate);
    const waiting = rejection(process.lock('a').acquire());
    await stage.clock.advance(200);
    await stage.until(process.session.close(0));
    expect(await waiting).toMatchObject({ code: 'ELOCKCLOSED' });
    await stage.clock.advance(0);
    expect(stage.server.keys).toEqual([]);
    expectNothingLeft(stage, process);
  });

  test('does not wait for ever for a server that does not answer', async () => {
    const { stage, process } = setup();
    await process.lock('a').acquire();
    await process.mutex('m').acquire();
    process.client.from('any', hangs());
    const startedMs = stage.clock.monotonicMs();
    await stage.until(process.session.close(0));
    expect(stage.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(4_000);
    expect([process.timers.size, stage.clock.refdTimers]).toEqual([0, 0]);
  });

  test('releases a lock that was acquired while an earlier release of it had no answer yet', async () => {
    const { stage, process } = setup();
    const first = await process.lock('a').acquire();
    process.client.next('lock.release', losesAnswer());
    const released = rejection(first.release());
    process.client.next('lock.acquire', hangs());
    expect(await stage.until(rejection(process.lock('a').acquire({ waitMs: 0 })))).toMatchObject({
      code: 'ELOCKUNKNOWN',
    });
    const second = await process.lock('a').acquire();
    await stage.until(released);
    expect(second.isHeld).toBe(true);
    await stage.until(process.session.close(0));
    expect(second.signal.reason).toMatchObject({ reason: 'closed' });
    expectNothingLeft(stage, process);
  });

  test('twice is once, and what comes after it is refused', async () => {
    const { stage, process } = setup();
    const closes = [process.session.close(0), process.session.close(0)];
    await stage.until(Promise.all(closes));
    for (const use of [
      process.lock('a').acquire(),
      process.mutex('m').tryAcquire(),
      process.lock('a').using(() => 1),
    ]) {
      expect(await rejection(use)).toMatchObject({ code: 'ELOCKCLOSED' });
    }
  });
});

describe('destroy', () => {
  test('sends nothing, tells owners and waiters, and leaves leases to the server', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 900 });
    const { signal } = lease;
    const waiting = rejection(process.lock('a').acquire());
    const sent = process.client.calls.length;
    await process.session.destroy();
    expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'closed' });
    expect(await waiting).toMatchObject({ code: 'ELOCKCLOSED' });
    expect(process.client.calls.length).toBe(sent);
    expect(stage.server.keys).toEqual(['a']);
    await stage.clock.advance(900);
    expectNothingLeft(stage, process);
  });

  test('during the grace of close ends both', async () => {
    const { stage, process } = setup();
    await process.lock('a').acquire({ leaseMs: 900 });
    const closed = process.session.close(60_000);
    await stage.clock.advance(100);
    await process.session.destroy();
    await stage.until(closed, 1_000);
    await stage.clock.advance(900);
    expectNothingLeft(stage, process);
  });

  test('while everything is under way leaves no timer and no promise', async () => {
    const { stage, process } = setup();
    const other = stage.process();
    const held = await other.lock('a').acquire();
    const leases = await Promise.all(['b', 'c'].map((name) => process.lock(name).acquire({ leaseMs: 900 })));
    const pending: Promise<unknown>[] = [rejection(process.lock('a').acquire())];
    await stage.clock.advance(10);
    process.client.from('any', hangs());
    pending.push(rejection(process.lock('d').acquire({ waitMs: 50_000 })));
    pending.push(...leases.map((lease) => lease.extend(5_000).catch(() => {})));
    pending.push(rejection(process.lock('b').acquire({ within: leases[0] as (typeof leases)[number] })));
    await stage.clock.advance(10);
    await process.session.destroy();
    await stage.until(Promise.all(pending), 5_000);
    await held.release();
    await stage.clock.advance(5_000);
    expectNothingLeft(stage, process);
    expectNothingLeft(stage, other);
  });
});

describe('Locks', () => {
  test('takes a client of one’s own making, and puts both prefixes before the name', async () => {
    const stage = new Stage();
    const { client } = stage.process();
    const own: Client = { ...seam(client), keyPrefix: 'mine:' };
    const locks = new Locks(own, { prefix: 'p:', clock: stage.clock });
    const lease = await locks.lock('a').acquire();
    expect(stage.server.owner('mine:p:a')).toBe(`${locks.session}:1`);
    expect([lease.name, lease.isHeld]).toEqual(['a', true]);
    await locks.close();
    expect(stage.server.keys).toEqual([]);
  });
});

function seam(client: Client): Client {
  return {
    [CLIENT]: true,
    description: client.description,
    keyPrefix: '',
    isConnected: true,
    connections: 1,
    run: (call, timeoutMs) => client.run(call, timeoutMs),
    listen: (channel, wake, timeoutMs) => client.listen(channel, wake, timeoutMs),
    close: () => client.close(),
  };
}
