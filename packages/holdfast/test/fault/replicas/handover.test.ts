/** A lock that goes from one session to the next in line: with `replicas`, nobody enters before they have the new owner. */
import { describe, expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilWaiting } from '../../support/locks/held.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { always } from '../../support/violation.ts';
import { during, waitFor } from '../../support/wait-for.ts';
import { has, useReplication } from './support.ts';

const replication = useReplication();
const { primary, replicas } = replication;
useLeakCheck([primary]);
const bench = useBench();

const BOTH = { min: 2, timeoutMs: 4_000 };
/** So that a claim that is old does not make the next owner ask: it is `replicas` alone that does. */
const LEASE_MS = 60_000;
/** Far longer than a message takes. */
const FROZEN_MS = 300;

describe.each(KINDS)('a $name that is handed over', (kind) => {
  test('is entered only when the replicas have its new owner', async () => {
    const times = { leaseMs: LEASE_MS, claimMs: LEASE_MS };
    const owner = await bench.session(primary.port, times);
    const proxy = await bench.proxy(primary.port);
    const waiter = await bench.session(proxy.port, { ...times, replicas: BOTH, outageMs: 120_000 });
    for (const locks of [owner, waiter]) await warmUp(locks, kind);
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const before = await held(primary.port, kind, name);
    let isFrozen = true;
    let wasFrozen: boolean | null = null;
    const waiting = kind
      .of(waiter, name)
      .acquire()
      .then((next) => {
        wasFrozen = isFrozen;
        return next;
      });
    await untilWaiting(primary.port, name, 1);
    for (const replica of replicas) replica.freeze();
    proxy.clearHistory();
    expect(await lease.release()).toBe(true);
    // The release has made it the owner, or its own question did, where a mutex was left to those who poll.
    await waitFor(
      async () => ![undefined, before?.owner].includes((await held(primary.port, kind, name))?.owner),
    );
    const isKeptOut = (): void => always(() => expect(wasFrozen).toBe(null));
    await waitFor(
      () => {
        isKeptOut();
        return proxy.history.some(kind.acquires);
      },
      { what: 'the next owner to ask the server' },
    );
    await during(FROZEN_MS, isKeptOut);
    isFrozen = false;
    for (const replica of replicas) replica.resume();
    const next = await waiting;
    always(() => expect(wasFrozen).toBe(false));
    for (const replica of replicas) expect(await has(replica, name)).toBe(true);
    expect(await next.release()).toBe(true);
  });
});
