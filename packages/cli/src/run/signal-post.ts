/** The signals that come to us, and where they go: first they end the wait, later they go to the command. */

/** Those that end a process that does not listen to them. */
const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** Standing still would end our renewals while the command goes on: SIGTSTP is passed on, and we go on. */
const HARMLESS = ['SIGWINCH', 'SIGCONT', 'SIGTSTP'] as const;

export class SignalPost implements Disposable {
  readonly #waiting = new AbortController();
  readonly #listeners = new Map<NodeJS.Signals, () => void>();
  #ended: NodeJS.Signals | null = null;
  #forward: ((signal: NodeJS.Signals) => void) | null = null;

  constructor() {
    for (const signal of [...ENDING, ...HARMLESS]) {
      const listener = (): void => this.#receive(signal);
      this.#listeners.set(signal, listener);
      process.on(signal, listener);
    }
  }

  /** Aborts when a signal ends us before there is a command. */
  get aborted(): AbortSignal {
    return this.#waiting.signal;
  }

  /** The signal that ended us before there was a command. */
  get ended(): NodeJS.Signals | null {
    return this.#ended;
  }

  /** From now on signals go there. */
  forwardTo(forward: (signal: NodeJS.Signals) => void): void {
    this.#forward = forward;
  }

  [Symbol.dispose](): void {
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }

  #receive(signal: NodeJS.Signals): void {
    if (this.#forward !== null) this.#forward(signal);
    else if (ENDING.some((ending) => ending === signal)) this.#endWait(signal);
  }

  #endWait(signal: NodeJS.Signals): void {
    this.#ended ??= signal;
    this.#waiting.abort();
  }
}
