/**
 * Hears signals on behalf of callers. A service hands the same signal to thousands of acquisitions; a listener for
 * each would make Node warn of a leak, so there is one listener a signal, for as long as somebody waits with it.
 */

const watched = new WeakMap<AbortSignal, Set<() => void>>();

function fire(this: AbortSignal): void {
  const callbacks = watched.get(this);
  watched.delete(this);
  for (const callback of callbacks ?? []) callback();
}

/** Calls back once when the signal aborts. Returns how to stop. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = watched.get(signal);
  if (callbacks === undefined) {
    callbacks = new Set();
    watched.set(signal, callbacks);
    signal.addEventListener('abort', fire, { once: true });
  }
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0 || watched.get(signal) !== callbacks) return;
    watched.delete(signal);
    signal.removeEventListener('abort', fire);
  };
}
