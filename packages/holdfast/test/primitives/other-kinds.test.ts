/**
 * Two kinds of lock that only tests have, N permits and shared readers, from their public verbs down to a real server:
 * a kind is a protocol and a class, and everything between is used as it is.
 */
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { adaptClient } from '../../src/clients/adapt.ts';
import { LockLostError, LockTimeoutError } from '../../src/errors.ts';
import type { Lease } from '../../src/locking/lease.ts';
import { Session } from '../../src/locking/session.ts';
import { resolveLocksOptions } from '../../src/options/options.ts';
import { Acquirable } from '../../src/primitives/acquirable.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { SingleTopology } from '../../src/topologies/single.ts';
import { rejection } from '../support/rejection.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { PermitsProtocol } from '../topologies/support/permits-protocol.ts';
import { ReadersProtocol } from '../topologies/support/readers-protocol.ts';

class Permits extends Acquirable<Lease> {}
class Readers extends Acquirable<Lease> {}

/** A busy machine may stand still for seconds: no test waits for the end of such a lease. */
const LEASE_MS = 30_000;
const PATIENT_MS = 20_000;
/** Hand-overs and shared holds are about order here, not about time. */
const NO_TIME_BOUND_MS = 60_000;

const server = useRedis();
let redis: Redis;
let sessions: Session[];

beforeEach(async () => {
  redis = new Redis({ port: server.port });
  await redis.flushall();
  sessions = [];
});
afterEach(async () => {
  await Promise.all(sessions.map((session) => session.close(0)));
  await redis.quit();
});

function open(): Session {
  const resolved = resolveLocksOptions({
    leaseMs: LEASE_MS,
    callTimeoutMs: 10_000,
    handoverMs: NO_TIME_BOUND_MS,
  });
  const timers = new TimerQueue(resolved.clock);
  const client = adaptClient(redis, { timers, random: resolved.random });
  const topology = new SingleTopology(client, timers, resolved);
  const id = resolved.random.uuid();
  const session = new Session({ id, topology, timers, options: resolved, record: null });
  sessions.push(session);
  return session;
}

const holders = (key: string): Promise<string[]> => redis.zrange(key, '0', '-1');

describe('N permits', () => {
  test('let N callers of one process in at once, each with a hold of its own, and the next when one leaves', async () => {
    const session = open();
    const seats = new Permits(session, new PermitsProtocol('seats', 2));
    const [first, second] = await Promise.all([seats.acquire(), seats.acquire()]);
    expect([first.isHeld, second.isHeld, session.holds]).toEqual([true, true, 2]);
    expect(new Set(await holders('seats')).size).toBe(2);
    expect(await seats.tryAcquire()).toBeNull();
    const third = seats.acquire({ waitMs: PATIENT_MS });
    expect(await rejection(seats.acquire({ waitMs: 0 }))).toBeInstanceOf(LockTimeoutError);
    expect(await first.release()).toBe(true);
    expect((await third).isHeld).toBe(true);
    expect([second.isHeld, (await holders('seats')).length]).toEqual([true, 2]);
  });

  test('are never more than N over two processes, and everybody is served', async () => {
    const protocols = [new PermitsProtocol('seats', 3), new PermitsProtocol('seats', 3)];
    const crews = protocols.map((protocol) => new Permits(open(), protocol));
    let inside = 0;
    let most = 0;
    const visit = (permits: Permits): Promise<void> =>
      permits.using(async () => {
        inside += 1;
        most = Math.max(most, inside);
        await redis.ping();
        inside -= 1;
      });
    await Promise.all(crews.flatMap((permits) => Array.from({ length: 20 }, () => visit(permits))));
    expect(most).toBeLessThanOrEqual(3);
    expect([inside, await redis.exists('seats')]).toEqual([0, 0]);
  });

  test('are lost one by one', async () => {
    const session = open();
    const seats = new Permits(session, new PermitsProtocol('seats', 2));
    const [first, second] = await Promise.all([seats.acquire(), seats.acquire()]);
    const [firstHolder] = session.holdsOf('seats').map(({ holder }) => holder);
    await redis.zrem('seats', firstHolder as string);
    expect(await first.release()).toBe(false);
    expect([first.isHeld, second.isHeld]).toEqual([false, true]);
    expect(await second.release()).toBe(true);
  });
});

describe('shared readers', () => {
  const PAGE = new ReadersProtocol('page');

  test('of one process share one hold, which ends with the last of them', async () => {
    const session = open();
    const page = new Readers(session, PAGE);
    const readers = await Promise.all([page.acquire(), page.acquire(), page.acquire()]);
    expect(readers.every(({ isHeld }) => isHeld)).toBe(true);
    expect([session.holds, await redis.hlen(PAGE.key)]).toEqual([1, 1]);
    expect(await readers[0]?.release()).toBe(true);
    expect(await readers[1]?.release()).toBe(true);
    expect([readers[2]?.isHeld, await redis.hlen(PAGE.key)]).toEqual([true, 1]);
    expect(await readers[2]?.release()).toBe(true);
    await waitFor(async () => (await redis.exists(PAGE.key)) === 0, { what: 'the end of the shared hold' });
  });

  test('wait together while a writer has the name, and come in together', async () => {
    await redis.set(PAGE.writerKey, 'w', 'PX', LEASE_MS);
    const readers = new Readers(open(), PAGE);
    expect(await readers.tryAcquire()).toBeNull();
    const waiting = Promise.all([1, 2, 3].map(() => readers.acquire({ waitMs: PATIENT_MS })));
    await waitFor(async () => (await redis.pubsub('NUMSUB', PAGE.channel))[1] === 1, {
      what: 'the listener',
    });
    await redis.del(PAGE.writerKey);
    await redis.publish(PAGE.channel, '0');
    expect((await waiting).every(({ isHeld }) => isHeld)).toBe(true);
    expect(await redis.hlen(PAGE.key)).toBe(1);
  });

  test('all hear of the loss of the hold that they share', async () => {
    const session = open();
    const readers = new Readers(session, PAGE);
    const leases = await Promise.all([readers.acquire(), readers.acquire()]);
    await redis.del(PAGE.key);
    // An extension asks the server, which says that the hold is gone.
    const extended = await Promise.all(leases.map((lease) => rejection(lease.extend(LEASE_MS))));
    for (const error of extended) expect(error).toBeInstanceOf(LockLostError);
    expect(leases.map(({ isHeld, signal }) => [isHeld, signal.aborted])).toEqual([
      [false, true],
      [false, true],
    ]);
  });
});
