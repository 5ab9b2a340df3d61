/** What callers do in their callbacks is their own business: it cannot hurt their other locks, or ours. */
import { describe, expect, test, vi } from 'vitest';
import { type Lease, LockLostError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { startChild, useChildren } from '../../support/processes/child.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { elapse, waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';
import type { CallbackPlan, CallbackWord } from './misbehaving-callbacks.ts';

const redis = useRedis();
useLeakCheck(redis, { checksHandles: false });
useChildren();
const bench = useBench();

/** A process takes its time to start on a busy machine. */
const START_LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 2 * START_LIMIT_MS });

test.each(KINDS)(
  'callbacks that throw and block do not cost another lease, nor go unheard: $name',
  async (kind) => {
    const names = [bench.name(), bench.name()] as const;
    const plan: CallbackPlan = { port: redis.port, kind: kind.name, names };
    const child = startChild<CallbackWord>('test/fault/api/misbehaving-callbacks.ts', [JSON.stringify(plan)]);
    await child.next(({ event }) => event === 'held', START_LIMIT_MS);
    await ask(redis.port, ['DEL', names[0]]);
    const lost = await child.next(({ event }) => event === 'lost');
    if (lost.event !== 'lost') throw new Error(`expected the loss, got ${lost.event}`);
    expect(lost.reason).toBe('gone');
    // The subscriber of the renewal that found out, then two listeners and the property: the last listener comes all the same.
    expect(lost.heard).toBeGreaterThanOrEqual(4);
    // More than a lease.
    await elapse(6_200);
    child.send('end');
    const end = await child.next(({ event }) => event === 'end');
    if (end.event !== 'end') throw new Error(`expected the end, got ${end.event}`);
    expect(end).toMatchObject({ wasKept: true, released: true });
    expect(end.uncaught.length).toBeGreaterThan(3);
    expect(new Set(end.uncaught)).toEqual(new Set(['a callback of the caller']));
    // That of the asynchronous listener, which Node reports as it does any listener's.
    expect(end.unhandled).toEqual([]);
    expect((await child.exited).code).toBe(0);
  },
);

describe.each(MATRIX)('$client, $kind.name: in the callback of a loss', ({ client, kind }) => {
  test('everything may be called: the lease is settled, and the name can be acquired again', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
    const name = bench.name();
    const lease = await kind.of(locks, name).acquire();
    const seen: unknown[] = [];
    let again: Promise<Lease> | undefined;
    lease.signal.addEventListener('abort', () => {
      seen.push(lease.isHeld, lease.remainingMs);
      void lease.release().then((wasOurs) => seen.push(wasOurs));
      lease.extend(1_000).catch((error: unknown) => seen.push(error));
      again = kind.of(locks, name).acquire();
    });
    await ask(redis.port, ['DEL', name]);
    await waitFor(() => again !== undefined, { what: 'the callback' });
    expect(await (await again)?.release()).toBe(true);
    expect(seen).toEqual([false, 0, false, expect.any(LockLostError)]);
  });

  test('closing ends everything else in order', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: 6_000 });
    const [lost, other, taken] = [bench.name(), bench.name(), bench.name()];
    const lease = await kind.of(locks, lost).acquire();
    const bystander = await kind.of(locks, other).acquire();
    await kind.seize(redis.port, taken, 60_000);
    const waiting = rejection(kind.of(locks, taken).acquire());
    let closing: Promise<void> | undefined;
    lease.signal.addEventListener('abort', () => {
      closing = locks.close();
    });
    await ask(redis.port, ['DEL', lost]);
    await waitFor(() => closing !== undefined, { what: 'the callback' });
    await closing;
    expect(await waiting).toMatchObject({ code: 'ELOCKCLOSED' });
    expect(bystander.isHeld).toBe(false);
    expect(bystander.signal.reason).toMatchObject({ reason: 'closed' });
    expect(await ask(redis.port, ['EXISTS', other])).toBe(0);
    await ask(redis.port, ['DEL', taken]);
  });
});
