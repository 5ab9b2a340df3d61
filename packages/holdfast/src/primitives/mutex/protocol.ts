/** The transitions of the mutex: a string key with a random token, the format that most libraries share. */
import type { Reply, ScriptCall } from '../../clients/client.ts';
import { mutexChannel } from '../../keys/name.ts';
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

  // Getters: there is a protocol for each lease, and what these say is the same for all, or made from the key.
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

  acquire({ holder, leaseMs }: HoldTerms, { notAfterMs }: AcquireLimits): ScriptCall {
    return mutexAcquire.call({ mutex: this.key, token: holder, leaseMs, notAfterMs });
  }

  readAcquire(reply: Reply): AcquireAnswer {
    return mutexAcquire.decode(reply);
  }

  release(holder: string, mode: PubSubMode | 'nobody'): ScriptCall {
    return mutexRelease.call({ mutex: this.key, token: holder, channel: this.channel, mode });
  }

  readRelease(reply: Reply): ReleaseAnswer {
    return mutexRelease.decode(reply);
  }
}
