/**
 * Entering a lock again under an owner that holds it already. Each re-entry is a child of the owner it was called
 * under; an owner has one child at a time, and parallel re-entries queue behind that child inside the process. The hold
 * count in Redis is the number of owners of the hold, stated anew after each change.
 */
import { type LockError, LockNotHeldError } from '../errors.ts';
import type { ResolvedAcquireOptions } from '../options/acquire-options.ts';
import type { ResolvedLocksOptions } from '../options/options.ts';
import { Backoff } from '../runtime/backoff.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { sleep } from '../runtime/timers.ts';
import type { StateResult } from '../topologies/topology.ts';
import { abortError, acquireError, crowdError, lossAgain, quoted } from './failures.ts';
import { ENDED, Owner } from './owner.ts';
import type { Renewal } from './renewal.ts';
import { WAITERS_MAX, Waiter } from './waiting/waiter.ts';

function addChild(parent: Owner): Owner {
  const child = new Owner(parent.hold, parent.fence, parent, 'reentry');
  parent.child = child;
  return child;
}

/** Frees the place of an owner that is out of the chain, and lets the next sibling in. True when one came in. */
function freePlace(owner: Owner): boolean {
  let freed = owner;
  while (freed.state !== 'held' && freed.child === null && freed.parent !== null) {
    const { parent } = freed;
    parent.child = null;
    if (parent.state === 'held') {
      const next = parent.siblings.head;
      next?.resolve(addChild(parent));
      return next !== null;
    }
    freed = parent;
  }
  return false;
}

export class Reentry {
  readonly #timers: TimerQueue;
  readonly #renewal: Renewal;
  readonly #options: ResolvedLocksOptions;

  constructor(timers: TimerQueue, renewal: Renewal, options: ResolvedLocksOptions) {
    this.#timers = timers;
    this.#renewal = renewal;
    this.#options = options;
  }

  /** The new owner below `parent`; null for a try that found another re-entry there. */
  async enter(
    parent: Owner,
    options: ResolvedAcquireOptions,
    startedMs: number,
  ): Promise<Owner | null | typeof ENDED> {
    if (parent.loss !== null) throw lossAgain(parent.loss);
    if (parent.child !== null && options.isTry) return null;
    const child = parent.child === null ? addChild(parent) : await this.#queue(parent, options, startedMs);
    if (child === ENDED) return parent.loss === null ? ENDED : Promise.reject(lossAgain(parent.loss));
    await this.#count(child, options, startedMs);
    return child;
  }

  /** Takes a released owner, not the last of its hold, out of the chain. */
  async leave(owner: Owner): Promise<boolean> {
    // A sibling that comes in states the same count by itself.
    if (freePlace(owner)) return true;
    const result = await this.#renewal.recount(owner.hold);
    // The others of the chain may have released meanwhile, and the hold with them.
    if (result === null) return !owner.hold.wasLost;
    // Without an answer the count in Redis is behind, which nothing depends on: the hold is released as a whole.
    return result.is !== 'gone';
  }

  #queue(parent: Owner, options: ResolvedAcquireOptions, startedMs: number): Promise<Owner | typeof ENDED> {
    const { siblings, hold } = parent;
    const { protocol } = hold;
    if (siblings.size >= WAITERS_MAX) return Promise.reject(crowdError(protocol, WAITERS_MAX));
    const waiter = new Waiter<Owner | typeof ENDED>(this.#timers, protocol, options, startedMs);
    siblings.push(waiter);
    waiter.armTimeout(() => waiter.reject(acquireError(protocol, null, waiter.elapsedMs)));
    return waiter.promise;
  }

  /** States the count until the server has it. The hold is ours meanwhile, so patience is safe. */
  async #count(child: Owner, options: ResolvedAcquireOptions, startedMs: number): Promise<void> {
    const backoff = new Backoff(this.#options.random);
    for (;;) {
      const result = await this.#renewal.recount(child.hold);
      if (child.loss !== null) throw lossAgain(child.loss);
      if (result?.is === 'kept') return;
      const elapsedMs = this.#timers.clock.monotonicMs() - startedMs;
      const error = this.#reasonToStop(child, result, options, elapsedMs);
      if (error !== null) {
        // By the entrance: those above may have released meanwhile, and then the hold ends with this owner.
        child.hold.keeper.leave(child).catch(() => {});
        throw error;
      }
      await sleep(this.#timers, backoff.nextMs());
    }
  }

  #reasonToStop(
    child: Owner,
    result: StateResult | null,
    options: ResolvedAcquireOptions,
    elapsedMs: number,
  ): LockError | null {
    const { protocol } = child.hold;
    if (result === null || result.is !== 'failed') {
      const message = `${quoted(protocol)}: was released while it was entered again`;
      return new LockNotHeldError(message, { lock: protocol.name, elapsedMs });
    }
    if (options.signal?.aborted) return abortError(protocol, elapsedMs, options.signal);
    const isOver = options.isTry || elapsedMs >= Math.min(options.waitMs, this.#options.outageMs);
    if (!isOver) return null;
    // Never `LockUnknownError`: nobody but us holds the lock, and the next count states the truth.
    const { servers } = result;
    return acquireError(protocol, { is: 'failed', servers, canRetry: true, mayBeGranted: false }, elapsedMs);
  }
}
