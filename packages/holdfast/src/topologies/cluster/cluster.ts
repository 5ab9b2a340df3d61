/**
 * A Redis Cluster: the node that has the slot of a name decides about it, and is asked as one server is.
 *
 * A node that does not serve a call says so before it has run anything, and where to go. That is followed here, and
 * not below, because a call is made for one node: an acquire carries the latest time at which it may be granted, by
 * the clock of the node that it is sent to. What was written and not answered is never sent anywhere else: it is
 * unknown, and its caller repeats it under the same holder or releases that.
 */
import { CallFailure, type StopListening, type Wake } from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import { slotOf } from '../../keys/slot.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type {
  AcquireResult,
  HoldTerms,
  KeepResult,
  Protocol,
  QueryAnswer,
  QueryCall,
  ReleaseResult,
  ReleaseTerms,
  RenewItem,
  Shards,
  Topology,
  Walk,
} from '../old-topology.ts';
import { LateReleases, type LateReleasesOptions } from '../server/late-releases.ts';
import { isPassingWord } from '../server/reply-words.ts';
import { ClusterChannel } from './channel.ts';
import type { ClusterNode } from './node.ts';
import type { ClusterNodes } from './nodes.ts';
import { type Refusal, redirectionOf } from './redirection.ts';
import { hasOneKey, isTorn, refusalOfAll, withoutCounter } from './torn-keys.ts';

/** Two nodes that send us to each other are both wrong, and will agree in a moment. */
const REDIRECTIONS_MAX = 16;

/** With less time left a certain refusal is worth more than a call whose answer would not come in time. */
const FOLLOW_MS_MIN = 10;

/** The pauses between attempts at keys that are on both sides of a moving slot. */
const AGAIN_MS_MIN = 10;
const AGAIN_MS_MAX = 100;

/** What a call became of, and the refusal in it that may be a redirection. */
type Attempt<Result> = (server: Topology, leftMs: number) => Promise<Result>;
type RefusalIn<Result> = (result: Result) => Refusal | undefined;

export class ClusterTopology implements Topology, Shards {
  readonly size = 1;
  readonly majority = 1;
  readonly lateReleases: LateReleases;
  readonly #nodes: ClusterNodes;
  readonly #timers: TimerQueue;
  readonly #channels = new Set<ClusterChannel>();

  constructor(nodes: ClusterNodes, timers: TimerQueue, options: LateReleasesOptions) {
    this.#nodes = nodes;
    this.#timers = timers;
    this.lateReleases = new LateReleases(timers, this, options);
    nodes.onChange = () => {
      for (const channel of [...this.#channels]) void channel.follow();
    };
    nodes.onRefused = (node, failure) => {
      for (const channel of [...this.#channels]) channel.refused(node, failure);
    };
  }

  get shards(): Shards {
    return this;
  }

  get description(): string {
    return this.#nodes.description;
  }

  get keyPrefix(): string {
    return this.#nodes.keyPrefix;
  }

  get hasAnswered(): boolean {
    return this.#nodes.isKnown;
  }

  outageOf(key: string): readonly ServerFailure[] {
    const node = this.#nodes.ownerOf(slotOf(key));
    if (node === null || !node.isLost) return [];
    return node.server.outageOf(key);
  }

  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    return this.#route<AcquireResult>(
      protocol.key,
      timeoutMs,
      (server, leftMs) => server.acquire(protocol, terms, leftMs),
      (result) => {
        if (result.is === 'unknown') return result.servers[0];
        // What was granted and does not count is given back first, wherever it would have to go.
        if (result.is !== 'refused' || !result.isCertain || result.wasGranted === true) return undefined;
        return result.servers[0];
      },
      (failure) => {
        const isPassing = failure.kind === 'unreachable' || isPassingWord(failure.word);
        return { is: 'refused', servers: [this.#failure(failure)], isPassing, isCertain: true };
      },
    );
  }

  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    return this.#route<ReleaseResult>(
      protocol.key,
      timeoutMs,
      (server, leftMs) => server.release(protocol, terms, leftMs),
      (result) => (result.is === 'failed' ? result.servers[0] : undefined),
      (failure) => ({ is: 'failed', servers: [this.#failure(failure)] }),
    );
  }

  async recount(protocol: Protocol, item: RenewItem, count: number, timeoutMs: number): Promise<KeepResult> {
    const startedMs = this.#nowMs();
    const result = await this.#route<KeepResult>(
      protocol.key,
      timeoutMs,
      (server, leftMs) => server.recount(protocol, item, count, leftMs),
      (answer) => refusalOfAll([answer]),
      (failure) => ({ is: 'failed', servers: [this.#failure(failure)] }),
      hasOneKey(item),
    );
    const leftMs = timeoutMs - (this.#nowMs() - startedMs);
    if (hasOneKey(item) || leftMs <= 0 || !isTorn([result])) return result;
    return this.recount(protocol, withoutCounter(item), count, leftMs);
  }

  /** One call a slot: keys of several cannot travel together. */
  async renew(items: readonly RenewItem[], timeoutMs: number): Promise<readonly KeepResult[]> {
    const bySlot = new Map<number, RenewItem[]>();
    for (const item of items) {
      const slot = slotOf(item.protocol.key);
      const same = bySlot.get(slot);
      if (same === undefined) bySlot.set(slot, [item]);
      else same.push(item);
    }
    const results = new Map<RenewItem, KeepResult>();
    const renewing = [...bySlot.values()].map(async (same) => {
      const answers = await this.#renewSlot(same, timeoutMs);
      for (const [i, item] of same.entries()) results.set(item, answers[i] as KeepResult);
    });
    await Promise.all(renewing);
    return items.map((item) => results.get(item) as KeepResult);
  }

  async #renewSlot(items: readonly RenewItem[], timeoutMs: number): Promise<readonly KeepResult[]> {
    const [first] = items as [RenewItem];
    const startedMs = this.#nowMs();
    const results = await this.#route<readonly KeepResult[]>(
      first.protocol.key,
      timeoutMs,
      (server, leftMs) => server.renew(items, leftMs),
      (answers) => refusalOfAll(answers),
      (failure) => items.map(() => ({ is: 'failed', servers: [this.#failure(failure)] })),
      items.length === 1 && hasOneKey(first),
    );
    const leftMs = timeoutMs - (this.#nowMs() - startedMs);
    if ((items.length === 1 && hasOneKey(first)) || leftMs <= 0 || !isTorn(results)) return results;
    const single = await Promise.all(items.map((item) => this.#renewSlot([withoutCounter(item)], leftMs)));
    return single.flat();
  }

  async listen(name: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    const unknown = await this.#nodes.ready(timeoutMs);
    if (unknown !== null) return unknown;
    const whereabouts = {
      how: () => this.#nodes.how,
      ownerOf: (channel: string) => this.#nodes.ownerOf(slotOf(channel)),
      redirected: this.#nodes.learn.bind(this.#nodes),
    };
    const channel = new ClusterChannel(name, wake, timeoutMs, whereabouts, this.#timers);
    this.#channels.add(channel);
    const stop = (): void => {
      this.#channels.delete(channel);
      channel.close();
    };
    const failure = await channel.open();
    if (failure === null) return stop;
    stop();
    if (failure.kind !== 'reply') this.#nodes.refresh();
    return failure;
  }

  /** About keys: their node answers. */
  async query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    const unknown = await this.#nodes.ready(timeoutMs);
    if (unknown !== null) return [{ index: 0, server: this.description, reply: unknown }];
    const [key = '', ...others] = callFor(0, this.#nodes.how)?.keys ?? [];
    // Keys of a slot that is moving may be apart for long: whoever asks about several may do without some.
    const hasOneKey = others.every((other) => other === key);
    return this.#route<readonly QueryAnswer[]>(
      key,
      timeoutMs,
      (server, leftMs) => server.query(callFor, leftMs),
      ([answer]) => (answer?.reply instanceof CallFailure ? answer.reply : undefined),
      (reply) => [{ index: 0, server: this.description, reply }],
      hasOneKey,
    );
  }

  /** Every node that has slots must answer: each has names that no other has. */
  async walk(timeoutMs: number): Promise<Walk> {
    const giveUpMs = this.#nowMs() + timeoutMs;
    const unread = await this.#nodes.read(timeoutMs);
    const unknown = unread ?? (await this.#nodes.ready(giveUpMs - this.#nowMs()));
    const nodes = unknown === null ? this.#nodes.owners : [];
    const query = async (callFor: QueryCall, limitMs: number): Promise<readonly QueryAnswer[]> => {
      if (unknown !== null) return [{ index: 0, server: this.description, reply: unknown }];
      const asking = nodes.map(async ({ server }, index) => {
        const answers = await server.query((_, how) => callFor(index, how), limitMs);
        return answers.map((answer) => ({ ...answer, index }));
      });
      return (await Promise.all(asking)).flat();
    };
    const size = Math.max(1, nodes.length);
    return { size, needed: size, query };
  }

  close(): Promise<void> {
    for (const channel of this.#channels) channel.close();
    this.#channels.clear();
    return this.#nodes.close();
  }

  /** Asks the node that has the slot of the key, wherever that turns out to be, within the time that there is. */
  async #route<Result>(
    key: string,
    timeoutMs: number,
    attempt: Attempt<Result>,
    refusalIn: RefusalIn<Result>,
    refuse: (failure: CallFailure) => Result,
    waitsForMove = true,
  ): Promise<Result> {
    const giveUpMs = this.#nowMs() + timeoutMs;
    const unknown = await this.#nodes.ready(timeoutMs);
    if (unknown !== null) return refuse(unknown);
    const slot = slotOf(key);
    let node = this.#nodes.ownerOf(slot) ?? (await this.#nodes.findOwnerOf(slot, giveUpMs - this.#nowMs()));
    let isAsked = false;
    let result: Result | undefined;
    let againMs = AGAIN_MS_MIN;
    for (let steps = 0; steps < REDIRECTIONS_MAX; steps += 1) {
      const leftMs = giveUpMs - this.#nowMs();
      if (node === null || leftMs <= (result === undefined ? 0 : FOLLOW_MS_MIN)) break;
      result = await attempt(isAsked ? node.askedServer : node.server, leftMs);
      const refusal = refusalIn(result);
      if (refusal === undefined) return result;
      const redirection = redirectionOf(refusal, node.address);
      isAsked = false;
      if (redirection === null) {
        // No answer, or the cluster is down: by the next time somebody else may have the slot.
        if (refusal.kind === 'unknown' || refusal.text.startsWith('CLUSTERDOWN')) this.#nodes.refresh(node);
        return result;
      }
      if (redirection.is === 'elsewhere') {
        const failed: ClusterNode = node;
        node = await this.#nodes.otherOwnerOf(slot, failed, giveUpMs - this.#nowMs());
        if (node === null) return result;
      } else if (redirection.is === 'again') {
        if (!waitsForMove) return result;
        await this.#pause(Math.min(againMs, giveUpMs - this.#nowMs()));
        againMs = Math.min(2 * againMs, AGAIN_MS_MAX);
        steps = 0;
        node = this.#nodes.ownerOf(slot);
      } else {
        if (redirection.is === 'moved') this.#nodes.learn(redirection.slot, redirection.to);
        node = this.#nodes.at(redirection.to);
        isAsked = redirection.is === 'ask';
      }
    }
    return result ?? refuse(new CallFailure('unreachable', `no node is known to have the slot ${slot}`));
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#timers.setIn(new Deadline(resolve, true), delayMs));
  }

  #nowMs(): number {
    return this.#timers.clock.monotonicMs();
  }

  #failure({ kind, text }: CallFailure): ServerFailure {
    return { server: this.description, kind, text };
  }
}
