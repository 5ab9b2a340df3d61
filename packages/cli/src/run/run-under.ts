/** A command that runs under a lease, from its start to the release. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FencedLease } from 'holdfast';
import { Failure } from '../failure.ts';
import { CLOSE_MS_MAX } from '../servers/locks.ts';
import { ChildGroup } from './child-group.ts';
import { Guard } from './guard.ts';
import type { SignalForwarder } from './signal-forwarder.ts';
import { Supervisor } from './supervisor.ts';
import { type Terms, unrenewed } from './terms.ts';

/** Resolves to the exit code of the command. Rejects when the lock was lost while the command ran. */
export async function runUnder(
  lease: FencedLease,
  session: string,
  command: readonly string[],
  terms: Terms,
  signals: SignalForwarder,
): Promise<number> {
  // A signal came while the lock was being granted: the command is not started.
  if (signals.exitCode !== null) throw new Error('ended by a signal');
  const guard = new Guard(terms.graceMs);
  const group = await ChildGroup.prepare(command, {
    HOLDFAST_LOCK: lease.name,
    HOLDFAST_FENCE: String(lease.fence),
    HOLDFAST_SESSION: session,
  });
  const supervisor = new Supervisor(lease, group, guard, terms);
  signals.forwardTo((signal) => supervisor.forward(signal));
  const { exitCode, wasLost } = await supervisor.finish();
  // A release that gets no answer does not mean that the lock was lost while the command ran.
  const released = lease.release().catch(() => true);
  const wasOurs = !wasLost && (await Promise.race([released, sleep(CLOSE_MS_MAX, true, { ref: false })]));
  if (wasOurs) return exitCode;
  const why =
    lease.signal.reason instanceof Error ? lease.signal.reason.message : unrenewed(lease.name, terms);
  throw new Failure('lost', `${why}; the command has ended with ${exitCode}`);
}
