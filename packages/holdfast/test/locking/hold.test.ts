/** The life of a hold: each way out of a state, and the one request at a time that states the lease. */
import { describe, expect, test } from 'vitest';
import type { LockLostError } from '../../src/errors.ts';
import { Hold, type HoldOwner } from '../../src/locking/hold.ts';
import { instantNow, leaseDeadline } from '../../src/runtime/instant.ts';
import { protocolWith, ScriptedTopology } from './support/scripted-topology.ts';

const LEASE_MS = 1_000;
/** What drift leaves of it. */
const VALID_MS = 988;

class FakeOwner implements HoldOwner {
  readonly id = 's#1';
  readonly fence = undefined;
  readonly via = 'free';
  readonly sinceMs = null;
  readonly seen: string[];
  isGone = false;
  looks = 0;

  constructor(seen: string[]) {
    this.seen = seen;
  }

  isAbandoned(): boolean {
    this.looks += 1;
    return this.isGone;
  }

  markLost({ reason }: LockLostError): void {
    this.seen.push(`marked ${reason}`);
  }

  tellLoss(): void {
    this.seen.push('told');
  }
}

function setup() {
  const { clock } = new ScriptedTopology();
  const seen: string[] = [];
  const now = instantNow(clock);
  const hold = new Hold({
    protocol: protocolWith({}),
    holder: 's:1',
    leaseMs: LEASE_MS,
    renews: true,
    claimMs: undefined,
    linger: undefined,
    deadline: leaseDeadline(now, LEASE_MS),
    firstFence: undefined,
    handovers: 3,
    grantedMs: now.monotonicMs,
    keeper: {
      session: {
        id: 's',
        timers: { clock },
        renewal: { extend: () => Promise.reject(new Error('not asked for')) },
      },
      lost: (_, reason) => void seen.push(`lost ${reason}`),
      leave: () => Promise.resolve(true),
      ended: () => {},
    },
  });
  return { clock, hold, seen, now };
}

describe('a hold', () => {
  test.each([
    ['released', 'released'],
    ['released', 'lost'],
    ['lost', 'released'],
    ['lost', 'lost'],
  ] as const)('that was %s is not %s again', (first, second) => {
    const { hold } = setup();
    const end = (how: 'released' | 'lost'): void =>
      how === 'released' ? hold.markReleased() : hold.markLost('gone', 0);
    end(first);
    expect([hold.isLive, hold.wasLost]).toEqual([false, first === 'lost']);
    expect(() => end(second)).toThrow(`a hold ends once, and this one is ${first}`);
  });

  test('has all its owners know of a loss before the first is told', () => {
    const { hold, seen } = setup();
    hold.addOwner(new FakeOwner(seen));
    hold.addOwner(new FakeOwner(seen));
    hold.markLost('expired', 2_000);
    expect(seen).toEqual(['marked expired', 'marked expired']);
    hold.tellLoss('expired');
    expect(seen.slice(2)).toEqual(['told', 'told']);
  });

  test('is told of only when it is lost', () => {
    const { hold } = setup();
    expect(() => hold.tellLoss('gone')).toThrow('only a lost hold is told of');
  });

  test('leaves its end to its keeper', () => {
    const { hold, seen } = setup();
    hold.lose('revoked');
    expect([seen, hold.isLive]).toEqual([['lost revoked'], true]);
  });

  test('is abandoned when every owner is, and every owner is looked at each time', () => {
    const { hold, seen } = setup();
    const owners = [new FakeOwner(seen), new FakeOwner(seen)] as const;
    for (const owner of owners) hold.addOwner(owner);
    owners[1].isGone = true;
    expect([hold.abandonIfUnreachable(), hold.renews, hold.endsAs]).toEqual([false, true, 'expired']);
    owners[0].isGone = true;
    expect([hold.abandonIfUnreachable(), hold.renews, hold.endsAs]).toEqual([true, false, 'abandoned']);
    expect([hold.isLive, ...owners.map(({ looks }) => looks)]).toEqual([true, 2, 2]);
    expect(hold.abandonIfUnreachable()).toBe(false);
  });

  test('between two owners is not abandoned', () => {
    expect(setup().hold.abandonIfUnreachable()).toBe(false);
  });

  test('is left only by an owner that it has', () => {
    const { hold, seen } = setup();
    expect(() => hold.removeOwner(new FakeOwner(seen))).toThrow('an owner leaves the hold that it owns');
  });

  test('states its lease one request at a time', async () => {
    const { hold, now } = setup();
    hold.beginStatement(now, LEASE_MS, true);
    expect(hold.isStating).toBe(true);
    expect(() => hold.beginStatement(now, LEASE_MS, true)).toThrow('one request at a time');
    let isOver = false;
    const waiting = hold.statementEnd().then(() => (isOver = true));
    await Promise.resolve();
    expect(isOver).toBe(false);
    hold.endStatement();
    await waiting;
    expect(hold.isStating).toBe(false);
    expect(() => hold.endStatement()).toThrow('a statement ends that has begun');
  });

  test('states nothing once it has ended', () => {
    const { hold, now } = setup();
    hold.markReleased();
    expect(() => hold.beginStatement(now, LEASE_MS, true)).toThrow('a live hold');
  });

  test('has its deadline lowered before a shorter lease is sent, and raised only by an answer', () => {
    const { hold, clock, now } = setup();
    hold.beginStatement(now, 200, true);
    expect(hold.remainingMs(clock)).toBe(196);
    hold.endStatement();
    expect(hold.remainingMs(clock)).toBe(196);
    hold.beginStatement(now, 5_000, true);
    expect(hold.remainingMs(clock)).toBe(196);
    hold.stated(now, 5_000);
    hold.endStatement();
    expect(hold.remainingMs(clock)).toBe(4_948);
    expect(hold.releaseTerms).toEqual({ holder: 's:1', leaseMs: 5_000, wasServed: true });
  });

  test('has its deadline left alone by a statement that cannot shorten the lease', () => {
    const { hold, clock, now } = setup();
    hold.beginStatement(now, 200, false);
    hold.statedAtLeast(now, 200);
    hold.endStatement();
    expect(hold.remainingMs(clock)).toBe(VALID_MS);
  });
});
