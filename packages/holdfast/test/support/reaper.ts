/**
 * Kills the processes that a test started, whatever happens to the test's own process.
 *
 * Hooks and `finally` cover a test that fails. The `exit` event covers a process that ends by itself. Neither
 * runs when the process is killed by a signal, so a small shell is told of every process we start: its standard
 * input closes when we die, however we die, and then it kills what it still has on its list.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

const GUARD = `
trap '' HUP INT TERM
pids=' '
while read -r verb pid; do
  case $verb in
    add) pids="$pids$pid " ;;
    drop) case $pids in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
`;

const pids = new Set<number>();
let guard: ChildProcess | undefined;

/** Puts a process under guard until it has exited. */
export function guardProcess(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  pids.add(pid);
  tell(`add ${pid}\n`);
  // Forgotten as soon as it is gone: its number may soon belong to somebody else.
  child.once('exit', () => {
    pids.delete(pid);
    tell(`drop ${pid}\n`);
  });
}

/** The processes under guard that have not exited. */
export function guardedPids(): number[] {
  return [...pids];
}

function tell(line: string): void {
  guard ??= startGuard();
  guard.stdin?.write(line);
}

function startGuard(): ChildProcess {
  process.once('exit', () => {
    for (const pid of pids) kill(pid);
  });
  // In a process group of its own, so that an interrupt at the terminal does not reach it before its work.
  const shell = spawn('/bin/sh', ['-c', GUARD], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  // The pipe is a socket, which has `unref` although its type does not say so.
  (shell.stdin as Socket).unref();
  return shell;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}
