/** What `console.log` shows of our handles. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Locks } from '../../src/index.ts';
import { Lock } from '../../src/primitives/lock/lock.ts';
import { Stage } from '../locking/support/stage.ts';

const LEASE = { leaseMs: 10_000, renew: false } as const;

describe('console.log', () => {
  test('of a lease shows its lock, its state, its fence and its time', async () => {
    const stage = new Stage();
    const process = stage.process();
    const lease = await process.lock('order:1').acquire(LEASE);
    await stage.clock.advance(0.4);
    expect(inspect(lease, { breakLength: Number.POSITIVE_INFINITY })).toBe(
      `Lease { lock: 'order:1', state: 'held', fence: ${lease.fence}, remainingMs: ${Math.floor(lease.remainingMs)} }`,
    );
    expect(lease.remainingMs).not.toBe(Math.floor(lease.remainingMs));
    await lease.release();
    expect(inspect(lease)).toContain("state: 'released'");
    expect(inspect(lease)).toContain('remainingMs: 0');
  });

  test('of a lease that is lost says so, and why', async () => {
    const stage = new Stage();
    const lease = await stage.process().lock('a').acquire(LEASE);
    await stage.clock.advance(60_000);
    expect(inspect(lease)).toMatch(/state: 'lost',\s+reason: 'expired'/);
  });

  test('of a lease whose time is over says so before any timer had its turn', async () => {
    const stage = new Stage();
    const lease = await stage.process().lock('a').acquire(LEASE);
    stage.clock.advanceSync(60_000);
    expect(inspect(lease)).toContain("state: 'expired'");
  });

  test('of a mutex and its lease never shows the token', async () => {
    const stage = new Stage();
    const process = stage.process();
    const mutex = process.mutex('m');
    const lease = await mutex.acquire(LEASE);
    const token = process.client.sent('mutex.acquire')[0]?.args[0] ?? '';
    expect(token).toHaveLength(32);
    const shown = inspect([mutex, lease], { depth: 9, showHidden: true, compact: false });
    expect(shown).toContain("mutex: 'm'");
    expect(shown).not.toContain(token);
    expect(shown).not.toContain('fence');
  });

  test('of a lock says whether this process holds it', async () => {
    const stage = new Stage();
    const process = stage.process();
    const lock = process.lock('a');
    expect(inspect(lock)).toBe("Lock { name: 'a', state: 'not held here' }");
    const lease = await lock.acquire(LEASE);
    expect(inspect(process.lock('a'), { breakLength: Number.POSITIVE_INFINITY })).toBe(
      `Lock { name: 'a', state: 'held here', fence: ${lease.fence}, remainingMs: ${Math.floor(lease.remainingMs)} }`,
    );
    await lease.release();
    expect(inspect(lock)).toBe("Lock { name: 'a', state: 'not held here' }");
    expect(inspect(process.mutex('a'))).toBe("Mutex { name: 'a', state: 'not held here' }");
  });

  test('of Locks shows its session, its servers and how much it holds', async () => {
    const stage = new Stage();
    const { client } = stage.process();
    const locks = new Locks(client, { clock: stage.clock, prefix: 'p:' });
    await locks.lock('a').acquire(LEASE);
    const shown = inspect(locks, { breakLength: Number.POSITIVE_INFINITY });
    expect(shown).toBe(
      `Locks { session: '${locks.session}', state: 'open', held: 1, servers: 'scripted', prefix: 'p:' }`,
    );
    await locks.close();
    expect(inspect(locks)).toContain("state: 'closed'");
  });

  test('goes as deep, and in the colours, as was asked for', async () => {
    const process = new Stage().process();
    const lease = await process.lock('a').acquire(LEASE);
    expect(inspect({ a: { b: lease } }, { depth: 1 })).toContain('[Lease]');
    expect(inspect(lease, { colors: true })).toContain("\u001b[32m'held'\u001b[39m");
  });

  test('of what only inherits from a handle does not throw', () => {
    const lock = new Stage().process().lock('a');
    expect(inspect(Object.create(lock))).toBe('[Lock]');
    expect(() => inspect(Lock.prototype, { showHidden: true })).not.toThrow();
  });

  test('of a name that would steer the terminal shows it escaped', () => {
    const shown = inspect(new Stage().process().lock('\u202e\u009b31m\n'));
    expect(shown).not.toMatch(/\p{Cc}|\p{Cf}/u);
    expect(shown).toContain('u{202e}');
  });
});
