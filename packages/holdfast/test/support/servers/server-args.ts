/** What a test asks of its redis-server, and the arguments that say so. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerProgram } from './server-program.ts';

export interface RedisOptions {
  /** Further arguments, after ours, so they win: `['--appendonly', 'yes']`. */
  readonly args?: readonly string[];
  /** The lines of its settings when it is to be a sentinel, which keeps them, and what it learns, in a file. */
  readonly sentinel?: readonly string[];
  /** A port that must be this one. By default any free port. */
  readonly port?: number;
  /** A folder that exists and is kept. By default a new one, removed by `stop()`. */
  readonly dir?: string;
  /** @default the one on the path */
  readonly program?: ServerProgram;
  /**
   * How long it takes over each key of its data when it starts. Only such a server counts as started while it still
   * loads, and says so to whoever asks.
   */
  readonly loadDelayUs?: number;
}

export function serverArgs(options: RedisOptions, port: number, dir: string): string[] {
  const { args = [], sentinel } = options;
  if (sentinel !== undefined) return [sentinelFile(sentinel, port, dir), '--sentinel'];
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--protected-mode', 'no'];
  const files = ['--save', '', '--appendonly', 'no', '--daemonize', 'no', '--dir', dir];
  return [...settings, ...files, ...loadArgs(options), ...args];
}

/** Written once: after a restart it goes by what it has written there itself. */
function sentinelFile(lines: readonly string[], port: number, dir: string): string {
  const file = join(dir, `sentinel-${port}.conf`);
  const own = [`port ${port}`, 'bind 127.0.0.1', 'protected-mode no', `dir ${dir}`];
  if (!existsSync(file)) writeFileSync(file, [...own, ...lines, ''].join('\n'));
  return file;
}

function loadArgs({ loadDelayUs }: RedisOptions): string[] {
  if (loadDelayUs === undefined) return [];
  // It looks up from its reading often enough to answer.
  return ['--key-load-delay', `${loadDelayUs}`, '--loading-process-events-interval-bytes', '1024'];
}
