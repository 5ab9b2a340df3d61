/**
 * The end of a run: its result or its failure is stored in the same step that frees its lock. A call without an answer
 * is repeated: the record knows the run, so a repeat changes nothing. The lock is not renewed meanwhile, and nobody needs
 * it: the record decides who may store, and a run that nobody replaced stores also when its lease is over.
 */
import { CallFailure } from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import type { Owner } from '../../locking/owner.ts';
import type { Session } from '../../locking/session.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { instantNow } from '../../runtime/instant.ts';
import { sleep } from '../../runtime/timers.ts';
import { onceFinish } from '../../scripts/generated.ts';
import { read } from '../../topologies/server/reading.ts';
import { isPassingWord } from '../../topologies/server/reply-words.ts';
import type { Ending, OnceProtocol, StartedRun } from './protocol.ts';

export type Stored =
  | { readonly is: 'STORED' }
  | { readonly is: 'GONE' }
  | { readonly is: 'CONFLICT'; readonly found: string }
  /** No server answered: the end of the run may or may not be stored. */
  | { readonly is: 'unanswered'; readonly servers: readonly ServerFailure[] };

/** Stores how the run of that owner ended, and ends its hold. */
export async function store(
  session: Session,
  protocol: OnceProtocol,
  owner: Owner,
  run: StartedRun,
  ending: Ending,
): Promise<Stored> {
  const { hold } = owner;
  // `close` waits for this, as it does for an acquire that is under way.
  session.begin();
  try {
    while (hold.isLive && hold.isStating) await hold.statementEnd();
    // No renewal from here on: the server would answer that the lock is gone, which it is because we have finished.
    const isStating = hold.isLive;
    if (isStating) hold.beginStatement(instantNow(session.timers.clock), hold.leaseMs, false);
    const stored = await send(session, protocol, run, ending);
    if (isStating) hold.endStatement();
    endHold(owner, stored);
    return stored;
  } finally {
    session.finish();
  }
}

/** A hold that was lost meanwhile has ended already. */
function endHold(owner: Owner, { is }: Stored): void {
  const { hold } = owner;
  if (owner.state !== 'held') return;
  if (is === 'STORED') hold.keeper.ended(owner);
  else if (is === 'GONE') hold.lose('gone');
  // In the background: the next caller need not wait for the end of the lease.
  else hold.keeper.leave(owner).catch(() => {});
}

async function send(
  { timers, topology, options }: Session,
  protocol: OnceProtocol,
  run: StartedRun,
  ending: Ending,
): Promise<Stored> {
  const backoff = new Backoff(options.random);
  const giveUpMs = timers.clock.monotonicMs() + options.outageMs;
  for (;;) {
    const [answer] = await topology.query(
      (_, mode) => protocol.finish(run, ending, mode),
      options.callTimeoutMs,
    );
    const reply = answer?.reply ?? new CallFailure('unknown', 'no server answered');
    const outcome = reply instanceof CallFailure ? reply : read(reply, () => onceFinish.decode(reply));
    if (!(outcome instanceof CallFailure)) return outcome;
    const { kind, text, word } = outcome;
    const canRetry =
      kind === 'unknown' || kind === 'unreachable' || (kind === 'reply' && isPassingWord(word));
    if (!canRetry || timers.clock.monotonicMs() >= giveUpMs) {
      return { is: 'unanswered', servers: [{ server: answer?.server ?? topology.description, kind, text }] };
    }
    await sleep(timers, backoff.nextMs());
  }
}
