/** The transitions of the mutex: a string key with a random token, the format that most libraries share. */
import type { Reply, ScriptCall } from '../../clients/client.ts';
import { mutexChannel } from '../../keys/name.ts';
import { assert } from '../../runtime/assert.ts';
import { mutexAcquire, mutexRelease, mutexRenew } from '../../scripts/generated.ts';
import type {
  AcquireAnswer,
  HoldTerms,
  Protocol,
  PubSub,
  ReleaseAnswer,
  RenewAnswer,
  RenewalBatch,
  RenewItem,
} from '../../topologies/old-topology.ts';
import type { HolderIds, Policy, StatementBatch } from '../../topologies/protocol.ts';

const renewal = {
  call: (items: readonly RenewItem[]): ScriptCall =>
    mutexRenew.call(
      items.map(({ protocol, holder, leaseMs }) => ({ mutex: protocol.key, token: holder, leaseMs })),
    ),
  decode: (reply: Reply, count: number): RenewAnswer[] => mutexRenew.decode(reply, count),
} as unknown as RenewalBatch & StatementBatch;

const policy: Policy = {
  holdsMax: 1,
  ownersMax: 1,
  holderPer: 'attempt',
  handoversMax: Number.POSITIVE_INFINITY,
  isHolderSecret: true,
  expected: 'a string',
};

export class MutexProtocol implements Protocol {
  readonly name: string;
  readonly key: string;

  constructor(name: string, key: string) {
    this.name = name;
    this.key = key;
  }

  // Getters: there is one of these for each lease, and what they say is the same for all.
  get kind(): 'mutex' {
    return 'mutex';
  }

  get isFenced(): boolean {
    return false;
  }

  get fenceTtlMs(): number {
    return 0;
  }

  get renewal(): RenewalBatch & StatementBatch {
    return renewal;
  }

  get policy(): Policy {
    return policy;
  }

  newHolder(ids: HolderIds): string {
    return ids.token();
  }

  get channel(): string {
    return mutexChannel(this.key);
  }

  acquire(terms: HoldTerms, notAfterMs: number): ScriptCall {
    return mutexAcquire.call({ mutex: this.key, token: terms.holder, leaseMs: terms.leaseMs, notAfterMs });
  }

  decodeAcquire(reply: Reply): AcquireAnswer {
    return mutexAcquire.decode(reply);
  }

  release(holder: string, how: PubSub | 'nobody'): ScriptCall {
    return mutexRelease.call({ mutex: this.key, token: holder, channel: this.channel, how });
  }

  decodeRelease(reply: Reply): ReleaseAnswer {
    return mutexRelease.decode(reply);
  }

  raise(): ScriptCall {
    assert(false, () => 'a mutex has no fences');
  }

  decodeRaise(): boolean {
    assert(false, () => 'a mutex has no fences');
  }

  recount(): ScriptCall {
    assert(false, () => 'a mutex is never entered twice');
  }

  decodeRecount(): boolean {
    assert(false, () => 'a mutex is never entered twice');
  }
}
