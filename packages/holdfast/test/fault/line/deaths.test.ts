/** What a killed waiter, a flushed server and a forgotten script cost those who wait. */
import { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import type { Lease, Locks, LocksOptions } from '../../../src/index.ts';
import { lineKey, lockChannel } from '../../../src/keys/name.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilWaiting } from '../../support/locks/held.ts';
import { KINDS, type Kind, LOCK } from '../../support/locks/kind.ts';
import { allServed, SERVED_AGAIN_MS } from '../../support/locks/served.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { wokenBy } from '../../support/locks/woken.ts';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import { always } from '../../support/violation.ts';
import type { ChildPlan, ChildWord } from '../waiting/child.ts';

const redis = useRedis();
// The ticket of a process that was killed stays in the line until its time is over.
useLeakCheck(redis, { checksHandles: false, ignoreKeys: [/redisson_lock_token:/, /holdfast_line:/] });
useChildren();
const bench = useBench();
const STEADY = steady();

const CLAIM_MS = 1_000;
/** Of a victim that must not cost its claim: far longer than a machine is slow. */
const CLAIM_MS_LONG = 10_000;
/** Those in line ask again this soon. */
const ASK_MS = 1_000;
const LEASE_MS = 60_000;
/** More than twice as many as there are processes in line, so that half a turn is due to each after one owner. */
const GUESTS = 5;
const START_LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 400_000 });

/** How the two that wait reach the server. */
type Ways = Readonly<Record<'victim' | 'next', { readonly port: number }>>;

interface Scene {
  readonly name: string;
  readonly owner: Locks;
  readonly lease: Lease;
  /** The session that is second in line. */
  readonly locks: Locks;
  readonly victim: Child<ChildWord>;
  readonly next: Promise<Lease>;
}

/** Somebody owns the lock; a process that will be killed is first in line, a session of ours is second. */
async function setup(
  kind: Kind,
  mode: ChildPlan['mode'],
  claimMs: number,
  { victim: { port }, next: way }: Ways = { victim: redis, next: redis },
): Promise<Scene> {
  // What the second in line is given it keeps for as long as a test looks at it.
  const [owner, locks] = await Promise.all([session(), session(way.port, { claimMs: LEASE_MS })]);
  const name = bench.name();
  const lease = await kind.of(owner, name).acquire();
  const plan: ChildPlan = {
    mode,
    port,
    kind: kind.name,
    name,
    leaseMs: LEASE_MS,
    handovers: 64,
    claimMs,
  };
  const victim = startChild<ChildWord>('test/fault/waiting/child.ts', [JSON.stringify(plan)]);
  await untilWaiting(redis.port, name, 1, START_LIMIT_MS);
  const next = kind.of(locks, name).acquire();
  next.catch(() => {});
  await untilWaiting(redis.port, name, 2);
  return { name, owner, lease, locks, victim, next };
}

async function session(port = redis.port, options: LocksOptions = {}): Promise<Locks> {
  const locks = await bench.session(port, { leaseMs: LEASE_MS, ...options });
  for (const kind of KINDS) await warmUp(locks, kind);
  return locks;
}

/** Listens for releases without a place in the line, as the waiters of Redisson do. */
async function listenAsGuest(name: string): Promise<Redis> {
  const guest = new Redis(redis.port);
  await guest.subscribe(lockChannel(name));
  return guest;
}

/** After how long somebody is served. */
async function servedWithin(waiting: Promise<Lease>): Promise<number> {
  const startMs = performance.now();
  const lease = await waiting;
  const tookMs = performance.now() - startMs;
  expect(await lease.release()).toBe(true);
  return tookMs;
}

describe.each(KINDS)('a waiter for a $name that is killed', (kind) => {
  test(
    'while it is first in line costs the others nothing, however long its claim would be',
    STEADY,
    async () => {
      const { name, lease, victim, next } = await setup(kind, 'waiter', CLAIM_MS_LONG);
      expect(await victim.kill()).toMatchObject({ signal: 'SIGKILL' });
      const served = await wokenBy(name, () => lease.release(), next);
      expect(await served.release()).toBe(true);
    },
  );

  test(
    'when it has the lock and has not stated its lease costs the others a claim and a second',
    STEADY,
    async () => {
      const { lease, victim, next } = await setup(kind, 'dies-granted', CLAIM_MS);
      await lease.release();
      const tookMs = await servedWithin(next);
      expect(await victim.exited).toMatchObject({ signal: 'SIGKILL' });
      expect(tookMs).toBeLessThan(CLAIM_MS + ASK_MS);
    },
  );
});

test(
  'a waiter that has the lock and is killed while it releases costs the others nothing once its release has reached the server',
  STEADY,
  async () => {
    const proxies = { victim: await bench.proxy(redis.port), next: await bench.proxy(redis.port) };
    const { name, lease, owner, locks, victim, next } = await setup(LOCK, 'waiter', CLAIM_MS_LONG, proxies);
    await lease.release();
    await victim.next(({ event }) => event === 'acquired', START_LIMIT_MS);
    // From here on the next in line cannot ask for the lock: whoever gives it the lock is the release.
    proxies.next.freeze();
    // The release is never answered: its process dies in it.
    const isReleasing = proxies.victim.dropReply(LOCK.releases);
    victim.send('release');
    await isReleasing;
    // However long it takes to look, it does not give the release up and go on.
    victim.stop();
    const found = await owner.inspect(name);
    always(() => expect(found).toMatchObject({ owner: expect.stringContaining(locks.session) }));
    expect(await victim.kill()).toMatchObject({ signal: 'SIGKILL' });
    proxies.next.thaw();
    const served = await next;
    expect(await served.release()).toBe(true);
  },
);

test(
  'a waiter that is killed while the lock is left to guests, and it is first in line, costs the others a second',
  STEADY,
  async () => {
    const { name, lease, victim, next } = await setup(LOCK, 'waiter', CLAIM_MS_LONG);
    // So many guests that the lock is left to them after one owner. None of them takes it.
    const guests = await Promise.all(Array.from({ length: GUESTS }, () => listenAsGuest(name)));
    // As if the owner had stood in the line too.
    await ask(redis.port, ['HSET', lineKey(name), 'run', '1']);
    victim.stop();
    await lease.release();
    expect(await victim.kill()).toMatchObject({ signal: 'SIGKILL' });
    const tookMs = await servedWithin(next);
    await Promise.all(guests.map((guest) => guest.quit()));
    expect(tookMs).toBeLessThan(2 * ASK_MS);
  },
);

describe('three processes that wait', () => {
  async function waiters(): Promise<{ name: string; lease: Lease; waits: Promise<Lease>[] }> {
    const [owner, ...all] = (await Promise.all(Array.from({ length: 4 }, () => session()))) as [
      Locks,
      ...Locks[],
    ];
    const name = bench.name();
    const lease = await owner.lock(name).acquire();
    const waits: Promise<Lease>[] = [];
    for (const [i, locks] of all.entries()) {
      waits.push(locks.lock(name).acquire());
      await untilWaiting(redis.port, name, i + 1);
    }
    return { name, lease, waits };
  }

  test('are served within five seconds when everything was flushed', STEADY, async () => {
    const { waits } = await waiters();
    await ask(redis.port, ['FLUSHALL']);
    expect(await allServed(waits)).toBeLessThan(SERVED_AGAIN_MS);
  });

  test('are served within five seconds when the key of the lock was deleted by hand', STEADY, async () => {
    const { name, waits } = await waiters();
    await ask(redis.port, ['DEL', name]);
    expect(await allServed(waits)).toBeLessThan(SERVED_AGAIN_MS);
  });

  test('are served at the release when the scripts were flushed', STEADY, async () => {
    const { lease, waits } = await waiters();
    await ask(redis.port, ['SCRIPT', 'FLUSH']);
    expect(await lease.release()).toBe(true);
    expect(await allServed(waits)).toBeLessThan(CLAIM_MS + ASK_MS);
  });

  test('are served when the line alone was lost', STEADY, async () => {
    const { name, lease, waits } = await waiters();
    await ask(redis.port, ['DEL', lineKey(name)]);
    expect(await lease.release()).toBe(true);
    expect(await allServed(waits)).toBeLessThan(SERVED_AGAIN_MS);
  });
});
