/** The transitions of the re-entrant lock: Redisson's hash, with a fence reserved in the same script. */
import type { Reply, ScriptCall } from '../../clients/client.ts';
import { fenceKey, lineKey, lockChannel } from '../../keys/name.ts';
import { assert } from '../../runtime/assert.ts';
import { lockAcquire, lockRaise, lockRecount, lockRelease, lockRenew } from '../../scripts/generated.ts';
import type {
  AcquireAnswer,
  AcquireLimits,
  Fencing,
  HolderIds,
  HoldTerms,
  Policy,
  Protocol,
  PubSubMode,
  ReenteredHold,
  Reentry,
  ReleaseAnswer,
  StateAnswer,
  Statement,
  StatementBatch,
} from '../../topologies/protocol.ts';
import { heldAnswer, ticketOf } from '../line-arguments.ts';

const POLICY: Policy = {
  holdsMax: 1,
  ownersMax: 1,
  holderPer: 'attempt',
  handoversMax: Number.POSITIVE_INFINITY,
  isHolderSecret: false,
  expected: 'a hash with one holder',
};

interface LockStatement extends Statement {
  readonly protocol: Protocol & Pick<Fencing, 'fenceTtlMs'>;
}

interface Recount extends LockStatement {
  readonly count: number;
  readonly isFixed: boolean;
}

interface Raise extends LockStatement {
  readonly lastFence: number;
  readonly isGiven: boolean;
}

/** In place of a counter that must not be named goes the lock's own key, which is no counter and so is left alone. */
function counterKey({ protocol, isOwnKeyOnly }: Statement): string {
  return isOwnKeyOnly === true ? protocol.key : fenceKey(protocol.key);
}

/** The one statement of a script that takes no batch. */
function alone<Kind extends Statement>(statements: readonly Kind[]): Kind {
  const [statement] = statements;
  assert(
    statement !== undefined && statements.length === 1,
    () => 'recounts and raises are stated one by one',
  );
  return statement;
}

/** The renewal of everything that has the lock's format: each kind has an object of its own, and so batches of its own. */
export const lockRenewal = (): StatementBatch => ({
  call: (statements: readonly LockStatement[]): ScriptCall =>
    lockRenew.call(
      statements.map((statement) => ({
        lock: statement.protocol.key,
        fence: counterKey(statement),
        holder: statement.holder,
        leaseMs: statement.leaseMs,
        lastFence: statement.known.lastFence ?? 0,
        fenceTtlMs: statement.protocol.fenceTtlMs,
      })),
    ),
  read: (reply: Reply, count: number): StateAnswer[] =>
    lockRenew.decode(reply, count).map((answer) => (answer === 'RENEWED' ? 'KEPT' : answer)),
});

const RENEWAL: StatementBatch = lockRenewal();

const RECOUNT: StatementBatch = {
  call(statements: readonly Recount[]): ScriptCall {
    const recount = alone(statements);
    return lockRecount.call({
      lock: recount.protocol.key,
      fence: counterKey(recount),
      holder: recount.holder,
      count: recount.count,
      leaseMs: recount.leaseMs,
      fixed: recount.isFixed ? 1 : 0,
      lastFence: recount.known.lastFence ?? 0,
      fenceTtlMs: recount.protocol.fenceTtlMs,
    });
  },
  read(reply: Reply): StateAnswer[] {
    const answer = lockRecount.decode(reply);
    if (answer.is === 'REVOKED') return [answer];
    return [answer.is === 'COUNTED' ? 'KEPT' : 'GONE'];
  },
};

const RAISE: StatementBatch = {
  call(statements: readonly Raise[]): ScriptCall {
    const { protocol, holder, lastFence, isGiven } = alone(statements);
    return lockRaise.call({
      lock: protocol.key,
      fence: fenceKey(protocol.key),
      holder,
      last: lastFence,
      fenceTtlMs: protocol.fenceTtlMs,
      isGiven: isGiven ? 1 : 0,
    });
  },
  read: (reply: Reply): StateAnswer[] => [lockRaise.decode(reply).is === 'RAISED' ? 'KEPT' : 'GONE'],
};

export class LockProtocol implements Protocol, Fencing, Reentry {
  readonly name: string;
  readonly key: string;
  readonly fenceTtlMs: number;

  constructor(name: string, key: string, fenceTtlMs: number) {
    this.name = name;
    this.key = key;
    this.fenceTtlMs = fenceTtlMs;
  }

  // Getters: there is a protocol for each lease, and what these say is the same for all, or made from the key. The mutex and
  // `once` have the same ones: a base class would need each constant by another abstract name, and save nothing.
  get kind(): string {
    return 'lock';
  }

  get policy(): Policy {
    return POLICY;
  }

  get channel(): string {
    return lockChannel(this.key);
  }

  get renewal(): StatementBatch {
    return RENEWAL;
  }

  get fencing(): Fencing {
    return this;
  }

  get reentry(): Reentry {
    return this;
  }

  newHolder(ids: HolderIds): string {
    return `${ids.session}:${ids.nextNumber()}`;
  }

  acquire(terms: HoldTerms, { notAfterMs, wantsTime, hasLine }: AcquireLimits): ScriptCall {
    return lockAcquire.call({
      lock: this.key,
      fence: fenceKey(this.key),
      line: lineKey(this.key),
      holder: terms.holder,
      leaseMs: terms.leaseMs,
      fences: terms.fences,
      fenceTtlMs: this.fenceTtlMs,
      notAfterMs,
      wantsTime: wantsTime ? 1 : 0,
      commonUs: terms.commonUs ?? 0,
      ticket: ticketOf(terms, hasLine),
    });
  }

  readAcquire(reply: Reply): AcquireAnswer {
    const answer = lockAcquire.decode(reply);
    return answer.is === 'HELD' ? heldAnswer(answer) : answer;
  }

  release(holder: string, mode: PubSubMode | 'nobody', hasLine: boolean): ScriptCall {
    return lockRelease.call({
      lock: this.key,
      fence: hasLine ? fenceKey(this.key) : this.key,
      line: hasLine ? lineKey(this.key) : this.key,
      holder,
      channel: this.channel,
      mode,
      isVote: hasLine ? 0 : 1,
    });
  }

  readRelease(reply: Reply): ReleaseAnswer {
    return lockRelease.decode(reply);
  }

  raise(
    { holder, leaseMs }: Pick<HoldTerms, 'holder' | 'leaseMs'>,
    lastFence: number,
    isGiven: boolean,
  ): Raise {
    const known = { isLive: true, lastFence };
    return { protocol: this, holder, leaseMs, known, batch: RAISE, lastFence, isGiven };
  }

  recount({ holder, leaseMs, isFixed, known }: ReenteredHold, count: number): Recount {
    return { protocol: this, holder, leaseMs, known, batch: RECOUNT, count, isFixed };
  }
}
