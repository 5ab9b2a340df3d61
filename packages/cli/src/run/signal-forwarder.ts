/** Receives our signals: before the command is started they end the wait for the lock, then they go to the command. */
import { constants } from 'node:os';
import { EXIT } from '../exit-codes.ts';

/** Signals whose default is to end the process. */
const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** SIGTSTP too: if we stopped, nobody would renew the lock while the command runs on. Only the command gets it. */
const HARMLESS = ['SIGWINCH', 'SIGCONT', 'SIGTSTP'] as const;

export class SignalForwarder implements Disposable {
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

  /** Aborts when a signal ends the wait for the lock. */
  get aborted(): AbortSignal {
    return this.#waiting.signal;
  }

  /** The exit code for the signal that ended the wait for the lock: nothing is left behind then. Null: none did. */
  get exitCode(): number | null {
    return this.#ended === null ? null : EXIT.signalled + constants.signals[this.#ended];
  }

  /** From now on `forward` gets every signal. */
  forwardTo(forward: (signal: NodeJS.Signals) => void): void {
    this.#forward = forward;
  }

  /** The command has ended: from now on a signal ends the wait for the next command. */
  stopForwarding(): void {
    this.#forward = null;
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
