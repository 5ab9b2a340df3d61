/** The Redis that the sale runs on: the ones that were asked for, or one of our own in a process beside us. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Failure } from '../failure.ts';
import { guardChild } from './guarded-child.ts';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));
const START_MS_MAX = 15_000;

export interface Stage {
  readonly url: string;
  close(): Promise<void>;
}

/** A process of its own: in ours it would stand still whenever the crowd keeps us busy. */
export function openStage(): Promise<Stage> {
  const child = spawn(process.execPath, [MAIN, 'dev', '--port', '0', '--json'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  guardChild(child);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return new Promise((resolve, reject) => {
    let stderr = '';
    const fail = (): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Failure('internal', `the Redis of the demo did not start: ${stderr}`));
    };
    const timer = setTimeout(fail, START_MS_MAX);
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('error', fail).once('exit', fail);
    createInterface({ input: child.stdout }).once('line', (line) => {
      clearTimeout(timer);
      child.off('exit', fail);
      resolve({ url: (JSON.parse(line) as { url: string }).url, close });
    });
  });
}
