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
 * The group is there before the command is, so that it can be put under guard first. Without the word to begin, because
 * we have died meanwhile, there never is a command.
 */
const LAUNCHER = 'read -r word <&3 || exit 1; exec 3<&-; exec "$@"';

export class ChildGroup {
  readonly pid: number;
  /** Resolves to the exit code when the command itself has ended. Others of its group may still run. */
  readonly exited: Promise<number>;
  readonly #gate: Writable;

  private constructor(pid: number, exited: Promise<number>, gate: Writable) {
    this.pid = pid;
    this.exited = exited;
    this.#gate = gate;
    gate.on('error', () => {});
  }

  /** Makes the group. Standard input, output and error are ours. */
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

  /** Lets the command begin. */
  begin(): void {
    this.#gate.end('begin\n');
  }

  /** Whether anybody of the group is left. */
  get isAlive(): boolean {
    return hasMembers(this.pid);
  }

  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch {
      // Nobody is left, or nobody whom we may signal.
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
