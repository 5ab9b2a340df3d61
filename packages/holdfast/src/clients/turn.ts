/**
 * The calls of one turn of the event loop. The first is written at once, so that a lone caller waits for nobody; those
 * that come after it in the same turn are written together when it ends, which costs client and server a fraction.
 *
 * Releases go before acquires: a caller that releases a name lets the next one of the same process in behind it.
 */
import type { Call } from './call.ts';
import type { ScriptText } from './client.ts';

/** Calls in one bundle: past this the server is busy for long enough to be felt by others. */
export const BUNDLE_MAX = 128;

export class Turn {
  readonly #write: (calls: readonly Call[]) => void;
  #calls: Call[] = [];
  #isOn = false;

  constructor(write: (calls: readonly Call[]) => void) {
    this.#write = write;
  }

  /** Whether it will be written at the end of the turn. If not, it is the caller's to write now. */
  take(call: Call): boolean {
    if (call.request.script.bundle === undefined) return false;
    if (this.#isOn) {
      this.#calls.push(call);
      return true;
    }
    this.#isOn = true;
    process.nextTick(this.#end);
    return false;
  }

  readonly #end = (): void => {
    this.#isOn = false;
    if (this.#calls.length === 0) return;
    const calls = this.#calls;
    this.#calls = [];
    const byScript = new Map<ScriptText, Call[]>();
    for (const call of calls) {
      if (call.hasEnded) continue;
      const { script } = call.request;
      const same = byScript.get(script);
      if (same === undefined) byScript.set(script, [call]);
      else same.push(call);
    }
    const groups = [...byScript].sort(([a], [b]) => Number(isAcquire(a)) - Number(isAcquire(b)));
    for (const [, group] of groups) {
      for (let i = 0; i < group.length; i += BUNDLE_MAX) this.#write(group.slice(i, i + BUNDLE_MAX));
    }
  };
}

function isAcquire(script: ScriptText): boolean {
  return script.name.endsWith('.acquire');
}
