/** What stands on one server under a name, who waits for it in line, and who listens for its release. */
import { ask, askAll, asStrings } from '../servers/raw-redis.ts';
import { waitFor } from '../wait-for.ts';
import { fenceCounter, type Kind, lineOf } from './kind.ts';

export interface Held {
  readonly owner: string;
  /** How often it is entered; 1 for a mutex. */
  readonly count: number;
  readonly ttlMs: number;
  /** The last fence given out. */
  readonly fence: number;
}

export async function held(port: number, { name }: Kind, key: string): Promise<Held | null> {
  const read = name === 'lock' ? ['HGETALL', key] : ['GET', key];
  const [value, ttl, fence] = await askAll(port, [read, ['PTTL', key], ['GET', fenceCounter(key)]]);
  if (name === 'mutex') {
    return value === null ? null : { owner: String(value), count: 1, ttlMs: Number(ttl), fence: 0 };
  }
  const [owner, count] = asStrings(value ?? []);
  if (owner === undefined) return null;
  return { owner, count: Number(count), ttlMs: Number(ttl), fence: Number(fence) };
}

/** Resolves when nobody owns the name there any more. */
export async function untilFree(port: number, kind: Kind, key: string): Promise<void> {
  await waitFor(async () => (await held(port, kind, key)) === null, { what: `the key ${key} to be gone` });
}

/** How many sessions wait for a name: those in its line, or where there is none those that listen for its release. */
export async function listeners(port: number, kind: Kind, key: string): Promise<number> {
  const listening = asStrings(await ask(port, ['PUBSUB', 'NUMSUB', kind.channel(key)]))[1];
  return Math.max(await waiting(port, key), Number(listening));
}

/** Resolves when exactly that many connections listen for the release of a name; without a number, when any does. */
export async function untilListening(
  port: number,
  kind: Kind,
  key: string,
  { count, limitMs }: { readonly count?: number; readonly limitMs?: number } = {},
): Promise<void> {
  const isReached = (now: number): boolean => (count === undefined ? now > 0 : now === count);
  await waitFor(async () => isReached(await listeners(port, kind, key)), {
    what: `${count ?? 'some'} connections to listen for ${key}`,
    ...(limitMs === undefined ? {} : { limitMs }),
  });
}

/** How many sessions wait in line for a name. */
export async function waiting(port: number, key: string): Promise<number> {
  const fields = asStrings(await ask(port, ['HKEYS', lineOf(key)]));
  return fields.filter((field) => /^\d+$/.test(field)).length;
}

/** Resolves when exactly that many sessions wait in line for a name. */
export async function untilWaiting(port: number, key: string, count = 1, limitMs = 60_000): Promise<void> {
  await waitFor(async () => (await waiting(port, key)) === count, {
    what: `${count} sessions to wait for ${key}`,
    limitMs,
  });
}
