/** A server that does not know us, or does not let us: told by its own words, and never tried for long. */

import { describe, expect, test } from 'vitest';
import {
  CHANNELS,
  type LateReleaseMessage,
  LockUnavailableError,
  type RenewTrace,
} from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { answered } from '../../support/locks/answered.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { untilRenewed } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

/** Defines a user for one test, and says what it may do. */
async function user(name: string, ...rules: string[]): Promise<void> {
  expect(await ask(redis.port, ['ACL', 'SETUSER', name, 'reset', 'on', '>secret', ...rules])).toBe('OK');
  bench.onEnd(async () => {
    await ask(redis.port, ['ACL', 'DELUSER', name]);
  });
}

async function allow(name: string, ...rules: string[]): Promise<void> {
  expect(await ask(redis.port, ['ACL', 'SETUSER', name, ...rules])).toBe('OK');
}

function expectRefused(error: unknown, word: string, name: string): void {
  expect(error).toBeInstanceOf(LockUnavailableError);
  expect(error).toMatchObject({ lock: name, servers: [{ text: expect.stringContaining(`${word} `) }] });
}

/** What each server said. */
const saysOf = (error: unknown): string[] =>
  error instanceof LockUnavailableError ? error.servers.map(({ text }) => text) : [];

/** Both verbs, each refused soon: waiting would not help. */
async function expectBothRefused(kind: Kind, port: number, word: string, options: object): Promise<void> {
  const locks = await bench.session(port, options);
  const name = bench.name();
  for (const verb of ['tryAcquire', 'acquire'] as const) {
    const startMs = performance.now();
    expectRefused(await rejection(kind.of(locks, name)[verb]()), word, name);
    expect(performance.now() - startMs).toBeLessThan(30_000);
  }
}

describe.each(MATRIX)('$client, $kind.name: a client', ({ client, kind }) => {
  test('without a password is told NOAUTH', async () => {
    const guarded = await startRedis({ args: ['--requirepass', 'secret'] });
    bench.onEnd(() => guarded.stop());
    await expectBothRefused(kind, guarded.port, 'NOAUTH', { client });
  });

  test('with a wrong password is told WRONGPASS', async () => {
    await user('app', 'allcommands', 'allkeys', 'allchannels');
    const login = { client, username: 'app', password: 'wrong' };
    await expectBothRefused(kind, redis.port, 'WRONGPASS', login);
  });

  test('whose user may not run scripts, or not touch the key, is told NOPERM', async () => {
    await user('app', 'allcommands', '-@scripting', 'allkeys', 'allchannels');
    const login = { client, username: 'app', password: 'secret' };
    await expectBothRefused(kind, redis.port, 'NOPERM', login);
    await user('app', 'allcommands', '~elsewhere:*', 'allchannels');
    await expectBothRefused(kind, redis.port, 'NOPERM', login);
    expect(await ask(redis.port, ['DBSIZE'])).toBe(0);
  });

  test('whose user loses its rights keeps a lease that outlasts that, and releases when it has them again', async () => {
    await user('app', 'allcommands', 'allkeys', 'allchannels');
    const login = { client, username: 'app', password: 'secret' };
    const locks = await bench.session(redis.port, { ...login, leaseMs: 6_000 });
    const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
    const [kept, left] = [bench.name(), bench.name()];
    const lease = await kind.of(locks, kept).acquire();
    const other = await kind.of(locks, left).acquire({ leaseMs: 60_000 });
    const renewals = bench.diagnostics<RenewTrace>(`tracing:${CHANNELS.renew}:asyncEnd`);
    await allow('app', '-evalsha', '-eval');
    expectRefused(await rejection(other.release()), 'NOPERM', left);
    expectRefused(await rejection(lease.extend(5_000)), 'NOPERM', kept);
    await waitFor(() => renewals.some(({ locks: names }) => names.includes(kept)), {
      what: 'a renewal to be refused',
    });
    expect(lease.isHeld).toBe(true);
    await allow('app', '+evalsha', '+eval');
    await waitFor(() => late.some(({ lock }) => lock === left), { what: 'the late release' });
    expect(late.find(({ lock }) => lock === left)).toEqual({
      lock: left,
      kind: kind.name,
      outcome: 'released',
    });
    await untilRenewed(lease);
    expect(await lease.release()).toBe(true);
    expect(await held(redis.port, kind, left)).toBeNull();
  });
});

test.each(KINDS)(
  'a user that may not touch one of its keys any more keeps the others: $name',
  async (kind) => {
    await user('app', 'allcommands', 'allkeys', 'allchannels');
    const locks = await bench.session(redis.port, { username: 'app', password: 'secret', leaseMs: 6_000 });
    const [good, bad] = [`good:${bench.name()}`, `bad:${bench.name()}`];
    const kept = await kind.of(locks, good).acquire();
    const lost = await kind.of(locks, bad).acquire();
    await allow('app', 'resetkeys', '~good:*', '~redisson_lock_token:*', '~holdfast_line:*');
    await waitFor(() => lost.signal.aborted, { what: 'the loss of the forbidden one' });
    expect(lost.signal.reason).toMatchObject({ reason: 'expired' });
    expect(kept.signal.reason).toBeUndefined();
    expect(await kept.release()).toBe(true);
    await untilFree(redis.port, kind, bad);
  },
);

test('a password that is changed under a session is an outage that says so, and ends when it is changed back', async () => {
  await user('app', 'allcommands', 'allkeys', 'allchannels');
  const runs = MATRIX.map(async ({ client, kind }) => {
    const proxy = await bench.proxy(redis.port);
    const login = { client, username: 'app', password: 'secret' };
    const locks = await bench.session(proxy.port, { ...login, leaseMs: 30_000 });
    const name = bench.name();
    expect(await (await kind.of(locks, name).acquire()).release()).toBe(true);
    return { kind, locks, name, proxy };
  });
  const cells = await Promise.all(runs);
  await allow('app', 'resetpass', '>another');
  for (const { proxy } of cells) proxy.cutAll();
  const waiting = await Promise.all(
    cells.map(async ({ kind, locks, name }) => {
      // A login that a busy machine cuts off has not been answered.
      const error = await answered(
        () => kind.of(locks, `${name}:short`).acquire({ waitMs: 1_500 }),
        (told) => saysOf(told).some((text) => text.startsWith('WRONGPASS ')),
      );
      expectRefused(error, 'WRONGPASS', `${name}:short`);
      return { patient: kind.of(locks, name).using(() => 'served') };
    }),
  );
  await allow('app', 'resetpass', '>secret');
  for (const { patient } of waiting) expect(await patient).toBe('served');
});
