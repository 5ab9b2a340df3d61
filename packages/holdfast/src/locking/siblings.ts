/**
 * Re-entries of one owner that wait for each other. Two parallel branches that enter the same lock again must
 * exclude each other although both run under its owner; they queue here, inside the process.
 */
import type { Owner } from './owner.ts';
import { WaiterQueue } from './waiter-queue.ts';

export class Siblings {
  /** Resolved with the place that became free, or told that the owner above has ended. */
  readonly queue: WaiterQueue<Owner | 'ended'> = new WaiterQueue();

  /** The owner above is gone: all of them go back to the front door. */
  end(): void {
    for (const waiter of this.queue.takeAll()) waiter.resolve('ended');
  }
}

export function siblingsOf(owner: Owner): Siblings {
  owner.siblings ??= new Siblings();
  return owner.siblings;
}
