/**
 * What our scripts do to keys, as their headers say it, in a few lines of memory. It stands in for a server in
 * unit tests of the client code only: it proves nothing about Redis or about the Lua. Those have tests of their own.
 */
import type { Reply, ScriptCall, Wake } from '../../../src/clients/client.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';

interface Entry {
  readonly kind: 'lock' | 'mutex';
  readonly owner: string;
  count: number;
  expiresMs: number;
}

/** Far from both times of a fake clock, so that code which takes one for the other goes wrong at once. */
const EPOCH_MS = Date.UTC(2028, 5, 1);

/** How far a block of fences may go beyond the server's time, in µs. */
const FENCES_AHEAD = 1_000;

export class ScriptedServer {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #fences = new Map<string, number>();
  readonly #listeners = new Map<string, Set<Wake>>();
  #offsetMs = EPOCH_MS;
  /** Every grant in the order in which it took effect; a repeated one is not told again. */
  readonly grants: { readonly key: string; readonly owner: string; readonly firstFence: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The server's own time, to a fraction of a millisecond. */
  get timeMs(): number {
    return this.#clock.monotonicMs() + this.#offsetMs;
  }

  /** Somebody sets the server's clock. What has an expiry then ends sooner or later, as on a real one. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Who has the key now, or null. */
  owner(key: string): string | null {
    return this.#find(key)?.owner ?? null;
  }

  count(key: string): number {
    return this.#find(key)?.count ?? 0;
  }

  ttlMs(key: string): number {
    const entry = this.#find(key);
    return entry === undefined ? -2 : Math.ceil(entry.expiresMs - this.timeMs);
  }

  get keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#find(key) !== undefined);
  }

  get channels(): string[] {
    return [...this.#listeners.keys()];
  }

  /** Somebody who is not one of us takes the lock. */
  occupy(key: string, ttlMs: number): void {
    this.#entries.set(key, { kind: 'lock', owner: 'stranger:1', count: 1, expiresMs: this.timeMs + ttlMs });
  }

  /** Somebody deletes the key by hand: no message. */
  delete(key: string): boolean {
    return this.#entries.delete(key);
  }

  /** Runs the script. */
  execute({ script, keys, args }: ScriptCall): Reply {
    const [key = ''] = keys;
    const [owner = '', second = '', third = ''] = args;
    switch (script.name) {
      case 'lock.acquire':
        return this.#acquireLock(keys, args);
      case 'mutex.acquire':
        return this.#acquireMutex(key, owner, Number(second), Number(third));
      case 'lock.recount':
        return this.#recount(key, owner, Number(second), args[3] === '1' ? 0 : Number(third));
      case 'lock.release':
      case 'mutex.release':
        return this.#release(key, owner, second);
      case 'lock.renew':
        return keys
          .filter((_, i) => i % 2 === 0)
          .map((each, i) => this.#renew(each, args[4 * i] ?? '', Number(args[4 * i + 1])));
      case 'mutex.renew':
        return keys.map((each, i) => this.#renew(each, args[2 * i] ?? '', Number(args[2 * i + 1])));
      default:
        throw new Error(`the scripted server does not know ${script.name}`);
    }
  }

  listen(channel: string, wake: Wake): () => void {
    const wakes = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, wakes.add(wake));
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0) this.#listeners.delete(channel);
    };
  }

  publish(channel: string, message: string | null = '0'): number {
    const wakes = [...(this.#listeners.get(channel) ?? [])];
    for (const wake of wakes) wake(message);
    return wakes.length;
  }

  #acquireLock([key = '', fence = '']: readonly string[], args: readonly string[]): Reply {
    const [owner = '', lease = '', fenceCount = '', , notAfter = '', wantsTime = ''] = args;
    const [leaseMs, fences, notAfterMs] = [Number(lease), Number(fenceCount), Number(notAfter)];
    const nowMs = Math.floor(this.timeMs);
    if (notAfterMs > 0 && nowMs > notAfterMs) return [OUTCOMES.LATE, nowMs];
    // Without its time, and with all its fences, the grant is a bare integer.
    const granted = (first: number, given: number): Reply =>
      wantsTime === '0' && given === fences ? first : [OUTCOMES.GRANTED, nowMs, first, given];
    const found = this.#find(key);
    if (found !== undefined && found.kind !== 'lock') return [OUTCOMES.CONFLICT, nowMs, 'a string'];
    if (found !== undefined && found.owner !== owner) {
      return [OUTCOMES.HELD, nowMs, this.ttlMs(key), found.owner];
    }
    const last = this.#fences.get(fence);
    if (found !== undefined && last !== undefined) {
      found.expiresMs = Math.max(found.expiresMs, this.timeMs + leaseMs);
      return granted(last, 1);
    }
    const nowUs = Math.floor(this.timeMs * 1000);
    const firstFence = Math.max((last ?? 0) + 1, nowUs);
    const lastFence = Math.max(firstFence, Math.min(firstFence + fences - 1, nowUs + FENCES_AHEAD));
    this.#fences.set(fence, lastFence);
    this.#entries.set(key, { kind: 'lock', owner, count: 1, expiresMs: this.timeMs + leaseMs });
    this.grants.push({ key, owner, firstFence });
    return granted(firstFence, lastFence - firstFence + 1);
  }

  #acquireMutex(key: string, owner: string, leaseMs: number, notAfterMs: number): Reply {
    const nowMs = Math.floor(this.timeMs);
    if (notAfterMs > 0 && nowMs > notAfterMs) return [OUTCOMES.LATE, nowMs];
    const found = this.#find(key);
    if (found !== undefined && found.owner !== owner) {
      return [OUTCOMES.HELD, nowMs, this.ttlMs(key), found.owner.slice(0, 8)];
    }
    if (found === undefined) this.grants.push({ key, owner, firstFence: 0 });
    const expiresMs = Math.max(found?.expiresMs ?? 0, this.timeMs + leaseMs);
    this.#entries.set(key, { kind: 'mutex', owner, count: 1, expiresMs });
    return nowMs;
  }

  #recount(key: string, owner: string, count: number, leaseMs: number): Reply {
    const found = this.#find(key);
    if (found?.owner !== owner) return [OUTCOMES.GONE];
    found.count = count;
    found.expiresMs = Math.max(found.expiresMs, this.timeMs + leaseMs);
    return [OUTCOMES.COUNTED];
  }

  #release(key: string, owner: string, channel: string): Reply {
    if (this.#find(key)?.owner !== owner) return [OUTCOMES.GONE];
    this.#entries.delete(key);
    return this.publish(channel);
  }

  #renew(key: string, owner: string, leaseMs: number): number {
    const found = this.#find(key);
    if (found?.owner !== owner) return OUTCOMES.GONE;
    found.expiresMs = Math.max(found.expiresMs, this.timeMs + leaseMs);
    return OUTCOMES.RENEWED;
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresMs > this.timeMs) return entry;
    this.#entries.delete(key);
    return undefined;
  }
}
