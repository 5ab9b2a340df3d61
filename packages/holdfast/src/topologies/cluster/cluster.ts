/**
 * A Redis Cluster: the node that has the slot of a name decides about that name, and is asked as one server is.
 *
 * In this folder: the router, which follows redirections; the nodes and which of them has which slot; channels that move
 * with their slot; which kind of channel is in use. Only `topologies/choose.ts` imports from here.
 */
import type { CallFailure, StopListening, Wake } from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import { lineChannel } from '../../keys/name.ts';
import { slotOf } from '../../keys/slot.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { OneDecider } from '../one-decider.ts';
import type { Protocol } from '../protocol.ts';
import type { HoldersOptions } from '../server/holders.ts';
import type { Mailbox, QueriedServers, QueryAnswer, QueryCall, Shards } from '../topology.ts';
import { type ChannelLocator, ClusterChannel } from './channel.ts';
import type { ClusterNodes } from './nodes.ts';
import { ClusterRouter } from './router.ts';

export class ClusterTopology extends OneDecider implements Shards {
  readonly #nodes: ClusterNodes;
  readonly #timers: TimerQueue;
  readonly #locator: ChannelLocator;
  readonly #channels = new Set<ClusterChannel>();

  constructor(nodes: ClusterNodes, timers: TimerQueue, options: HoldersOptions) {
    super(timers, new ClusterRouter(nodes, timers), options);
    this.#nodes = nodes;
    this.#timers = timers;
    this.#locator = {
      pubSubMode: () => nodes.pubSubMode,
      ownerOf: (channel) => nodes.ownerOf(slotOf(channel)),
      redirected: nodes.learn.bind(nodes),
    };
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
    return node === null || !node.isLost ? [] : node.server.outage;
  }

  /** A script may publish on a shard only where its keys are: so each name has a channel of its own. */
  mailboxOf({ key }: Protocol, session: string): Mailbox {
    const mode = this.#nodes.pubSubMode === 'plain' ? 'b' : 's';
    return { channel: lineChannel(key, session), mode };
  }

  async listen(name: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    const unknown = await this.#nodes.ready(timeoutMs);
    if (unknown !== null) return unknown;
    const channel = new ClusterChannel(name, wake, timeoutMs, this.#locator, this.#timers);
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

  async allServers(timeoutMs: number): Promise<QueriedServers> {
    const giveUpMs = this.#timers.clock.monotonicMs() + timeoutMs;
    const unread = await this.#nodes.read(timeoutMs);
    const unknown = unread ?? (await this.#nodes.ready(giveUpMs - this.#timers.clock.monotonicMs()));
    const nodes = unknown === null ? this.#nodes.owners : [];
    const query = async (callFor: QueryCall, limitMs: number): Promise<readonly QueryAnswer[]> => {
      if (unknown !== null) return [{ index: 0, server: this.description, reply: unknown }];
      const asking = nodes.map(async ({ server }, index) => {
        const answers = await server.query((_, mode) => callFor(index, mode), limitMs);
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
}
