/** What is held by a majority stays held by a majority: renewed, put back where it was lost, or lost and told. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Lease, LockLostError } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { KINDS, LOCK } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { steady } from '../../support/steady.ts';
import { always, expectKeptOut } from '../../support/violation.ts';
import { waitFor } from '../../support/wait-for.ts';
import { outlivesSilence } from '../silent-connection.ts';
import { useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers);
const quorum = useQuorumBench(servers);
const STEADY = steady();

/** Renewed at a third of it; long enough to live through a stall of the machine. */
const LEASE_MS = 6_000;
/** For a test that sees one to its end. */
const SHORT_MS = 3_000;

async function lost(lease: Lease): Promise<LockLostError> {
  if (!lease.signal.aborted) await once(lease.signal, 'abort');
  const { reason } = lease.signal;
  if (!(reason instanceof LockLostError)) throw reason;
  return reason;
}

/** Waits for what is true of a lease that is held. One that is lost says so itself. */
async function unlessLost(lease: Lease, condition: () => Promise<boolean>): Promise<void> {
  await waitFor(async () => lease.signal.aborted || (await condition()));
  lease.signal.throwIfAborted();
}

describe.each(KINDS)('a $name that is renewed', STEADY, (kind) => {
  test('outlives the connections to all of its servers, when they go silent together', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, {}, proxies);
    const name = quorum.name();
    const acquire = () => kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
    await outlivesSilence({ acquire, proxies, renews: kind.renews, needed: quorum.majority });
    await quorum.untilFree(kind, name);
  });

  test('outlives its lease, and the loss of a minority, which gets it back', async () => {
    const locks = await quorum.assembled(kind);
    const others = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
    const acquiredMs = performance.now();
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    const [owner] = await quorum.votes(kind, name);
    await quorum.remove(name, [1, 3]);
    await unlessLost(lease, async () => {
      expect(await quorum.votes(kind, name)).toEqual([owner, owner, owner, owner, owner]);
      return true;
    });
    await waitFor(() => performance.now() - acquiredMs > LEASE_MS, { what: 'the first lease to be over' });
    lease.signal.throwIfAborted();
    expectKeptOut(lease, await kind.of(others, name).tryAcquire());
    lease.signal.throwIfAborted();
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(kind, name);
  });

  test('outlives servers that restart empty one after the other', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
    for (const i of [0, 1, 2, 3]) {
      await quorum.server(i).kill();
      await quorum.server(i).restart();
      await unlessLost(lease, async () => (await quorum.voters(kind, name)).length === 5);
    }
    lease.signal.throwIfAborted();
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(kind, name);
  });

  test('stays held while two of five are frozen', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: SHORT_MS });
    const acquiredMs = performance.now();
    for (const i of [0, 1]) quorum.server(i).freeze();
    await waitFor(() => performance.now() - acquiredMs > 1.2 * SHORT_MS);
    lease.signal.throwIfAborted();
    expect(lease.isHeld).toBe(true);
    await quorum.resume([0, 1]);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(kind, name, 10_000);
  });

  test('is lost at the next renewal when a majority has lost it, and the rest is given back', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    await quorum.remove(name, [0, 1, 2]);
    // By a renewal: its own timer would have said `expired`.
    expect(await lost(lease)).toMatchObject({ reason: 'gone' });
    always(() => expect(lease.isHeld).toBe(false));
    await quorum.untilFree(kind, name);
  });

  test('that is lost is released where it may still be, and not where it is known to be gone', async () => {
    const proxies = await quorum.proxies();
    const locks = await quorum.assembled(kind, {}, proxies);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    await quorum.remove(name, [0, 1, 2]);
    expect(await lost(lease)).toMatchObject({ reason: 'gone' });
    await quorum.untilFree(kind, name);
    const releases = proxies.map(
      ({ history }) => history.filter((args) => kind.releases(args) && args.includes(name)).length,
    );
    expect(releases).toEqual([0, 0, 0, 1, 1]);
  });

  test('that an operator has taken away is told why, although one server alone says so', async () => {
    const locks = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
    await quorum.untilAll(kind, name);
    const [holder] = await quorum.votes(kind, name);
    const left = `holdfast_revoked:{${name}}:${kind.shown(holder ?? null)}`;
    await ask(quorum.server(1).port, ['SET', left, 'revoked stuck since noon', 'PX', '60000']);
    // A minority that says why it does not have the hold has no say in whether it is held: it gets its vote back.
    await quorum.remove(name, [0, 1]);
    await unlessLost(lease, async () => (await quorum.voters(kind, name)).length === 5);
    expect(lease.isHeld).toBe(true);
    // No majority without the one that says why.
    for (const i of [3, 4]) quorum.server(i).freeze();
    await quorum.remove(name, [0, 1, 2]);
    await rejection(lease.extend(LEASE_MS));
    const told = await lost(lease);
    await quorum.resume([3, 4]);
    expect(told).toMatchObject({
      reason: 'revoked',
      message: expect.stringContaining('released by force: "stuck since noon"'),
    });
    await quorum.untilFree(kind, name, 10_000);
  });

  test('is lost at its end by our own timer when a majority hangs, before anybody else can have it', async () => {
    const locks = await quorum.assembled(kind, { nodeTimeoutMs: 200 });
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: SHORT_MS });
    for (const i of [0, 1, 2]) quorum.server(i).freeze();
    // A timer of ours that is due later fires later, however long this process stands still.
    const isOver = sleep(SHORT_MS, 'over', { ref: false });
    const told = lost(lease);
    const first = await Promise.race([told, isOver]);
    always(() => expect(first).not.toBe('over'));
    always(() => expect(lease.isHeld).toBe(false));
    expect(await told).toMatchObject({ reason: 'expired' });
    await quorum.resume([0, 1, 2]);
    await quorum.untilFree(kind, name, 10_000);
  });

  test('is not put back where somebody released it by force', async () => {
    const locks = await quorum.assembled(kind);
    const others = await quorum.assembled(kind);
    const name = quorum.name();
    const lease = await kind.of(locks, name).acquire({ leaseMs: LEASE_MS });
    await waitFor(async () => (await quorum.voters(kind, name)).length === 5);
    expect(await others.forceRelease(name)).not.toBeNull();
    expect(await quorum.voters(kind, name)).toEqual([]);
    expect(await lost(lease)).toMatchObject({ reason: 'gone' });
    expect(await quorum.voters(kind, name)).toEqual([]);
  });
});

describe('an extension', STEADY, () => {
  test('counts when a majority has it, and not otherwise', async () => {
    const locks = await quorum.assembled(LOCK);
    // On the frozen ones it must not run out meanwhile: the release at the end is of all five.
    const lease = await locks.lock(quorum.name()).acquire({ leaseMs: 60_000, renew: false });
    for (const i of [0, 1]) quorum.server(i).freeze();
    await lease.extend(120_000);
    expect(lease.remainingMs).toBeGreaterThan(90_000);
    quorum.server(2).freeze();
    const beforeMs = lease.remainingMs;
    await rejection(lease.extend(240_000));
    expect(lease.isHeld).toBe(true);
    expect(lease.remainingMs).toBeLessThanOrEqual(beforeMs);
    await quorum.resume([0, 1, 2]);
    // The session has given them up, and a release waits a moment only for those.
    await quorum.assemble(locks, LOCK);
    expect(await lease.release()).toBe(true);
    await quorum.untilFree(LOCK, lease.name, 10_000);
  });
});

describe('a re-entry', STEADY, () => {
  test('is counted by a majority while a minority is away', async () => {
    const locks = await quorum.assembled(LOCK);
    const lock = locks.lock(quorum.name());
    const outer = await lock.acquire();
    quorum.server(0).freeze();
    const inner = await lock.acquire({ within: outer });
    expect(inner.fence).toBe(outer.fence);
    const { port } = quorum.server(4);
    await waitFor(async () => (await held(port, LOCK, outer.name))?.count === 2);
    expect(await inner.release()).toBe(true);
    await waitFor(async () => (await held(port, LOCK, outer.name))?.count === 1);
    expect(outer.isHeld).toBe(true);
    await quorum.resume([0]);
    // While the session lives: what the frozen one was asked for it has done now.
    expect(await outer.release()).toBe(true);
    await quorum.untilFree(LOCK, outer.name);
  });
});
