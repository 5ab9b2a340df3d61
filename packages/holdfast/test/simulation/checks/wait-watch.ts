/** In quiet times everybody who waits is served within a bound: each process before it had one turn, and no more. */
import type { Terms } from '../terms.ts';
import type { Guest } from '../world/guest.ts';
import type { Judge } from './judge.ts';

/** A caller, as this watch sees it. */
export interface WatchedCaller {
  readonly process: { readonly name: string };
  readonly waitsFor: string | null;
}

/** Asks, messages and windows for guests on a slow network. */
const TURN_MS = 1_000;

export class WaitWatch {
  readonly #judge: Judge;
  readonly #boundMs: number;
  /** Guests do not say that they want a lock: each turn of ours may be as long as it is kept unused. */
  readonly #guestBoundMs: number;
  readonly #sinceMs = new Map<WatchedCaller | Guest, { readonly name: string; readonly ms: number }>();

  constructor(judge: Judge, { processes, callers, worksMs, options, lingersMs, callerLingersMs }: Terms) {
    this.#judge = judge;
    // A section may be entered again, and be worked in twice as long.
    const turnMs = (options.handoverMs as number) + 2 * Math.max(...worksMs) + TURN_MS;
    this.#boundMs = callers * processes * turnMs;
    const lingerMs = Math.max(...lingersMs, ...callerLingersMs.map((ms) => ms ?? 0));
    this.#guestBoundMs = callers * processes * (turnMs + lingerMs);
  }

  /**
   * Not beside pollers: nobody is told when one of those lets go, and they may be quicker than the next ask.
   * `isDead`: a process that is gone has that name, until its lease ends.
   */
  look(
    nowMs: number,
    callers: readonly WatchedCaller[],
    guests: readonly Guest[],
    isDead: (name: string) => boolean,
  ): void {
    if (guests.some(({ isListener }) => !isListener)) return;
    const awaited = (name: string | null): string | null => (name === null || isDead(name) ? null : name);
    for (const caller of callers)
      this.#look(caller, caller.process.name, awaited(caller.waitsFor), nowMs, this.#boundMs);
    for (const guest of guests) {
      const name = guest.isListener && guest.waitsSinceMs !== null ? guest.lock : null;
      this.#look(guest, 'a guest', awaited(name), nowMs, this.#guestBoundMs);
    }
  }

  #look(
    waiter: WatchedCaller | Guest,
    who: string,
    name: string | null,
    nowMs: number,
    boundMs: number,
  ): void {
    const since = this.#sinceMs.get(waiter);
    if (name === null) this.#sinceMs.delete(waiter);
    else if (since?.name !== name) this.#sinceMs.set(waiter, { name, ms: nowMs });
    else if (nowMs - since.ms > boundMs)
      this.#judge.condemn('served', `${who} waits for ${name} for more than ${boundMs} ms`);
  }
}
