/** The Redis that the sale runs on when none is given: one of our own, in a process beside us. */
import { fileURLToPath } from 'node:url';
import { startProcess } from './demo-process.ts';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

export interface Stage {
  readonly url: string;
  close(): Promise<void>;
}

/** A process of its own: in ours it would stand still whenever the crowd keeps us busy. */
export async function openStage(): Promise<Stage> {
  const args = [MAIN, 'dev', '--port', '0', '--json'];
  const { child, line } = await startProcess<{ url: string }>('the Redis of the demo', args);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url: line.url, close };
}
