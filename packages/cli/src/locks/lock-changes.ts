/** What changed between two lists of locks. */
import type { LockView } from './lock-view.ts';

export type ChangeName = 'held' | 'acquired' | 'changed' | 'released';

export interface LockChange {
  readonly event: ChangeName;
  readonly lock: LockView;
}

export class LockChanges {
  #before: ReadonlyMap<string, LockView> | null = null;

  /** The first list gives `held` events; each later one gives the changes since. A renewal is no change. */
  next(locks: readonly LockView[]): LockChange[] {
    const before = this.#before;
    const now = new Map(locks.map((lock) => [identity(lock), lock]));
    this.#before = now;
    if (before === null) return locks.map((lock) => ({ event: 'held', lock }));
    const appeared = locks.flatMap((lock) => changeOf(before.get(identity(lock)), lock));
    const released = [...before.values()].filter((lock) => !now.has(identity(lock)));
    return [...released.map((lock) => ({ event: 'released', lock }) as const), ...appeared];
  }
}

/** A leader or a job may have the name of a lock. */
function identity({ name, kind }: LockView): string {
  return kind === 'leader' || kind === 'job' ? `${kind} ${name}` : ` ${name}`;
}

function changeOf(before: LockView | undefined, lock: LockView): LockChange[] {
  if (before === undefined) return [{ event: 'acquired', lock }];
  // Fences tell two acquisitions of one owner apart.
  const keys = ['owner', 'fence', 'kind', 'holdCount', 'application'] as const;
  return keys.some((key) => before[key] !== lock[key]) ? [{ event: 'changed', lock }] : [];
}
