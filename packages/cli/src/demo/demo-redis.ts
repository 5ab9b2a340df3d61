/** The Redis that the demo runs on when none is given: `holdfast dev` in a process of its own. */
import { fileURLToPath } from 'node:url';
import { startProcess } from './demo-process.ts';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

export interface DemoRedis {
  readonly url: string;
  close(): Promise<void>;
}

/** In our own process it would not answer while the buyers keep the event loop busy. */
export async function startDemoRedis(): Promise<DemoRedis> {
  const args = [MAIN, 'dev', '--port', '0', '--json'];
  const { child, line } = await startProcess<{ url: string }>('the Redis of the demo', args);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url: line.url, close };
}
