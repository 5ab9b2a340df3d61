/**
 * The Redis that the demo runs on when none is given, and the monitor that shows the sale: `holdfast dev` and
 * `holdfast monitor` in processes of their own. In ours they would not answer while the buyers keep the event loop busy.
 */
import { fileURLToPath } from 'node:url';
import { startProcess } from './demo-process.ts';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

export interface DemoServer {
  readonly url: string;
  close(): Promise<void>;
}

export function startDemoRedis(): Promise<DemoServer> {
  return startServer('the Redis of the demo', ['dev', '--port', '0', '--json']);
}

/** On this machine only. The URL is that of the lock's page, which looks at the lock four times a second. */
export async function startDemoMonitor(urls: readonly string[], lock: string): Promise<DemoServer> {
  // Not among the arguments, which everybody on the machine can read: a URL may have a password.
  const environment = {
    HOLDFAST_REDIS_URL: urls.join(' '),
    HOLDFAST_REDIS_CLUSTER: '',
    HOLDFAST_MONITOR_TOKEN: '',
  };
  const args = ['monitor', '--port', '0', '--fleet', 'demo', '--json'];
  const { url, close } = await startServer('the monitor of the demo', args, environment);
  return { url: `${url}#/lock/${encodeURIComponent(lock)}`, close };
}

async function startServer(
  what: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<DemoServer> {
  const { child, line } = await startProcess<{ url: string }>(what, [MAIN, ...args], environment);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { url: line.url, close };
}
