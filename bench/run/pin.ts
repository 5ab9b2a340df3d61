/**
 * Pins this process to one core with `taskset`. Processes that it starts later, servers and workers, inherit the core:
 * server and caller then never run at the same time, and only the processor time of both counts.
 */
import { spawnSync } from 'node:child_process';

/** Returns a sentence about what was done. Goes on unpinned where taskset is missing or fails. */
export function pinToOneCore(): string {
  const pid = String(process.pid);
  const { error, stdout } = spawnSync('taskset', ['-c', '-p', pid], { encoding: 'utf8' });
  if (error !== undefined) return `not pinned: taskset could not be run (${error.message})`;
  // "pid 4711's current affinity list: 0-3,6"
  const core = /: (\d+)/.exec(stdout)?.[1];
  if (core === undefined) return `not pinned: taskset said ${JSON.stringify(stdout)}`;
  // All threads of the process, because V8's compiler and collector have threads of their own.
  const { status, stderr } = spawnSync('taskset', ['-a', '-c', '-p', core, pid], { encoding: 'utf8' });
  return status === 0 ? `pinned to core ${core}` : `not pinned: ${stderr.trim()}`;
}
