/**
 * Kills the processes that a test started and removes its folders, whatever happens to the test's own process.
 *
 * Hooks and `finally` cover a test that fails. The `exit` event covers a process that ends by itself. Neither
 * runs when the process is killed by a signal, so a small shell is told of every process we start: its standard
 * input closes when we die, however we die, and then it kills what it still has on its list.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const GUARD = `
trap '' HUP INT TERM
pids=' '
while read -r verb what; do
  case $verb in
    add) pids="$pids$what " ;;
    drop) case $pids in *" $what "*) pids="\${pids%% $what *} \${pids#* $what }" ;; esac ;;
    folder) set -- "$@" "$what" ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
rm -rf -- "$@"
`;

const pids = new Set<number>();
const folders = new Set<string>();
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

/** Makes a folder that is removed with our process at the latest. */
export function makeGuardedFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  folders.add(folder);
  tell(`folder ${folder}\n`);
  return folder;
}

/** Removes a folder that `makeGuardedFolder` made, and no other. */
export function removeGuardedFolder(folder: string): void {
  if (folders.delete(folder)) rmSync(folder, { recursive: true, force: true });
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
    for (const folder of folders) removeGuardedFolder(folder);
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
