/** Hundreds of callers that leave at random moments, against a contended lock with a slow network. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LockAbortedError, type Locks } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { CriticalSection } from '../../support/locks/critical-section.ts';
import { untilFree, untilListening } from '../../support/locks/held.ts';
import type { Kind } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import type { FaultProxy } from '../../support/proxies/fault-proxy.ts';
import { seeded } from '../../support/seeded.ts';
import { useRedis } from '../../support/servers/redis-server.ts';

import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const CALLERS = 8;
const CALLS_EACH = 30;

interface Tally {
  /** What the bodies counted, each reading and writing with a pause in between. */
  counter: number;
  served: number;
  aborted: number;
}

class Storm {
  readonly tally: Tally = { counter: 0, served: 0, aborted: 0 };
  readonly #kind: Kind;
  readonly #name: string;
  readonly #random: () => number;
  readonly #patienceMs: number;
  readonly #section = new CriticalSection();

  constructor(kind: Kind, name: string, seed: number, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#kind = kind;
    this.#name = name;
    this.#random = seeded(seed);
  }

  async call(locks: Locks, proxy: FaultProxy): Promise<void> {
    const controller = new AbortController();
    const random = this.#random;
    proxy.delay(Math.floor(random() * 3));
    const timer = setTimeout(() => controller.abort(), random() * this.#patienceMs);
    const lock = this.#kind.of(locks, this.#name);
    const { signal } = controller;
    try {
      if (random() < 0.2) {
        const lease = await lock.tryAcquire({ signal });
        if (lease === null) return;
        await this.#body(random() * 4);
        expect(await lease.release()).toBe(true);
      } else {
        await lock.using(() => this.#body(random() * 4), { signal, renew: random() < 0.5, leaseMs: 20_000 });
      }
      this.tally.served += 1;
    } catch (error) {
      if (!(error instanceof LockAbortedError)) throw error;
      this.tally.aborted += 1;
    } finally {
      clearTimeout(timer);
    }
  }

  async #body(workMs: number): Promise<void> {
    const { tally } = this;
    await this.#section.run(async () => {
      const seen = tally.counter;
      await sleep(workMs);
      tally.counter = seen + 1;
    });
  }
}

test.each(
  MATRIX.flatMap((cell, index) => [
    { ...cell, handovers: 64, seed: 100 + index },
    { ...cell, handovers: 0, seed: 200 + index },
  ]),
)(
  '$client, $kind.name, $handovers handovers: aborts at random moments leave nothing (seed $seed)',
  async (cell) => {
    const { client, kind, handovers, seed } = cell;
    const name = bench.name();
    const sessions = await Promise.all(
      [1, 2].map(async () => {
        const proxy = await bench.proxy(redis.port);
        return { proxy, locks: await bench.session(proxy.port, { client, handovers, leaseMs: 30_000 }) };
      }),
    );
    // Aborts must fall into the midst of things, however slow the machine is today.
    const startMs = performance.now();
    for (let round = 0; round < 4; round += 1) {
      for (const { locks } of sessions) await warmUp(locks, kind);
    }
    const roundMs = (performance.now() - startMs) / 8;
    const storm = new Storm(kind, name, seed, Math.max(40, 10 * roundMs));
    const callers = Array.from({ length: CALLERS }, async (_, index) => {
      const { proxy, locks } = sessions[index % sessions.length] as (typeof sessions)[number];
      for (let call = 0; call < CALLS_EACH; call += 1) await storm.call(locks, proxy);
    });
    await Promise.all(callers);
    const { counter, served, aborted } = storm.tally;
    expect(counter).toBe(served);
    // Otherwise it was no storm.
    expect(aborted).toBeGreaterThan(0);
    expect(served).toBeGreaterThan(0);
    await untilFree(redis.port, kind, name);
    await untilListening(redis.port, kind, name, { count: 0 });
    for (const { locks, proxy } of sessions) {
      proxy.delay(0);
      // Not `tryAcquire`: what a caller asked for just before it left may come and go once more.
      const lease = await kind.of(locks, name).acquire({ waitMs: 10_000 });
      expect(await lease.release()).toBe(true);
    }
  },
  120_000,
);
