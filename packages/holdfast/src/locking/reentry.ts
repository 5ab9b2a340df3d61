/**
 * Entering a lock again under an owner that holds it already. Each re-entry is a child of the owner it was called
 * under; an owner has one child at a time, and parallel re-entries queue behind it inside the process. The hold
 * count in Redis is the number of owners in the chain, stated anew after each change.
 */
import { type LockError, LockNotHeldError } from '../errors.ts';
import type { ResolvedAcquireOptions } from '../options/options.ts';
import { Backoff } from '../runtime/backoff.ts';
import type { StateResult } from '../topologies/topology.ts';
import { abortError, acquireError, crowdError, lossAgain, quoted } from './failures.ts';
import { Owner } from './owner.ts';
import type { Session } from './session.ts';
import { siblingsOf } from './siblings.ts';
import { Waiter } from './waiter.ts';
import { WAITERS_MAX } from './waiter-queue.ts';

/** The owner above has released meanwhile: the caller must come in by the front door. */
export const ENDED = 'ended';

function addChild(parent: Owner): Owner {
  const child = new Owner(parent.hold, parent.fence, parent);
  parent.child = child;
  parent.hold.count += 1;
  return child;
}

/** Frees the place of an owner that is out of the chain, and lets the next sibling in. True when one came in. */
function freePlace(owner: Owner): boolean {
  let freed = owner;
  while (freed.state !== 'held' && freed.child === null && freed.parent !== null) {
    const { parent } = freed;
    parent.child = null;
    if (parent.state === 'held') {
      const next = parent.siblings?.queue.head ?? null;
      next?.resolve(addChild(parent));
      return next !== null;
    }
    freed = parent;
  }
  return false;
}

export class Reentry {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

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
    owner.siblings?.end();
    // A sibling that comes in states the same count by itself.
    if (freePlace(owner)) return true;
    const result = await this.#session.renewal.recount(owner.hold);
    // The others of the chain may have released meanwhile, and the hold with them.
    if (result === null) return !owner.hold.wasLost;
    // Without an answer the count in Redis is behind, which nothing depends on: the hold is released as a whole.
    return result.is !== 'gone';
  }

  #queue(parent: Owner, options: ResolvedAcquireOptions, startedMs: number): Promise<Owner | typeof ENDED> {
    const { timers } = this.#session;
    const { protocol } = parent.hold;
    const { queue } = siblingsOf(parent);
    if (queue.size >= WAITERS_MAX) return Promise.reject(crowdError(protocol));
    const waiter = new Waiter<Owner | typeof ENDED>(timers, protocol, options, startedMs);
    queue.push(waiter);
    waiter.armTimeout(() => waiter.reject(acquireError(protocol, null, waiter.elapsedMs)));
    return waiter.promise;
  }

  /** States the count until the server has it. The hold is ours meanwhile, so patience is safe. */
  async #count(child: Owner, options: ResolvedAcquireOptions, startedMs: number): Promise<void> {
    const { timers, renewal } = this.#session;
    const backoff = new Backoff(this.#session.options.random);
    for (;;) {
      const result = await renewal.recount(child.hold);
      if (child.loss !== null) throw lossAgain(child.loss);
      if (result?.is === 'kept') return;
      const elapsedMs = timers.clock.monotonicMs() - startedMs;
      const error = this.#reasonToStop(child, result, options, elapsedMs);
      if (error !== null) {
        this.#undo(child);
        throw error;
      }
      await this.#session.pause(backoff.nextMs());
    }
  }

  #reasonToStop(
    child: Owner,
    result: StateResult | null,
    options: ResolvedAcquireOptions,
    elapsedMs: number,
  ): LockError | null {
    const { protocol } = child.hold;
    const details = { lock: protocol.name, elapsedMs };
    if (result === null || result.is !== 'failed') {
      return new LockNotHeldError(`${quoted(protocol)}: was released while it was entered again`, details);
    }
    if (options.signal?.aborted) {
      return abortError(protocol, elapsedMs, options.signal);
    }
    const { outageMs } = this.#session.options;
    const isOver = options.isTry || elapsedMs >= Math.min(options.waitMs, outageMs);
    // Not `unknown`: nobody but us holds it, and the next count states the truth.
    return isOver
      ? acquireError(
          protocol,
          { is: 'failed', servers: result.servers, canRetry: true, mayBeGranted: false },
          elapsedMs,
        )
      : null;
  }

  #undo(child: Owner): void {
    // Not by hand: those above may have released meanwhile, and then the hold ends with this one.
    this.#session.release(child).catch(() => {});
  }
}
