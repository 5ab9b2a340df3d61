/** Ways of looking at what happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Lease } from '../../src/index.ts';
import { Violation } from '../support/violation.ts';

const LOOK_EVERY_MS = 20;

/** What a key holds, whatever its type. */
export async function contentOf(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  const read: Readonly<Record<string, () => Promise<unknown>>> = {
    string: () => redis.getBuffer(key),
    hash: () => redis.hgetall(key),
    list: () => redis.lrange(key, 0, -1),
    set: async () => (await redis.smembers(key)).sort(),
    zset: () => redis.zrange(key, '0', '-1', 'WITHSCORES'),
  };
  return [type, await read[type]?.()];
}

/** What a promise rejects with. One that resolves is an error. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === 'rejected') return outcome.reason;
  throw new Error(`expected a rejection, got ${JSON.stringify(outcome.value)}`);
}

/** Looks again and again for that long, once at least; every look must pass. */
export async function during(periodMs: number, look: () => unknown): Promise<void> {
  const endMs = performance.now() + periodMs;
  do {
    await look();
    await sleep(LOOK_EVERY_MS);
  } while (performance.now() < endMs);
}

/** Resolves when the signal has aborted, with its reason. The limit is the test's own. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

/** A gate that somebody opens later. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Whom a lock lets in: never two at once. Who does not hold it any more is not inside, even if it has not left yet. */
export class Room {
  readonly #inside = new Set<Lease>();
  #visits = 0;

  get visits(): number {
    return this.#visits;
  }

  async visit(lease: Lease, stay: () => Promise<unknown>): Promise<void> {
    this.#inside.add(lease);
    this.#visits += 1;
    this.#count();
    await stay();
    this.#count();
    this.#inside.delete(lease);
  }

  #count(): void {
    const owners = [...this.#inside].filter(({ isHeld }) => isHeld).length;
    if (owners > 1) throw new Violation(`${owners} owners at once`);
  }
}
