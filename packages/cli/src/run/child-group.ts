/** A command in a process group of its own, so that it and all it starts can be signalled together. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { hasMembers } from './group-members.ts';

export class ChildGroup {
  readonly pid: number;
  /** Resolves to the exit code when the command itself has ended. Others of its group may still run. */
  readonly exited: Promise<number>;

  private constructor(pid: number, exited: Promise<number>) {
    this.pid = pid;
    this.exited = exited;
  }

  /** Standard input, output and error are ours. */
  static async start(
    command: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<ChildGroup> {
    const child = spawn(command, args, {
      detached: true,
      stdio: 'inherit',
      env: { ...process.env, ...environment },
    });
    const exited = new Promise<number>((resolve) => {
      child.once('exit', (code, signal) =>
        resolve(code ?? EXIT.signalled + constants.signals[signal ?? 'SIGKILL']),
      );
    });
    if (child.pid !== undefined) return new ChildGroup(child.pid, exited);
    const [error] = await once(child, 'error');
    throw cannotStart(command, error);
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

function cannotStart(command: string, error: unknown): Failure {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const shown = JSON.stringify(command);
  if (code === 'ENOENT') return new Failure('notFound', `${shown}: there is no such command`);
  return new Failure('notExecutable', `${shown}: cannot be executed (${String(code ?? error)})`);
}
