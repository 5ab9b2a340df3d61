/**
 * The holds that this process has on one name: how each begins and ends with the servers, and which of them has room for
 * one more owner. Who gets that room is for the entrance to say.
 */
import type { LossReason } from '../errors.ts';
import type { ResolvedAcquireOptions, ResolvedLocksOptions } from '../options/options.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import type { Protocol } from '../topologies/protocol.ts';
import type { ReleaseResult, Topology } from '../topologies/topology.ts';
import type { Grant } from './attempt.ts';
import { Hold } from './hold.ts';
import type { Renewal } from './renewal.ts';

/** A hold is handed over only with at least this share of its lease left. */
const HANDOVER_LEASE_SHARE = 1 / 3;

export interface HoldsServices {
  readonly timers: TimerQueue;
  readonly topology: Topology;
  readonly options: ResolvedLocksOptions;
  readonly renewal: Renewal;
  /** Tells the world who this session is, from its first hold on. */
  readonly record: { begin(): void } | null;
}

export class Holds {
  readonly #services: HoldsServices;
  readonly #protocol: Protocol;
  readonly #onLost: (hold: Hold, reason: LossReason) => void;
  readonly #holds: Hold[] = [];

  constructor(services: HoldsServices, protocol: Protocol, onLost: (hold: Hold, reason: LossReason) => void) {
    this.#services = services;
    this.#protocol = protocol;
    this.#onLost = onLost;
  }

  get all(): readonly Hold[] {
    return this.#holds;
  }

  /** A hold that nobody owns, and nobody can take over now. */
  get unowned(): Hold | undefined {
    return this.#holds.find(({ owners }) => owners.length === 0);
  }

  /** A hold has been granted, for a caller who wants it renewed or not. */
  add({ terms, answer }: Grant, renews: boolean): Hold {
    const { options, renewal, record } = this.#services;
    const { fencing, policy } = this.#protocol;
    // Each owner needs a fence of the block that came with the grant.
    const handovers = fencing === undefined ? options.handovers : answer.fences - 1;
    const hold = new Hold({
      protocol: this.#protocol,
      holder: terms.holder,
      leaseMs: terms.leaseMs,
      renews,
      deadline: answer.deadline,
      firstFence: answer.firstFence,
      handovers: Math.min(handovers, policy.handoversMax),
      grantedMs: answer.heardAt.monotonicMs,
      onLost: this.#onLost,
    });
    this.#holds.push(hold);
    renewal.watch(hold, answer.heardAt);
    record?.begin();
    return hold;
  }

  /** A hold that may serve one more owner, if there is one. */
  roomFor(options: ResolvedAcquireOptions): Hold | null {
    for (const hold of this.#holds) if (this.#hasRoom(hold, options)) return hold;
    return null;
  }

  #hasRoom(hold: Hold, { renew }: ResolvedAcquireOptions): boolean {
    const { timers, options } = this.#services;
    const { owners, leaseMs, grantedMs, handoversLeft } = hold;
    if (owners.length >= this.#protocol.policy.ownersMax || handoversLeft === 0) return false;
    // A fixed lease is restated, which only a caller can have done who owns the hold alone.
    if (owners.length > 0 && !(renew && hold.renews)) return false;
    return (
      timers.clock.monotonicMs() - grantedMs < options.handoverMs &&
      hold.remainingMs(timers.clock) >= leaseMs * HANDOVER_LEASE_SHARE
    );
  }

  /** Gives a hold back. What the servers do not confirm goes on in the background. */
  release(hold: Hold): Promise<ReleaseResult> {
    const { topology, options } = this.#services;
    // Sent first: the server works while we keep our books.
    const releasing = topology.release(this.#protocol, hold.releaseTerms, options.callTimeoutMs);
    hold.markReleased();
    this.#drop(hold);
    return releasing;
  }

  /** A hold has ended by itself or was taken away. */
  lose(hold: Hold, reason: LossReason): void {
    const { timers, topology } = this.#services;
    hold.markLost(reason, timers.clock.monotonicMs());
    this.#drop(hold);
    // The owners hear of it before anything is sent that could let somebody else in.
    hold.tellLoss(reason);
    // Unless the servers have said so, the hold may still stand there: a renewal without an answer may have kept it.
    topology.abandon(this.#protocol, hold.releaseTerms, reason === 'gone' || reason === 'revoked');
  }

  /** From here on nothing touches the hold any more. */
  #drop(hold: Hold): void {
    this.#services.renewal.forget(hold);
    this.#holds.splice(this.#holds.indexOf(hold), 1);
  }
}
