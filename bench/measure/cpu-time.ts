/**
 * Processor time of a process, of all its threads and of its child processes: PostgreSQL has one process for each
 * connection. Read from Linux's /proc, exact to the nanosecond.
 */
import { readdirSync, readFileSync } from 'node:fs';

function threadNs(path: string): number {
  return Number(readFileSync(`${path}/schedstat`, 'utf8').split(' ')[0]);
}

/** A thread or process that ends while it is read counts as 0. */
function orZero(read: () => number): number {
  try {
    return read();
  } catch {
    return 0;
  }
}

function processNs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((total, task) => total + orZero(() => threadNs(`${tasks}/${task}`)), 0);
}

/** The field after the state, behind the program's name in brackets: "4711 (postgres) S 4700 …". */
function parentOf(pid: number): number {
  return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
}

function childrenOf(pid: number): number[] {
  const all = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return all.filter((each) => orZero(() => parentOf(each)) === pid);
}

/** NaN on a system without these files. */
export function processCpuMs(pid: number): number {
  try {
    const ns = [...childrenOf(pid)].reduce(
      (total, child) => total + orZero(() => processNs(child)),
      processNs(pid),
    );
    return ns / 1e6;
  } catch {
    return Number.NaN;
  }
}
