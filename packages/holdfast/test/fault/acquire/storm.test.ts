/** Hundreds of callers that leave at random moments, against a contended lock with a slow network. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LockAbortedError, type Locks } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import type { FaultProxy } from '../../support/proxies/fault-proxy.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { held, listeners, MATRIX, type Subject, seeded, useBench, warmUp } from './support.ts';

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
  inside: number;
}

class Storm {
  readonly tally: Tally = { counter: 0, served: 0, aborted: 0, inside: 0 };
  readonly #subject: Subject;
  readonly #name: string;
  readonly #random: () => number;
  readonly #patienceMs: number;

  constructor(subject: Subject, name: string, seed: number, patienceMs: number) {
    this.#patienceMs = patienceMs;
    this.#subject = subject;
    this.#name = name;
    this.#random = seeded(seed);
  }

  async call(locks: Locks, proxy: FaultProxy): Promise<void> {
    const controller = new AbortController();
    const random = this.#random;
    proxy.delay(Math.floor(random() * 3));
    const timer = setTimeout(() => controller.abort(), random() * this.#patienceMs);
    const lock = this.#subject.of(locks, this.#name);
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
    tally.inside += 1;
    expect(tally.inside).toBe(1);
    const seen = tally.counter;
    await sleep(workMs);
    tally.counter = seen + 1;
    tally.inside -= 1;
  }
}

test.each(
  MATRIX.flatMap((cell, index) => [
    { ...cell, handovers: 64, seed: 100 + index },
    { ...cell, handovers: 0, seed: 200 + index },
  ]),
)(
  '$client, $subject.kind, $handovers handovers: aborts at random moments leave nothing (seed $seed)',
  async (cell) => {
    const { client, subject, handovers, seed } = cell;
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
      for (const { locks } of sessions) await warmUp(locks, subject);
    }
    const roundMs = (performance.now() - startMs) / 8;
    const storm = new Storm(subject, name, seed, Math.max(40, 10 * roundMs));
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
    await waitFor(async () => (await held(redis.port, subject, name)) === null, {
      what: 'the key to be gone',
    });
    await waitFor(async () => (await listeners(redis.port, subject, name)) === 0, {
      what: 'nobody to listen',
    });
    for (const { locks, proxy } of sessions) {
      proxy.delay(0);
      // Not `tryAcquire`: what a caller asked for just before it left may come and go once more.
      const lease = await subject.of(locks, name).acquire({ waitMs: 10_000 });
      expect(await lease.release()).toBe(true);
    }
  },
  120_000,
);
