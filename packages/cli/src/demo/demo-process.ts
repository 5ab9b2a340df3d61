/**
 * Starts a process of the demo, in a group of its own. The process prints one line of JSON when it is ready. A guard
 * ends the group with the demo, also when the demo is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Failure } from '../failure.ts';
import { Guard } from '../run/guard.ts';

const START_MS_MAX = 15_000;
const GRACE_MS = 1_000;

export interface Started<Line> {
  readonly child: ChildProcess;
  readonly line: Line;
}

/** `what` is for the message when it does not start. */
export async function startProcess<Line>(
  what: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Started<Line>> {
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  guard(child);
  const text = await firstLine(what, child);
  // The programs are our own, and print what the caller expects.
  return { child, line: JSON.parse(text) as Line };
}

function guard(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const guard = new Guard(GRACE_MS);
  guard.watch(child.pid);
  child.once('exit', () => guard.dismiss());
}

function firstLine(what: string, child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let stderr = '';
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Failure('internal', `${what} did not start: ${why} ${stderr}`.trim()));
    };
    const ended = (code: number | null, signal: NodeJS.Signals | null): void =>
      fail(`it ended with ${signal ?? code}`);
    const timer = setTimeout(() => fail(`it said nothing within ${START_MS_MAX / 1000} s`), START_MS_MAX);
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('error', (error) => fail(error.message)).once('exit', ended);
    // Piped, as asked for above.
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once('line', (line) => {
      clearTimeout(timer);
      child.off('exit', ended);
      resolve(line);
    });
  });
}
