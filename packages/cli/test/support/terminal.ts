/** `holdfast` on a real terminal: a pseudo-terminal that a person sits at. */
import { type IPty, spawn } from '@lydell/node-pty';
import { onTestFinished } from 'vitest';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { MAIN } from './built-cli.ts';
import { environmentFor } from './holdfast.ts';

/** A live view is drawn again and again: its last picture tells enough. */
const SHOWN_MAX = 2_000;

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

/** A picture of a live view begins here. */
const HOME = '\u001b[H';

function withoutEscapes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  return text.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
}

export class Terminal {
  readonly ended: Promise<number>;
  readonly #pty: IPty;
  #written = '';

  constructor(args: readonly string[], { env, columns = 140, rows = 30 }: TerminalOptions) {
    const variables = environmentFor({ TERM: 'xterm-256color', ...env });
    const known = Object.entries(variables).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    this.#pty = spawn(process.execPath, [MAIN, ...args], {
      cols: columns,
      rows,
      env: Object.fromEntries(known),
    });
    this.#pty.onData((text) => {
      this.#written += text;
    });
    this.ended = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal }) => resolve(signal ? 128 + signal : exitCode));
    });
    onTestFinished(() => {
      try {
        this.#pty.kill('SIGKILL');
      } catch {
        // It has ended.
      }
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** Everything that was written, as it came. */
  get written(): string {
    return this.#written;
  }

  /** What a person reads: without colours and cursor movements. */
  get text(): string {
    return withoutEscapes(this.#written);
  }

  /** Each picture that a live view has drawn, as its lines. Anything else is one picture. */
  get pictures(): string[][] {
    return this.#written.split(HOME).map((picture) => withoutEscapes(picture).split('\r\n'));
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#pty.resize(columns, rows);
  }

  async shows(text: string | RegExp, limitMs = 90_000): Promise<void> {
    const isShown = (): boolean =>
      typeof text === 'string' ? this.text.includes(text) : text.test(this.text);
    await waitFor(
      () => {
        if (!isShown()) throw new Error(`the terminal shows ${JSON.stringify(this.text.slice(-SHOWN_MAX))}`);
        return true;
      },
      { what: `${String(text)} on the terminal`, limitMs },
    );
  }
}

export function openTerminal(args: readonly string[], options: TerminalOptions = {}): Terminal {
  return new Terminal(args, options);
}
