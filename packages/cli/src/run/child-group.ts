/** A command in a process group of its own, so that it and all it starts can be signalled together. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { debugVariable } from '../debug-variable.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { hasMembers } from './group-members.ts';

/**
 * A shell makes the group, so that the guard can watch the group before the command runs, and becomes the command when
 * it reads a line. If this process dies before that, the shell exits and the command is never run.
 */
const LAUNCHER = 'read -r word <&3 || exit 1; exec 3<&-; exec "$@"';

export class ChildGroup {
  readonly pid: number;
  /** Resolves to the exit code when the command has exited. Other processes of its group may still run. */
  readonly exited: Promise<number>;
  readonly #gate: Writable;

  private constructor(pid: number, exited: Promise<number>, gate: Writable) {
    this.pid = pid;
    this.exited = exited;
    this.#gate = gate;
    gate.on('error', () => {});
  }

  /** Makes the group. It inherits our standard input, output and error. */
  static async prepare(
    command: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<ChildGroup> {
    const child = spawn('/bin/sh', ['-c', LAUNCHER, 'holdfast-run', ...command], {
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
      env: { ...process.env, ...debugVariable(), ...environment },
    });
    const exited = exitCodeOf(child);
    if (child.pid !== undefined) return new ChildGroup(child.pid, exited, child.stdio[3] as Writable);
    const [error] = await once(child, 'error');
    throw new Failure('notExecutable', `/bin/sh cannot be started (${String(error)})`);
  }

  /** Starts the command. */
  begin(): void {
    this.#gate.end('begin\n');
  }

  /** Whether a process of the group is alive. */
  get isAlive(): boolean {
    return hasMembers(this.pid);
  }

  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch {
      // The group has ended, or its processes belong to another user by now.
    }
  }
}

function exitCodeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(code ?? EXIT.signalled + constants.signals[signal ?? 'SIGKILL']);
    });
  });
}
