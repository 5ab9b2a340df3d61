/** The transitions of the re-entrant lock: Redisson's hash, with a fence reserved in the same script. */
import type { Reply, ScriptCall } from '../clients/client.ts';
import { fenceKey, lockChannel } from '../core/name.ts';
import { lockAcquire, lockRaise, lockRecount, lockRelease, lockRenew } from '../scripts/generated.ts';
import type {
  AcquireAnswer,
  HoldTerms,
  Protocol,
  PubSub,
  ReleaseAnswer,
  RenewAnswer,
  RenewalBatch,
  RenewItem,
} from '../topologies/topology.ts';

const renewal: RenewalBatch = {
  call: (items: readonly RenewItem[]): ScriptCall =>
    lockRenew.call(items.map(({ protocol, holder, leaseMs }) => ({ lock: protocol.key, holder, leaseMs }))),
  decode: (reply: Reply, count: number): RenewAnswer[] => lockRenew.decode(reply, count),
};

export class LockProtocol implements Protocol {
  readonly name: string;
  readonly key: string;
  readonly #fenceTtlMs: number;

  constructor(name: string, key: string, fenceTtlMs: number) {
    this.name = name;
    this.key = key;
    this.#fenceTtlMs = fenceTtlMs;
  }

  // Getters: there is one of these for each lease, and what they say is the same for all.
  get kind(): 'lock' {
    return 'lock';
  }

  get isFenced(): boolean {
    return true;
  }

  get renewal(): RenewalBatch {
    return renewal;
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
      fenceTtlMs: this.#fenceTtlMs,
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

  raise(holder: string, lastFence: number): ScriptCall {
    return lockRaise.call({
      lock: this.key,
      fence: fenceKey(this.key),
      holder,
      last: lastFence,
      fenceTtlMs: this.#fenceTtlMs,
    });
  }

  decodeRaise(reply: Reply): boolean {
    return lockRaise.decode(reply).is === 'RAISED';
  }

  recount({ holder, leaseMs, isFixed = false }: RenewItem, count: number): ScriptCall {
    return lockRecount.call({ lock: this.key, holder, count, leaseMs, fixed: isFixed ? 1 : 0 });
  }

  decodeRecount(reply: Reply): boolean {
    return lockRecount.decode(reply).is === 'COUNTED';
  }
}
