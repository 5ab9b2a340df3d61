/** A program of the operator: its arguments as given, no shell, the notice as JSON on its standard input. */
import { spawn } from 'node:child_process';
import type { Clock } from 'holdfast';
import { printableJson } from 'holdfast';
import type { CommandReceiver } from '../config/settings.ts';
import { type Attempt, describeError } from '../delivery/attempt.ts';
import { within } from '../delivery/within.ts';
import type { Notice } from '../machine/notice.ts';
import { SEND_MS_MAX } from './http.ts';

/** How much is kept of what a program writes to standard error. */
const SAID_LENGTH_MAX = 1_024;

export async function runCommand({ argv }: CommandReceiver, notice: Notice, clock: Clock): Promise<Attempt> {
  try {
    const failure = await within(clock, SEND_MS_MAX, (signal) => run(argv, printableJson(notice), signal));
    return failure === null ? { is: 'sent' } : { is: 'failed', error: failure, retryAfterMs: null };
  } catch (error) {
    return { is: 'failed', error: describeError(error, []), retryAfterMs: null };
  }
}

/** Null when it exits with 0; otherwise why it did not. */
function run(argv: readonly string[], input: string, signal: AbortSignal): Promise<string | null> {
  const [program = '', ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said = `${said}${chunk.toString()}`.slice(0, SAID_LENGTH_MAX);
    });
    // A program that does not read its input is none the worse.
    child.stdin.on('error', () => {});
    child.once('error', reject);
    child.once('exit', (code, by) => {
      const why = describeError(new Error(`${program} ended with ${by ?? `code ${code}`}: ${said}`), []);
      resolve(code === 0 ? null : why);
    });
    signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    child.stdin.end(`${input}\n`);
  });
}
