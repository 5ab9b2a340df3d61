/** Owners that work for longer than their lease, with renewal and without, and those that release too late or twice. */
import { expect, test } from 'vitest';
import {
  CHANNELS,
  type LateReleaseMessage,
  LockNotHeldError,
  LockTimeoutError,
  LockUnknownError,
} from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import { atOnce, rejection } from '../../support/rejection.ts';
import { commandCounts } from '../../support/servers/commands.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { FencedResource } from './resource.ts';
import { openRows, type Row } from './support.ts';

const SHORT_MS = 300;
/** How often it may happen that a machine stands still for longer than a renewal may take. */
const TRIES_MAX = 3;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();

interface RivalRow extends Row {
  /** The same lock, in another session. */
  readonly rival: Row['lock'];
}

async function forEach(body: (row: RivalRow) => Promise<void>): Promise<void> {
  const others = await bench.session(server.port);
  const rows = await openRows(bench, server.port);
  await Promise.all(rows.map((row) => body({ ...row, rival: row.kind.of(others, row.lock.name) })));
}

/** Works beside a rival that waits. Whether the owner kept its lease; a machine that stands still costs it that. */
async function workForLong({ lock, rival, label }: RivalRow): Promise<boolean> {
  const leaseMs = 1_800;
  const lease = await lock.acquire({ leaseMs });
  const waiting = rival.acquire({ waitMs: 2.5 * leaseMs });
  const heard = await waiting.catch((error: unknown) => error);
  if (lease.signal.aborted) {
    await waiting.then((next) => next.release()).catch(() => false);
    return false;
  }
  // Its last attempt has only what is left of its wait, and no answer in that time is none that lets it in.
  const isOut = heard instanceof LockTimeoutError || heard instanceof LockUnknownError;
  expect([isOut, lease.isHeld, lease.signal.aborted], label).toEqual([true, true, false]);
  expect(await lease.release(), label).toBe(true);
  return true;
}

test('nobody else gets in while the owner works for several leases with renewal', async () => {
  await forEach(async (row) => {
    let hasKept = false;
    for (let tries = 0; tries < TRIES_MAX && !hasKept; tries += 1) hasKept = await workForLong(row);
    expect(hasKept, `${row.label}: kept by renewal`).toBe(true);
  });
});

test('an owner that worked past a fixed lease learns from release that it was not its own any more, and the next owner keeps its key', async () => {
  await forEach(async ({ lock, rival, kind, label }) => {
    const lease = await lock.acquire({ leaseMs: SHORT_MS, renew: false });
    const next = await rival.acquire({ waitMs: 10_000 });
    const before = await held(server.port, kind, lock.name);
    // It knows by itself, and does not ask.
    expect(await atOnce(lease.release()), label).toBe(false);
    expect(await held(server.port, kind, lock.name), label).toMatchObject({ owner: before?.owner });
    expect(await next.release(), label).toBe(true);
  });
});

test('a release after the lease ran out sends nothing', async () => {
  const lock = (await bench.session(server.port)).lock(bench.name());
  const late = bench.diagnostics<LateReleaseMessage>(CHANNELS.lateRelease);
  const lease = await lock.acquire({ leaseMs: SHORT_MS, renew: false });
  await waitFor(() => lease.signal.aborted, { what: 'the loss' });
  // What the loss itself set in motion is over when that is told.
  await waitFor(() => late.some((message) => message.lock === lock.name), { what: 'the late release' });
  const counts = await commandCounts(server);
  expect(await lease.release()).toBe(false);
  expect(await lease.release()).toBe(false);
  await lease[Symbol.asyncDispose]();
  expect(await counts.delta()).toEqual({});
});

test('a second release is a no-op, also when somebody else holds the lock by then', async () => {
  await forEach(async ({ lock, rival, kind, label }) => {
    const lease = await lock.acquire();
    expect(await lease.release(), label).toBe(true);
    const next = await rival.acquire({ waitMs: 10_000 });
    const before = await held(server.port, kind, lock.name);
    expect(await lease.release(), label).toBe(false);
    await lease[Symbol.asyncDispose]();
    expect(await rejection(lease.extend(1_000)), label).toBeInstanceOf(LockNotHeldError);
    expect(await held(server.port, kind, lock.name), label).toMatchObject({ owner: before?.owner });
    expect(next.isHeld, label).toBe(true);
    expect(await next.release(), label).toBe(true);
  });
});

test('`using` that outlived its lease tells the loss together with what the body gave', async () => {
  await forEach(async ({ lock, label }) => {
    const outlive = async (lease: { readonly signal: AbortSignal }): Promise<string> => {
      await waitFor(() => lease.signal.aborted, { what: 'the loss' });
      return 'the result';
    };
    const options = { leaseMs: SHORT_MS, renew: false };
    expect(await rejection(lock.using(outlive, options)), label).toMatchObject({
      code: 'ELOCKLOST',
      reason: 'expired',
      outcome: { status: 'fulfilled', value: 'the result' },
    });
    const failure = new Error('the body fails');
    const fail = async (lease: { readonly signal: AbortSignal }): Promise<never> => {
      await outlive(lease);
      throw failure;
    };
    expect(await rejection(lock.using(fail, options)), label).toMatchObject({
      code: 'ELOCKLOST',
      cause: failure,
      outcome: { status: 'rejected', reason: failure },
    });
  });
});

test('`using` whose release gets no answer gives what the body gave', async () => {
  await forEach(async ({ lock, proxy, kind, label }) => {
    const cut = proxy.cutAfterRequest(kind.releases);
    expect(await lock.using(() => 'the result'), label).toBe('the result');
    await cut;
    const failure = new Error('the body fails');
    const cutAgain = proxy.cutBeforeRequest(kind.releases);
    expect(await rejection(lock.using(() => Promise.reject(failure))), label).toBe(failure);
    await cutAgain;
    // Repeated in the background until it is answered.
    await untilFree(server.port, kind, lock.name);
  });
});

test('a resource that looks at fences refuses the write of an owner that lost the lock without noticing', async () => {
  const name = bench.name();
  const resource = new FencedResource(server.port, `${name}:resource`);
  const [first, second] = [await bench.session(server.port), await bench.session(server.port)];
  const stale = await first.lock(name).acquire({ leaseMs: SHORT_MS, renew: false });
  expect(await resource.write(stale.fence, 'from the first owner')).toBe(true);
  const lease = await second.lock(name).acquire({ waitMs: 10_000 });
  expect(await resource.write(lease.fence, 'from the second owner')).toBe(true);
  expect(await resource.write(stale.fence, 'late')).toBe(false);
  expect(await resource.read()).toBe('from the second owner');
  expect(await lease.release()).toBe(true);
  await resource.remove();
});
