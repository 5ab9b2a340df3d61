/** The transitions of the re-entrant lock: Redisson's hash, with a fence reserved in the same script. */
import type { Reply, ScriptCall } from '../../clients/client.ts';
import { fenceKey, lockChannel } from '../../keys/name.ts';
import { lockAcquire, lockRaise, lockRecount, lockRelease, lockRenew } from '../../scripts/generated.ts';
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
import type {
  Fencing,
  HolderIds,
  Policy,
  Reentry,
  Statement,
  StatementBatch,
} from '../../topologies/protocol.ts';

const renewal = {
  call: (items: readonly RenewItem[]): ScriptCall =>
    lockRenew.call(
      items.map((item) => ({
        lock: item.protocol.key,
        fence: counterKey(item),
        holder: item.holder,
        leaseMs: item.leaseMs,
        lastFence: item.claim.lastFence ?? 0,
        fenceTtlMs: item.protocol.fenceTtlMs,
      })),
    ),
  decode: (reply: Reply, count: number): RenewAnswer[] => lockRenew.decode(reply, count),
} as unknown as RenewalBatch & StatementBatch;

const policy: Policy = {
  holdsMax: 1,
  ownersMax: 1,
  holderPer: 'attempt',
  handoversMax: Number.POSITIVE_INFINITY,
  isHolderSecret: false,
  expected: 'a hash with one holder',
};

/** In place of a counter that must not be named goes the lock's own key, which is no counter and so is left alone. */
function counterKey({ protocol, isWithoutCounter }: RenewItem): string {
  return isWithoutCounter === true ? protocol.key : fenceKey(protocol.key);
}

export class LockProtocol implements Protocol {
  readonly name: string;
  readonly key: string;
  readonly fenceTtlMs: number;

  constructor(name: string, key: string, fenceTtlMs: number) {
    this.name = name;
    this.key = key;
    this.fenceTtlMs = fenceTtlMs;
  }

  // Getters: there is one of these for each lease, and what they say is the same for all.
  get kind(): 'lock' {
    return 'lock';
  }

  get isFenced(): boolean {
    return true;
  }

  get renewal(): RenewalBatch & StatementBatch {
    return renewal;
  }

  get policy(): Policy {
    return policy;
  }

  get fencing(): Fencing {
    return this;
  }

  get reentry(): Reentry {
    const protocol = this;
    return {
      recount: (terms, count): Statement & { readonly count: number } => ({
        protocol,
        ...terms,
        count,
        batch: renewal,
      }),
    };
  }

  newHolder(ids: HolderIds): string {
    return `${ids.session}:${ids.nextNumber()}`;
  }

  get channel(): string {
    return lockChannel(this.key);
  }

  acquire(terms: HoldTerms, notAfterMs: number, wantsTime: boolean): ScriptCall {
    return lockAcquire.call({
      lock: this.key,
      fence: fenceKey(this.key),
      holder: terms.holder,
      leaseMs: terms.leaseMs,
      fences: terms.fences,
      fenceTtlMs: this.fenceTtlMs,
      notAfterMs,
      wantsTime: wantsTime ? 1 : 0,
      commonUs: terms.commonUs ?? 0,
    });
  }

  decodeAcquire(reply: Reply): AcquireAnswer {
    return lockAcquire.decode(reply);
  }

  release(holder: string, how: PubSub | 'nobody'): ScriptCall {
    return lockRelease.call({ lock: this.key, holder, channel: this.channel, how });
  }

  decodeRelease(reply: Reply): ReleaseAnswer {
    return lockRelease.decode(reply);
  }

  raise(holder: string, lastFence: number, isGiven: boolean): ScriptCall {
    return lockRaise.call({
      lock: this.key,
      fence: fenceKey(this.key),
      holder,
      last: lastFence,
      fenceTtlMs: this.fenceTtlMs,
      isGiven: isGiven ? 1 : 0,
    });
  }

  decodeRaise(reply: Reply): boolean {
    return lockRaise.decode(reply).is === 'RAISED';
  }

  recount(item: RenewItem, count: number): ScriptCall {
    return lockRecount.call({
      lock: this.key,
      fence: counterKey(item),
      holder: item.holder,
      count,
      leaseMs: item.leaseMs,
      fixed: item.isFixed === true ? 1 : 0,
      lastFence: item.claim.lastFence ?? 0,
      fenceTtlMs: this.fenceTtlMs,
    });
  }

  decodeRecount(reply: Reply): boolean {
    return lockRecount.decode(reply).is === 'COUNTED';
  }
}
