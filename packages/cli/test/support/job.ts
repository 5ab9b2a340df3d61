/** Jobs for `holdfast run` that leave traces: who runs, since when, and whether two ran at once. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import {
  makeGuardedFolder,
  removeGuardedFolder,
} from '../../../holdfast/test/support/processes/process-guard.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';

export class Traces {
  readonly folder: string = makeGuardedFolder('holdfast-cli-');

  path(name: string): string {
    return join(this.folder, name);
  }

  /** The lines of a file, none when it does not exist. */
  lines(name: string): string[] {
    try {
      return readFileSync(this.path(name), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
    } catch {
      return [];
    }
  }

  /** The numbers of the processes that wrote theirs to a file, once there are so many. */
  async pids(name: string, count: number): Promise<number[]> {
    await waitFor(() => this.lines(name).length >= count, {
      what: `${count} lines in ${name}`,
      limitMs: 90_000,
    });
    return this.lines(name).map(Number);
  }
}

export function useTraces(): () => Traces {
  const all: Traces[] = [];
  afterAll(() => {
    for (const { folder } of all) removeGuardedFolder(folder);
  });
  return () => {
    const traces = new Traces();
    all.push(traces);
    return traces;
  };
}

/** Dead ones that nobody has collected do not run. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** The Node processes that a process has started. */
export function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return (
        stat.includes('(node)') && stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(parent)
      );
    } catch {
      return false;
    }
  });
}
