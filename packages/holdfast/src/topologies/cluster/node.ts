/** One node of a cluster that we talk to: like one server, with a clock of its own. */
import type { CallFailure, Client, ReplicaTerms, StopListening, Wake } from '../../clients/client.ts';
import type { NodeAddress } from '../../clients/cluster/address.ts';
import type { OwnedClient } from '../../clients/owned-client.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { AcknowledgedTopology } from '../server/acknowledged.ts';
import type { LateReleasesOptions } from '../server/late-releases.ts';
import { ServerClock } from '../server/server-clock.ts';
import { SingleTopology } from '../single.ts';
import type { PubSub, Topology } from '../topology.ts';

export interface ClusterNodeOptions extends LateReleasesOptions {
  /** How many of its replicas must have a lock before it counts; null: none. */
  readonly replicas: ReplicaTerms | null;
}

export class ClusterNode {
  readonly address: NodeAddress;
  readonly client: OwnedClient;
  readonly server: Topology;
  /** For calls that another node has sent here. */
  readonly askedServer: Topology;

  constructor(
    address: NodeAddress,
    client: OwnedClient,
    timers: TimerQueue,
    options: ClusterNodeOptions,
    how: () => PubSub,
  ) {
    this.address = address;
    this.client = client;
    // Servers have clocks of their own: what one has told of its time means nothing to another.
    const settings = { serverClock: new ServerClock(), how };
    const serve = (way: Client): Topology => {
      const single = new SingleTopology(way, timers, options, settings);
      if (options.replicas === null) return single;
      return new AcknowledgedTopology(single, way, options.replicas, timers.clock);
    };
    this.server = serve(client);
    this.askedServer = serve(client.asking);
  }

  /** Whether it was there and is not any more. One that nobody has needed yet is not lost. */
  get isLost(): boolean {
    return this.client.connections > 0 && !this.client.isConnected;
  }

  listen(
    how: 'plain' | 'sharded',
    channel: string,
    wake: Wake,
    timeoutMs: number,
  ): Promise<StopListening | CallFailure> {
    return how === 'plain'
      ? this.client.listen(channel, wake, timeoutMs)
      : this.client.listenToShard(channel, wake, timeoutMs);
  }
}
