/** The transitions of the mutex: a string key with a random token, the format that most libraries share. */
import type { Reply, ScriptCall } from '../../clients/client.ts';
import { lineKey, mutexChannel } from '../../keys/name.ts';
import { mutexAcquire, mutexRelease, mutexRenew } from '../../scripts/generated.ts';
import type {
  AcquireAnswer,
  AcquireLimits,
  HolderIds,
  HoldTerms,
  Policy,
  Protocol,
  PubSubMode,
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
  isHolderSecret: true,
  expected: 'a string',
};

const RENEWAL: StatementBatch = {
  call: (statements: readonly Statement[]): ScriptCall =>
    mutexRenew.call(
      statements.map(({ protocol, holder, leaseMs }) => ({ mutex: protocol.key, token: holder, leaseMs })),
    ),
  read: (reply: Reply, count: number): StateAnswer[] =>
    mutexRenew.decode(reply, count).map((answer) => (answer === 'RENEWED' ? 'KEPT' : answer)),
};

export class MutexProtocol implements Protocol {
  readonly name: string;
  readonly key: string;

  constructor(name: string, key: string) {
    this.name = name;
    this.key = key;
  }

  // Getters, for the reason that stands in `../lock/protocol.ts`.
  get kind(): 'mutex' {
    return 'mutex';
  }

  get policy(): Policy {
    return POLICY;
  }

  get channel(): string {
    return mutexChannel(this.key);
  }

  get renewal(): StatementBatch {
    return RENEWAL;
  }

  newHolder(ids: HolderIds): string {
    return ids.token();
  }

  acquire(terms: HoldTerms, { notAfterMs, hasLine }: AcquireLimits): ScriptCall {
    return mutexAcquire.call({
      mutex: this.key,
      line: lineKey(this.key),
      token: terms.holder,
      leaseMs: terms.leaseMs,
      notAfterMs,
      ticket: ticketOf(terms, hasLine),
    });
  }

  readAcquire(reply: Reply): AcquireAnswer {
    const answer = mutexAcquire.decode(reply);
    return answer.is === 'HELD' ? heldAnswer(answer) : answer;
  }

  release(holder: string, mode: PubSubMode | 'nobody', hasLine: boolean): ScriptCall {
    return mutexRelease.call({
      mutex: this.key,
      line: hasLine ? lineKey(this.key) : this.key,
      token: holder,
      channel: this.channel,
      mode,
      isVote: hasLine ? 0 : 1,
    });
  }

  readRelease(reply: Reply): ReleaseAnswer {
    return mutexRelease.decode(reply);
  }
}
