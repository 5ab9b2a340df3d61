/** A program of the operator: its arguments as given, no shell, the notice as JSON on its standard input. */
import { spawn } from 'node:child_process';
import type { Clock } from 'holdfast';
import { printableJson } from 'holdfast';
import type { Secret } from '../config/secret.ts';
import type { CommandReceiver } from '../config/settings.ts';
import { type Attempt, describeError } from '../delivery/attempt.ts';
import { within } from '../delivery/within.ts';
import type { Notice } from '../machine/notice.ts';
import { SEND_MS_MAX } from './http.ts';

/** How much is kept of what a program writes to standard error. */
const SAID_LENGTH_MAX = 1_024;

export async function runCommand(
  { argv }: CommandReceiver,
  notice: Notice,
  secrets: readonly Secret[],
  clock: Clock,
): Promise<Attempt> {
  const failed = (error: unknown): Attempt => ({
    is: 'failed',
    error: describeError(error, secrets),
    retryAfterMs: null,
  });
  try {
    const failure = await within(clock, SEND_MS_MAX, (signal) => run(argv, printableJson(notice), signal));
    return failure === null ? { is: 'sent' } : failed(failure);
  } catch (error) {
    return failed(error);
  }
}

/** Null when it exits with 0; otherwise why it did not. */
function run(argv: readonly string[], input: string, signal: AbortSignal): Promise<Error | null> {
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
      resolve(code === 0 ? null : new Error(`${program} ended with ${by ?? `code ${code}`}: ${said}`));
    });
    signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    child.stdin.end(`${input}\n`);
  });
}
