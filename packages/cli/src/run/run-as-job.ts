/** A command as the body of a job: under the job's lock, with its end in the job's marker. */
import { basename } from 'node:path';
import type { JobRunContext, SingleRun, SingleRunOptions } from 'holdfast';
import { EXIT } from '../exit-codes.ts';
import { Failure, toFailure } from '../failure.ts';
import { printNotice } from '../output.ts';
import { quote } from '../printable.ts';
import type { ServerFlags } from '../servers/address.ts';
import { openServers } from '../servers/connection.ts';
import { closeInTime, openLocks } from '../servers/locks.ts';
import { ChildGroup } from './child-group.ts';
import { Guard } from './guard.ts';
import { SignalForwarder } from './signal-forwarder.ts';
import { Supervisor } from './supervisor.ts';
import { type Terms, unrenewed } from './terms.ts';

export interface JobCommand {
  readonly name: string;
  readonly command: readonly string[];
  readonly flags: ServerFlags & { readonly prefix?: string; readonly onBusyExit: number };
  readonly terms: Terms;
  readonly options: SingleRunOptions;
}

/** Signals that ask us to end: no attempt follows a command that was ended by one of them. */
const ENDING: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/** Resolves to the exit code of the command, or to 0 when the slot was skipped. */
export async function runAsJob({ name, command, flags, terms, options }: JobCommand): Promise<number> {
  using signals = new SignalForwarder();
  const over = new AbortController();
  signals.aborted.addEventListener('abort', () => over.abort(), { once: true });
  let exitCode: number = EXIT.ok;
  let lost: Failure | null = null;
  try {
    const servers = await openServers(flags);
    const application = `holdfast run ${basename(command[0] ?? '')}`;
    const { prefix = '' } = flags;
    const locks = openLocks(servers, { application, prefix, leaseMs: terms.leaseMs });
    const body = async (run: JobRunContext): Promise<void> => {
      const ending = await supervise(name, run, locks.session, command, terms, signals, over);
      exitCode = ending.exitCode;
      lost = ending.wasLost ? lostBecause(name, run, terms, exitCode) : null;
      if (lost !== null) throw lost;
      if (exitCode !== 0) throw new Error(`the command has ended with ${exitCode}`);
    };
    try {
      const result = await locks.runJob(name, body, { ...options, signal: over.signal });
      if (!result.ran) return skipped(name, result);
      if (lost !== null) throw lost;
      return exitCode;
    } finally {
      await closeInTime(locks);
      servers.close();
    }
  } catch (error) {
    if (signals.exitCode !== null) return signals.exitCode;
    // Or between two attempts.
    if (over.signal.aborted && lost === null) return exitCode;
    const failure = toFailure(error);
    throw failure.exitCode === EXIT.busy ? new Failure(flags.onBusyExit, failure.message, error) : failure;
  }
}

async function supervise(
  name: string,
  run: JobRunContext,
  session: string,
  command: readonly string[],
  terms: Terms,
  signals: SignalForwarder,
  over: AbortController,
): Promise<{ readonly exitCode: number; readonly wasLost: boolean }> {
  if (signals.exitCode !== null) throw new Error('ended by a signal');
  const guard = new Guard(terms.graceMs);
  const group = await ChildGroup.prepare(command, {
    HOLDFAST_LOCK: name,
    HOLDFAST_FENCE: String(run.fence),
    HOLDFAST_SESSION: session,
    HOLDFAST_SLOT: run.slot.toISOString(),
    HOLDFAST_ATTEMPT: String(run.attempt),
  });
  const supervisor = new Supervisor(run, group, guard, terms);
  let isEnding = false;
  signals.forwardTo((signal) => {
    isEnding ||= ENDING.includes(signal);
    supervisor.forward(signal);
  });
  const ending = await supervisor.finish();
  signals.stopForwarding();
  // The run is aborted only now: the command was to end in its own time.
  if (isEnding) over.abort();
  return ending;
}

function lostBecause(name: string, { signal }: JobRunContext, terms: Terms, exitCode: number): Failure {
  const why = signal.reason instanceof Error ? signal.reason.message : unrenewed(name, terms);
  return new Failure('lost', `${why}; the command has ended with ${exitCode}`);
}

/** Says in one line why the slot was skipped. That is no error: all machines but one skip it. */
function skipped(name: string, { slot, reason, host }: Extract<SingleRun, { ran: false }>): number {
  const at = `the slot of ${slot.toISOString()}`;
  const who = host ?? 'another machine';
  const words: Readonly<Record<typeof reason, string>> = {
    done: `${who} has run ${at}`,
    running: `${who} is running ${at}`,
    failed: `${who} has run ${at}, and failed`,
    dead: `${who} began to run ${at} and was not heard of again`,
    missed: `${at} was missed: it is too late for it now`,
    baseline: `${at} was over when the job was first seen`,
    passed: `a later slot was started already, that of ${slot.toISOString()}`,
    busy: `an earlier run was at work until it was too late for ${at}`,
  };
  printNotice(`job ${quote(name)}: ${words[reason]}; skipped`);
  return EXIT.ok;
}
