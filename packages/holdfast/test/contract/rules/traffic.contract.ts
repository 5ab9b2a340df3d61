/** What is sent to the server, and what is not. Each test has the server to itself. */
import { describe, expect } from 'vitest';
import type { Lease } from '../../../src/index.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { expectKeptOut } from '../../support/violation.ts';
import { elapse } from '../../support/wait-for.ts';
import { type ContractTest, PUNCTUAL } from '../harness.ts';
import { watchTraffic } from '../traffic-watch.ts';

export function trafficContract(test: ContractTest, kind: Kind): void {
  describe(`the traffic of a ${kind.name}`, () => {
    test('a lone acquire and release are two commands', async ({ bench }) => {
      const locks = await bench.session();
      const lock = kind.of(locks, bench.name());
      await (await lock.acquire()).release();
      await watchTraffic(bench, async (watch) => {
        await (await lock.acquire()).release();
        expect(await watch.sent()).toEqual(['evalsha', 'evalsha']);
        await lock.using(() => {});
        await (await lock.tryAcquire())?.release();
        expect(await watch.sent()).toEqual(Array.from({ length: 6 }, () => 'evalsha'));
      });
    });

    test('a try of a held name is one command, and none behind an owner of the same session', async ({
      bench,
    }) => {
      const [locks, other] = await Promise.all([bench.session(), bench.session()]);
      const name = bench.name();
      await (await kind.of(other, name).acquire()).release();
      const lease = await kind.of(locks, name).acquire();
      await watchTraffic(bench, async (watch) => {
        expectKeptOut(lease, await kind.of(other, name).tryAcquire());
        expect(await watch.sent()).toEqual(['evalsha']);
        expectKeptOut(lease, await kind.of(locks, name).tryAcquire());
        expect(await watch.sent()).toEqual(['evalsha']);
      });
    });

    test('a signal that has aborted already is told by its own reason, and nothing is sent', async ({
      bench,
    }) => {
      const locks = await bench.session();
      const lock = kind.of(locks, bench.name());
      await (await lock.acquire()).release();
      const reason = new Error('gone before it began');
      const signal = AbortSignal.abort(reason);
      let runs = 0;
      const body = (): void => {
        runs += 1;
      };
      await watchTraffic(bench, async (watch) => {
        for (const call of [
          lock.acquire({ signal }),
          lock.tryAcquire({ signal }),
          lock.using(body, { signal }),
        ]) {
          expect(await rejection(call)).toBe(reason);
        }
        expect(await watch.sent()).toEqual([]);
        expect(runs).toBe(0);
      });
    });

    test('fifty callers cost far fewer commands than acquisitions', async ({ bench }) => {
      const locks = await bench.session({ handovers: 64, handoverMs: 1_000 });
      const lock = kind.of(locks, bench.name());
      await (await lock.acquire()).release();
      await watchTraffic(bench, async (watch) => {
        const caller = async (): Promise<void> => {
          for (let turn = 0; turn < 4; turn += 1) await lock.using(() => {});
        };
        await Promise.all(Array.from({ length: 50 }, caller));
        const commands = await watch.sent();
        expect(commands.length).toBeLessThan(40);
        expect(new Set(commands)).toEqual(new Set(['evalsha']));
      });
    });

    test('with handovers 0 each acquisition is two commands', async ({ bench }) => {
      const locks = await bench.session({ handovers: 0 });
      const lock = kind.of(locks, bench.name());
      await (await lock.acquire()).release();
      await watchTraffic(bench, async (watch) => {
        await Promise.all(Array.from({ length: 10 }, () => lock.using(() => {})));
        expect(await watch.sent()).toEqual(Array.from({ length: 20 }, () => 'evalsha'));
      });
    });

    test(
      'a release after the lease ran out sends one clean-up at most',
      async ({ bench }) => {
        const locks = await bench.session();
        const name = bench.name();
        const lease = await kind.of(locks, name).acquire({ leaseMs: 300, renew: false });
        await bench.untilFree(name);
        await watchTraffic(bench, async (watch) => {
          expect(await lease.release()).toBe(false);
          expect(await lease.release()).toBe(false);
          expect((await watch.sent()).length).toBeLessThanOrEqual(1);
        });
      },
      PUNCTUAL,
    );
  });
}

/** What is sent by itself, watched for both kinds at once: it takes time. */
export function backgroundContract(test: ContractTest): void {
  describe('the traffic of leases over time', () => {
    test(
      'a released lease is not renewed, and nobody listens for it',
      async ({ bench }) => {
        const [locks, other] = await Promise.all([bench.session(), bench.session()]);
        // Long enough to live through most stalls of the machine; renewed every 400 ms.
        const leaseMs = 1_200;
        for (const kind of KINDS) {
          const name = bench.name(kind.name);
          const lease = await kind.of(locks, name).acquire({ leaseMs });
          const waiting = kind.of(other, name).acquire({ leaseMs });
          await bench.untilWaiting(kind, name);
          await lease.release();
          await (await waiting).release();
          await bench.untilWaiting(kind, name, 0);
        }
        await watchTraffic(bench, async (watch) => {
          await elapse(leaseMs / 2);
          expect(await watch.sent()).toEqual([]);
        });
      },
      PUNCTUAL,
    );

    test(
      'leases are renewed together, about three times in their length',
      async ({ bench }) => {
        const locks = await bench.session();
        const lease = (kind: Kind, index: number): Promise<Lease> =>
          kind.of(locks, bench.name(`${kind.name}:${index}`)).acquire({ leaseMs: 1_200 });
        const leases = await Promise.all(
          KINDS.flatMap((kind) => Array.from({ length: 20 }, (_, index) => lease(kind, index))),
        );
        await watchTraffic(bench, async (watch) => {
          await elapse(1_500);
          const commands = await watch.sent();
          expect(new Set(commands)).toEqual(new Set(['evalsha']));
          expect(commands.length).toBeGreaterThanOrEqual(2 * KINDS.length);
          expect(commands.length).toBeLessThanOrEqual(6 * KINDS.length);
        });
        for (const one of leases) expect(await one.release()).toBe(true);
      },
      PUNCTUAL,
    );
  });
}
