/** Clocks of servers that jump: what a minority's does not break, and what a majority's breaks and the fence saves. */
import { once } from 'node:events';
import { EmbeddedNode } from 'holdfast-testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LockLostError, Locks, type LocksOptions } from '../../../src/index.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectKeptOut } from '../../support/violation.ts';
import { timed } from './support.ts';

useLeakCheck();

const LEASE_MS = 4_500;
const MINUTE_MS = 60_000;

/** A wall clock that somebody sets. */
class SettableClock implements Clock {
  offsetMs = 0;

  monotonicMs(): number {
    return systemClock.monotonicMs();
  }

  wallMs(): number {
    return systemClock.wallMs() + this.offsetMs;
  }

  startTimer(delayMs: number, fire: () => void): ReturnType<Clock['startTimer']> {
    return systemClock.startTimer(delayMs, fire);
  }
}

interface Member {
  readonly clock: SettableClock;
  readonly node: EmbeddedNode;
}

function members(): Member[] {
  return Array.from({ length: 5 }, () => {
    const clock = new SettableClock();
    const node = new EmbeddedNode({ clock });
    onTestFinished(() => node.close());
    return { clock, node };
  });
}

async function session(nodes: readonly Member[], options: LocksOptions = {}): Promise<Locks> {
  const clients = nodes.map(({ node }) => node.client());
  const locks = new Locks(clients, {
    application: false,
    restartGuardMs: 0,
    nodeTimeoutMs: 3_000,
    ...options,
  });
  onTestFinished(() => locks.destroy());
  await (await locks.lock('first').acquire()).release();
  return locks;
}

function jump(nodes: readonly Member[], byMs: number): void {
  for (const { clock } of nodes) clock.offsetMs += byMs;
}

describe('a clock that jumps forward a minute', () => {
  test('on a minority of the servers costs the owner nothing', async () => {
    const nodes = members();
    const locks = await session(nodes);
    const others = await session(nodes);
    const lease = await locks.lock('it').acquire({ leaseMs: LEASE_MS });
    jump(nodes.slice(0, 2), MINUTE_MS);
    const startedMs = performance.now();
    while (performance.now() - startedMs < LEASE_MS) {
      expectKeptOut(lease, await others.lock('it').tryAcquire());
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
  });

  test('on a majority is noticed by the next renewal, and the fence of who came in is larger', async () => {
    const nodes = members();
    const locks = await session(nodes);
    const others = await session(nodes);
    const lease = await locks.lock('it').acquire({ leaseMs: LEASE_MS });
    jump(nodes.slice(0, 3), MINUTE_MS);
    // Outside of what a quorum survives.
    const second = await others.lock('it').acquire({ waitMs: 60_000 });
    expect(second.fence).toBeGreaterThan(lease.fence);
    if (!lease.signal.aborted) await once(lease.signal, 'abort');
    expect(lease.signal.reason).toBeInstanceOf(LockLostError);
    expect(second.isHeld).toBe(true);
    expect(await second.release()).toBe(true);
  });
});

describe('a clock that is set back two minutes', () => {
  test('keeps nobody waiting for longer than the lease while it is a minority', async () => {
    const nodes = members();
    const locks = await session(nodes);
    const others = await session(nodes);
    await locks.lock('it').acquire({ leaseMs: LEASE_MS, renew: false });
    // Its owner is gone. Two servers would keep it for two minutes more.
    await locks.destroy();
    jump(nodes.slice(0, 2), -2 * MINUTE_MS);
    const [lease, tookMs] = await timed(() => others.lock('it').acquire({ waitMs: 60_000 }));
    expect(tookMs).toBeLessThan(LEASE_MS + 15_000);
    expect(await lease.release()).toBe(true);
  });

  test('does not make a fence smaller while the counters of a majority survive', async () => {
    const nodes = members();
    const locks = await session(nodes);
    const fences: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const lease = await locks.lock('it').acquire();
      fences.push(lease.fence);
      await lease.release();
      jump(nodes, -2 * MINUTE_MS);
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
    expect(fences).toHaveLength(5);
  });
});

describe('a vote that comes late by a clock that has jumped', () => {
  test('is not asked for again when it was given up meanwhile', async () => {
    const nodes = members();
    const locks = await session(nodes);
    for (const { node } of nodes.slice(1)) {
      await node.command('HSET', 'it', '00000000-0000-4000-8000-000000000000:1', '1');
      await node.command('PEXPIRE', 'it', '60000');
    }
    const { clock, node } = nodes[0] as Member;
    node.pause();
    expect(await locks.lock('it').tryAcquire()).toBeNull();
    // The request finds itself late by this clock; asked again, it would be granted behind its own release.
    clock.offsetMs += MINUTE_MS;
    node.resume();
    // Each goes behind what was sent before it.
    for (let i = 0; i < 3; i += 1) await locks.inspect('it');
    expect(await node.command('EXISTS', 'it')).toBe(0);
  });
});

describe('clocks that never agreed', () => {
  test('give locks and fences as if they did', async () => {
    const nodes = members();
    for (const [i, { clock }] of nodes.entries()) clock.offsetMs = (i - 2) * 60 * MINUTE_MS;
    const sessions = await Promise.all([session(nodes), session(nodes)]);
    const fences: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      const locks = sessions[i % 2] as Locks;
      const lease = await locks.lock('it').acquire();
      expect(await (sessions[(i + 1) % 2] as Locks).lock('it').tryAcquire()).toBeNull();
      fences.push(lease.fence);
      await lease.release();
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
    expect(fences).toHaveLength(10);
  });
});
