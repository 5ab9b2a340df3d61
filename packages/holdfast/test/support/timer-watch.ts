/**
 * Notes the timers that are armed while it watches, so that one left running can be named with its line.
 *
 * The runtime's own list of active resources cannot tell a test's timers from the test runner's, which come and
 * go. The runner keeps the original functions from before we replace them, so its timers are not noted.
 * Timers from `node:timers/promises` are not noted either: whoever awaits one does not leave it behind.
 */

interface Armed {
  readonly timer: NodeJS.Timeout;
  readonly where: string;
}

const OWN_FILE = import.meta.filename;

export class TimerWatch {
  #armed: Armed[] = [];
  #restore: (() => void) | null = null;

  begin(): void {
    this.end();
    const { setTimeout: startTimeout, setInterval: startInterval } = globalThis;
    const watchedTimeout = this.#noting(startTimeout);
    const watchedInterval = this.#noting(startInterval);
    globalThis.setTimeout = watchedTimeout;
    globalThis.setInterval = watchedInterval;
    this.#restore = () => {
      // Fake timers that a test has put in place are not ours to take away.
      if (globalThis.setTimeout === watchedTimeout) globalThis.setTimeout = startTimeout;
      if (globalThis.setInterval === watchedInterval) globalThis.setInterval = startInterval;
    };
  }

  /** Where the timers were armed that still run and keep the process alive. */
  running(): string[] {
    this.#armed = this.#armed.filter(({ timer }) => isArmed(timer));
    return this.#armed.filter(({ timer }) => timer.hasRef()).map(({ where }) => where);
  }

  end(): void {
    this.#restore?.();
    this.#restore = null;
    this.#armed = [];
  }

  #noting<Start extends typeof setTimeout | typeof setInterval>(start: Start): Start {
    const watched = new Proxy(start, {
      apply: (target, self, args) => {
        const timer = Reflect.apply(target, self, args) as NodeJS.Timeout;
        this.#armed.push({ timer, where: callSite(new Error().stack ?? '') });
        // Those that fired are let go now and then, so that a long test does not gather them.
        if (this.#armed.length % 1_000 === 0) this.running();
        return timer;
      },
    });
    return watched;
  }
}

/** Timers have no public way to ask whether they have fired; this field has said so since Node 10. */
function isArmed(timer: NodeJS.Timeout): boolean {
  return !(timer as unknown as { readonly _destroyed: boolean })._destroyed;
}

function callSite(stack: string): string {
  const frames = stack.split('\n').slice(1);
  const site = frames.find((frame) => !frame.includes(OWN_FILE) && !frame.includes('Reflect.apply'));
  return site?.trim() ?? 'at an unknown place';
}
