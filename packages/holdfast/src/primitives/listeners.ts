/** Callbacks of users by the name of an event. They run last, after all state is settled, and in nobody's async context. */
import { detached } from '../runtime/detached.ts';

export class Listeners<Events extends object> {
  readonly #byEvent = new Map<keyof Events, Set<(event: never) => void>>();

  /** Returns how to stop. */
  add<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void {
    let listeners = this.#byEvent.get(name);
    if (listeners === undefined) {
      listeners = new Set();
      this.#byEvent.set(name, listeners);
    }
    const own = (event: Events[Name]): void => listener(event);
    const known = listeners;
    known.add(own);
    return () => known.delete(own);
  }

  tell<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const listeners = this.#byEvent.get(name);
    if (listeners === undefined) return;
    detached(() => {
      for (const listener of [...listeners]) {
        try {
          (listener as (event: Events[Name]) => void)(event);
        } catch (error) {
          // As for listeners of an AbortSignal: an error of a listener is the program's, and not ours to hide.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    });
  }
}
