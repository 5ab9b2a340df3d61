/** A full-screen view: takes the alternate screen of the terminal, and restores the terminal at the end. */
import { type Line, render } from './output.ts';
import { cutLine } from './table.ts';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const CTRL_C = '\u0003';

export class LiveScreen {
  readonly #leaving = new AbortController();
  #isClosed = false;

  constructor() {
    process.stdout.write(ENTER);
    // The terminal is restored whatever ends the process.
    process.once('exit', this.#restore);
    process.once('SIGINT', this.#leave).once('SIGTERM', this.#leave).once('SIGHUP', this.#leave);
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(true).resume().on('data', this.#onKeys);
  }

  /** Aborts when the user presses q or Ctrl-C, or the terminal closes. */
  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  get columns(): number {
    return process.stdout.columns ?? 80;
  }

  get rows(): number {
    return process.stdout.rows ?? 24;
  }

  /** Draws over the last picture line by line, without flicker. A line that wrapped would move the rest, so each is cut. */
  draw(lines: readonly Line[]): void {
    const { columns, rows } = this;
    const fitting = lines.slice(0, rows).map((line) => render(cutLine(line, columns), process.stdout));
    const text = fitting.map((line) => `${line}${CLEAR_LINE}`).join('\r\n');
    process.stdout.write(`${HOME}${text}${CLEAR_BELOW}`);
  }

  close(): void {
    this.#restore();
    process.off('exit', this.#restore);
    process.off('SIGINT', this.#leave).off('SIGTERM', this.#leave).off('SIGHUP', this.#leave);
    if (process.stdin.isTTY) process.stdin.off('data', this.#onKeys).setRawMode(false).pause();
  }

  readonly #leave = (): void => this.#leaving.abort();

  readonly #onKeys = (keys: Buffer): void => {
    if (/q/i.test(keys.toString()) || keys.includes(CTRL_C)) this.#leave();
  };

  readonly #restore = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    process.stdout.write(LEAVE);
  };
}
