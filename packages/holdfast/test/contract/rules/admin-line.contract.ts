/** The line of waiters, seen from outside, and a release by force that goes on with it. A quorum has no line. */
import { hostname } from 'node:os';
import { describe, expect } from 'vitest';
import type { InspectedWaiter, InspectOptions, Lease } from '../../../src/index.ts';
import { aborted } from '../../support/aborted.ts';
import { KINDS, type Kind, LOCK, lineOf, MUTEX } from '../../support/locks/kind.ts';
import { listed } from '../../support/locks/listed.ts';
import { rejection } from '../../support/rejection.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Declined } from '../bench.ts';
import type { ContractTest } from '../harness.ts';

const LONG_MS = 30_000;
const PROMPT_MS = 3_000;

export function adminLineContract(test: ContractTest): void {
  for (const kind of KINDS) kindContract(test, kind);

  describe('the line, looked at', () => {
    test('who waits is told from the records of the sessions', async ({ bench }) => {
      if (bench.isQuorum) throw new Declined('a quorum has no line');
      const [locks, known, unknown] = await Promise.all([
        bench.session(),
        bench.session({ application: 'billing' }),
        bench.session(),
      ]);
      const name = bench.name();
      await locks.mutex(name).acquire({ leaseMs: LONG_MS });
      const waits = [known, unknown].map((session) =>
        rejection(session.mutex(name).acquire({ waitMs: LONG_MS })),
      );
      await bench.untilWaiting(MUTEX, name, 2);
      // The record is written in the background, although the session has held nothing yet.
      const lineOfName = async (options: InspectOptions): Promise<readonly InspectedWaiter[]> => {
        const found = await locks.inspect(name, options);
        return found === null || found.kind === 'other' ? [] : found.line;
      };
      await waitFor(async () => (await lineOfName({ record: true })).some(({ record }) => record), {
        what: 'the record',
      });
      const record = { application: 'billing', host: hostname(), pid: process.pid };
      const records = (await lineOfName({ record: true })).map((waiter) => [waiter.session, waiter.record]);
      expect(new Map(records as [string, unknown][])).toEqual(
        new Map<string, unknown>([
          [known.session, record],
          [unknown.session, undefined],
        ]),
      );
      expect((await lineOfName({})).some((waiter) => 'record' in waiter)).toBe(false);
      await Promise.all([known.close(), unknown.close(), ...waits]);
    });
  });

  test('an owner whose session has waited hears of a release by force at once', async ({ bench }) => {
    if (bench.isQuorum) throw new Declined('a quorum has no channels of sessions');
    // Without a claim: on a machine that is slow for a second, a claim would be over before the force is.
    const [locks, admin] = await Promise.all([bench.session({ claimMs: 0 }), bench.session()]);
    const name = bench.name();
    const before = await admin.lock(name).acquire({ leaseMs: LONG_MS });
    const waiting = locks.lock(name).acquire({ leaseMs: LONG_MS });
    await bench.untilWaiting(LOCK, name);
    await before.release();
    const reason = aborted((await waiting).signal);
    const forcedMs = performance.now();
    expect(await admin.forceRelease(name, { reason: 'stuck "since" noon' })).not.toBeNull();
    expect(await reason).toMatchObject({
      code: 'ELOCKLOST',
      reason: 'revoked',
      message: expect.stringContaining('it was released by force: "stuck \\"since\\" noon"'),
    });
    expect(performance.now() - forcedMs).toBeLessThan(PROMPT_MS);
    await bench.clearWords();
  });

  test("the owner's session is told by a message which hold it has lost", async ({ bench }) => {
    if (bench.isQuorum) throw new Declined('a quorum has no channels of sessions');
    const [locks, admin] = await Promise.all([bench.session(), bench.session()]);
    const name = bench.name();
    const channel = bench.isCluster
      ? `${lineOf(bench.key(name))}:${locks.session}`
      : `holdfast_session:${locks.session}`;
    const messages = await bench.messagesOn(channel);
    await locks.lock(name).acquire({ leaseMs: LONG_MS });
    const owner = await admin.forceRelease(name);
    expect(await messages.taken()).toEqual([`x ${owner} revoked`]);
  });
}

function kindContract(test: ContractTest, kind: Kind): void {
  describe(`the line of a ${kind.name}`, () => {
    test('who waits is told in the order of the line, and never by a holder', async ({ bench }) => {
      if (bench.isQuorum) throw new Declined('a quorum has no line');
      const locks = await bench.session();
      const sessions = await Promise.all([bench.session(), bench.session(), bench.session()]);
      const name = bench.name();
      await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const waits: Promise<unknown>[] = [];
      for (const [index, session] of sessions.entries()) {
        waits.push(rejection(kind.of(session, name).acquire({ waitMs: LONG_MS })));
        await bench.untilWaiting(kind, name, index + 1);
      }
      const found = await locks.inspect(name);
      if (found === null || found.kind === 'other') throw new Error('nothing was found');
      expect(found).toMatchObject({ kind: kind.name, waiters: 3, guests: 0 });
      expect(found.line.map(({ place, session }) => [place, session])).toEqual(
        sessions.map(({ session }, index) => [index + 1, session]),
      );
      const [first, second, third] = found.line.map(({ waitedMs }) => waitedMs) as [number, number, number];
      expect(first).toBeGreaterThanOrEqual(second);
      expect(second).toBeGreaterThanOrEqual(third);
      expect(first).toBeLessThan(LONG_MS);
      expect(found.line.every(({ isListening }) => isListening)).toBe(true);
      expect(JSON.stringify(found.line)).not.toContain(':holdfast');
      const [one] = await listed(locks, { prefix: name });
      expect(one).toMatchObject({ waiters: 3, line: found.line.map(({ place }) => ({ place })) });
      await Promise.all([...sessions.map((session) => session.close()), ...waits]);
    });

    test('a hold that its process may keep unused is told as such, and no other', async ({ bench }) => {
      if (bench.isQuorum) throw new Declined('a quorum has no line, and nothing is kept there');
      const [locks, other] = await Promise.all([
        bench.session({ lingerMs: 10_000, handovers: 64 }),
        bench.session(),
      ]);
      const name = bench.name();
      const mayLinger = async (): Promise<boolean | undefined> => {
        const found = await other.inspect(name);
        return found !== null && 'mayLinger' in found ? found.mayLinger : undefined;
      };
      // The first holds are given back, until the subscription is there.
      await waitFor(
        async () => {
          await kind.of(locks, name).using(() => {}, { leaseMs: LONG_MS });
          return mayLinger();
        },
        { what: 'a hold that is kept' },
      );
      const lease = await kind.of(other, name).acquire({ leaseMs: LONG_MS });
      expect(await mayLinger()).toBe(false);
      await lease.release();
    });

    test('a name that nobody holds and somebody waits for is told', async ({ bench }) => {
      if (bench.isQuorum) throw new Declined('a quorum has no line');
      const [locks, waiter] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      const key = bench.foreignKey(name);
      await kind.seize(bench.send, key, LONG_MS);
      const waiting = kind.of(waiter, name).acquire({ leaseMs: LONG_MS });
      await bench.untilWaiting(kind, name);
      // Behind a guest it has nothing to hear of this from, and asks again after a second or more.
      await bench.redis.del(key);
      const found = await locks.inspect(name);
      if (found?.kind === 'free') {
        expect(found).toMatchObject({ name, openMs: 0, waiters: 1, line: [{ session: waiter.session }] });
      } else expect(found).toMatchObject({ kind: kind.name, waiters: 0 });
      expect(await locks.forceRelease(bench.name('free'))).toBeNull();
      expect((await waiting).isHeld).toBe(true);
    });

    test('a release by force makes the next in line the owner in the same step', async ({ bench }) => {
      if (bench.isQuorum) throw new Declined('a quorum has no line');
      const [locks, admin, ...waiters] = await Promise.all([
        bench.session(),
        bench.session(),
        bench.session(),
        bench.session(),
      ]);
      const name = bench.name();
      await kind.of(locks, name).acquire({ leaseMs: LONG_MS });
      const waits: Promise<Lease>[] = [];
      for (const [index, session] of waiters.entries()) {
        waits.push(kind.of(session, name).acquire({ leaseMs: LONG_MS }));
        await bench.untilWaiting(kind, name, index + 1);
      }
      await admin.forceRelease(name);
      expect(await bench.redis.exists(bench.key(name))).toBe(1);
      expect(await bench.waiting(kind, name)).toBe(1);
      const first = await (waits[0] as Promise<Lease>);
      expect(first.isHeld).toBe(true);
      await admin.forceRelease(name);
      expect((await (waits[1] as Promise<Lease>)).isHeld).toBe(true);
    });
  });
}
